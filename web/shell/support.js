// Finds out what this browser can run.

const head = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10];
const probes = {
    simd: [...head, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11],
    relaxed: [...head, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11],
};
const runs = (/** @type {keyof typeof probes} */ variant) => typeof WebAssembly === 'object' && WebAssembly.validate(Uint8Array.from(probes[variant]));

export const runsSimd = () => runs('simd');

// Threads are workers that get the program and its memory. Only a page isolated from other origins may send a
// shared memory; some releases of WebKit refuse it, or the program, even then.
function mayShareMemory() {
    if (globalThis.crossOriginIsolated !== true) {
        return false;
    }
    const { port1, port2 } = new MessageChannel();
    try {
        port1.postMessage([new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true }), new WebAssembly.Module(Uint8Array.from(head.slice(0, 8)))]);
        return true;
    } catch {
        return false;
    } finally {
        port1.close();
        port2.close();
    }
}

// The builds of the program in order, the best first.
/** @type {{name: string, set: keyof typeof probes, threads: boolean}[]} */
const variants = [
    { name: 'relaxed-threads', set: 'relaxed', threads: true },
    { name: 'simd-threads', set: 'simd', threads: true },
    { name: 'relaxed', set: 'relaxed', threads: false },
    { name: 'simd', set: 'simd', threads: false },
];

/**
 * Says whether this browser runs this build of the program, on its own or on an isolated page.
 *
 * @param {string} variant
 */
export const canUse = (variant) => variants.some(({ name, set }) => name === variant && runs(set));

/**
 * Returns the best build among the site's files that this browser runs; `asked` has precedence if it runs
 * too.
 *
 * @param {Record<string, number>} manifest
 * @param {string | null} asked
 * @returns {string | undefined}
 */
export function chooseVariant(manifest, asked) {
    const shares = mayShareMemory();
    const able = variants.filter(({ name, set, threads }) => runs(set) && (shares || !threads) && `explorer-${name}.wasm` in manifest)
        .map(({ name }) => name);
    return able.find((name) => name === asked) ?? able[0];
}
