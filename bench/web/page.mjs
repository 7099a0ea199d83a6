// Everyone in one page; bench/web.mjs opens it and calls these.
import * as ort from '../node_modules/onnxruntime-web/dist/ort.wasm.min.mjs';
import { contest } from '../contest.mjs';
import { onnxruntime } from '../peers/onnxruntime.mjs';
import { tfjs } from '../peers/tfjs.mjs';
import { core } from './core.mjs';

export const list = async (build) => (await core(build)).list();

export async function runGguf({ ours, threads, task }) {
    const { wllama } = await import('../peers/wllama.mjs');
    return contest(task, [await core(ours)], [wllama(threads)]);
}

export async function run({ ours: builds, threads, task }) {
    const packages = new URL('../node_modules/', import.meta.url).href;
    ort.env.wasm.wasmPaths = `${packages}onnxruntime-web/dist/`;
    ort.env.wasm.numThreads = threads;
    const ours = await Promise.all(builds.map(core));
    const peers = [
        ...onnxruntime(ort, threads),
        await tfjs(globalThis.tf, `${packages}@tensorflow/tfjs-backend-wasm/dist/`, threads),
    ];
    return contest(task, ours, peers);
}
