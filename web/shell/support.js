// What this browser can run. No DOM but a scratch canvas.

const head = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10];
const probes = {
    simd: [...head, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11],
    relaxed: [...head, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11],
};
const runs = (variant) => typeof WebAssembly === 'object' && WebAssembly.validate(Uint8Array.from(probes[variant]));

export const runsSimd = () => runs('simd');

// Builds of the program, the best first. Threads share memory, which only a page isolated from other origins may.
const variants = {
    'relaxed-threads': () => globalThis.crossOriginIsolated === true && runs('relaxed'),
    relaxed: () => runs('relaxed'),
    simd: () => runs('simd'),
};

// The best build among the site's files that this browser runs. `asked` forces one.
export function chooseVariant(manifest, asked) {
    const able = Object.keys(variants).filter((name) => variants[name]() && `explorer-${name}.wasm` in manifest);
    return able.includes(asked) ? asked : able[0];
}

export function hasWebGL2() {
    const context = document.createElement('canvas').getContext('webgl2');
    context?.getExtension('WEBGL_lose_context')?.loseContext();
    return context !== null;
}
