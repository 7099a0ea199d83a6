// Layouts of heads: the core's is [heads, n, d].

// [n, heads · d]
export function sideBySide(values, heads, n, d) {
    const out = new Float32Array(values.length);
    for (let h = 0; h < heads; h++)
        for (let i = 0; i < n; i++)
            out.set(values.subarray((h * n + i) * d, (h * n + i + 1) * d), (i * heads + h) * d);
    return out;
}

export function fromSideBySide(values, heads, n, d) {
    const out = new Float32Array(values.length);
    for (let h = 0; h < heads; h++)
        for (let i = 0; i < n; i++)
            out.set(values.subarray((i * heads + h) * d, (i * heads + h + 1) * d), (h * n + i) * d);
    return out;
}

// A head for every head of the queries, each `times` in a row.
export function repeated(values, headSize, times) {
    const out = new Float32Array(values.length * times);
    for (let h = 0; h * headSize < out.length; h++) {
        const from = Math.floor(h / times) * headSize;
        out.set(values.subarray(from, from + headSize), h * headSize);
    }
    return out;
}

// allowed(query, key) as values of [n, n].
export function maskOf({ n, causal, window = 0 }, Type, allowed, forbidden) {
    const mask = new Type(n * n);
    for (let i = 0; i < n; i++)
        for (let j = 0; j < n; j++)
            mask[i * n + j] = (causal && j > i) || (window && i - j >= window) ? forbidden : allowed;
    return mask;
}
