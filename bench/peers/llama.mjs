// llama.cpp as node-llama-cpp has it: the program that its package was published with, on the processor alone.
import { writeFile } from 'node:fs/promises';
import { getLlama } from 'node-llama-cpp';

export async function llamaCpp(threads, file) {
    const llama = await getLlama({ gpu: false, build: 'never', skipDownload: true, maxThreads: threads });
    let task, ids, model, context, sequence, tokens;
    const piece = ({ offset, bytes }) => new Uint8Array(task.data, offset, bytes);
    const likeliest = { temperature: 0, yieldEogToken: true };
    // Reads the text, whose next token is the first that the iterator gives.
    const read = async () => {
        await tokens?.return();
        await sequence.clearHistory();
        tokens = sequence.evaluate(ids, likeliest);
        return (await tokens.next()).value;
    };
    return {
        name: 'llama.cpp',
        version: llama.llamaCppRelease.release,
        async open(asked) {
            task = asked;
            await writeFile(file, piece(task.inputs.gguf));
            ids = [...new Int32Array(task.data.slice(task.inputs.ids.offset, task.inputs.ids.offset + task.inputs.ids.bytes))];
            model = await llama.loadModel({ modelPath: file, gpuLayers: 0 });
            context = await model.createContext({ contextSize: 1024, batchSize: 512, sequences: 1, threads });
            sequence = context.getSequence();
        },
        async run(seconds) {
            const times = [], start = performance.now();
            if (task.token) await read();
            do {
                const begin = performance.now();
                await (task.token ? tokens.next() : read());
                times.push(performance.now() - begin);
            } while (performance.now() - start < 1000 * seconds && times.length < 128);
            return times;
        },
        async output() {
            const text = task.token ? [...ids, ids[0]] : ids;
            await tokens?.return();
            tokens = undefined;
            await sequence.clearHistory();
            const last = [text.at(-1), { generateNext: { logits: true } }];
            const { next } = (await sequence.controlledEvaluate([...text.slice(0, -1), last])).at(-1);
            return Float32Array.from({ length: next.logits.size }, (_, id) => next.logits.get(id));
        },
        async close() {
            await tokens?.return();
            tokens = undefined;
            await context.dispose();
            await model.dispose();
        },
        end: () => llama.dispose(),
    };
}
