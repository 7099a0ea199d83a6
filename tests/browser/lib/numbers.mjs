// Computes attention in double precision for comparison, and compares numbers.
import assert from 'node:assert/strict';

export const transpose = (m) => m[0].map((_, c) => m.map((row) => row[c]));
export const multiply = (a, b) => a.map((row) => transpose(b).map((column) => row.reduce((sum, x, i) => sum + x * column[i], 0)));

// A row without a visible key gives zeros.
function softmax(row) {
    const most = Math.max(...row);
    const shares = row.map((x) => (x === -Infinity ? 0 : Math.exp(x - most)));
    const sum = shares.reduce((a, b) => a + b, 0);
    return shares.map((x) => (sum > 0 ? x / sum : 0));
}

const cells = (m, change) => m.map((row, r) => row.map((x, c) => change(x, r, c)));

/**
 * Computes every stage of an attention from Q and K, or from its scores, and from V if there is one.
 *
 * @param {object} problem
 * @param {number[][]} [problem.q]
 * @param {number[][]} [problem.k]
 * @param {number[][]} [problem.v]
 * @param {number[][]} [problem.scores]
 * @param {number} [problem.scale]
 * @param {number} [problem.temperature]
 * @param {number} [problem.softcap]
 * @param {(query: number, key: number) => boolean} [problem.allowed]
 */
export function attention({ q, k, v, scores, scale = q ? 1 / Math.sqrt(q[0].length) : 1, temperature = 1, softcap = 0, allowed = () => true }) {
    const raw = scores ?? multiply(q, transpose(k));
    const scaled = cells(raw, (x) => x * scale / temperature);
    const capped = softcap ? cells(scaled, (x) => softcap * Math.tanh(x / softcap)) : scaled;
    const masked = cells(capped, (x, r, c) => (allowed(r, c) ? x : -Infinity));
    const weight = masked.map(softmax);
    return { raw, scaled, capped, masked, weight, output: v && multiply(weight, v) };
}

// Compares nested arrays of numbers cell by cell; equal infinities match.
export function near(actual, expected, tolerance, what) {
    const a = actual.flat(Infinity), b = expected.flat(Infinity);
    assert.equal(a.length, b.length, `${what}: ${a.length} numbers instead of ${b.length}`);
    const off = a.map((x, i) => (x === b[i] ? 0 : Math.abs(x - b[i])));
    const bad = off.findIndex((x) => !(x <= tolerance));
    assert.ok(bad < 0, `${what}: number ${bad} is ${a[bad]}, not ${b[bad]}, which is off by ${off[bad]}, more than ${tolerance}`);
}

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const mean = (numbers) => sum(numbers) / numbers.length;

// The page's measurements of every head, for weights [layers][heads][queries][keys]: {layer, head, entropy,
// first, …}.
export const headScores = (weights, ids) => weights.flatMap((heads, layer) => heads.map((rows, head) => {
    const share = (chosen) => sum(rows.map((row, i) => sum(row.map((w, j) => (chosen(i, j) ? w : 0))))) / sum(rows.flat());
    return {
        layer,
        head,
        entropy: mean(rows.map((row) => -sum(row.map((w) => (w > 0 ? w * Math.log(w) : 0))))),
        first: share((i, j) => j === 0),
        previous: share((i, j) => j === i - 1),
        duplicate: share((i, j) => j < i && ids[j] === ids[i]),
        induction: share((i, j) => j >= 1 && j <= i && ids[j - 1] === ids[i]),
        distance: sum(rows.map((row, i) => sum(row.map((w, j) => w * Math.abs(i - j))))) / sum(rows.flat()),
    };
}));
