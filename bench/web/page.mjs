// Everyone in one page; bench/web.mjs opens it and calls these.
import * as ort from '../node_modules/onnxruntime-web/dist/ort.wasm.min.mjs';
import { contest, laidOut } from '../contest.mjs';
import { onnxruntime } from '../peers/onnxruntime.mjs';
import { tfjs } from '../peers/tfjs.mjs';

async function core({ name, module, threads }) {
    const program = await (await import(module)).default();
    const ask = (request) => JSON.parse(program.ccall('answer', 'string', ['string'], [JSON.stringify(request)]));
    const bytes = (at, size) => new Uint8Array(program.wasmMemory.buffer, at, size);
    return {
        name,
        list: () => ask({ do: 'list' }).cases,
        open: (task) => laidOut(ask({ do: 'open', case: task.name, threads }), (inputs, size) => {
            const all = new Uint8Array(size);
            for (const input of inputs) all.set(bytes(input.address, input.bytes), input.offset);
            return all.buffer;
        }),
        run: (seconds) => ask({ do: 'run', seconds }).times,
        output() {
            const output = ask({ do: 'output' });
            return new Float32Array(bytes(output.address, output.bytes).slice().buffer);
        },
        ceiling: (seconds) => ask({ do: 'ceiling', seconds }).rate,
        close: () => ask({ do: 'close' }),
    };
}

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
