// llama.cpp as WebAssembly. It takes text and tells its own times; of its logits it gives none out.
import { Wllama } from '../node_modules/@wllama/wllama/esm/index.js';

export function wllama(threads) {
    let program, task, text, calls = 0;
    const silent = { debug() {}, log() {}, warn() {}, error() {} };
    const complete = async (prompt, count) => {
        const { timings } = await program.createCompletion({ prompt, max_tokens: count, temperature: 0 });
        return timings;
    };
    return {
        name: 'wllama',
        async open(asked) {
            task = asked;
            const { gguf, text: letters } = task.inputs;
            text = new TextDecoder().decode(new Uint8Array(task.data, letters.offset, letters.bytes));
            program = new Wllama({ default: new URL('../node_modules/@wllama/wllama/esm/wasm/wllama.wasm', import.meta.url).href },
                { suppressNativeLog: true, logger: silent });
            await program.loadModel([new Blob([new Uint8Array(task.data, gguf.offset, gguf.bytes)])],
                { n_ctx: 1024, n_batch: 512, n_threads: threads, n_gpu_layers: 0, warmup: false });
        },
        // The beginning of a text that it has just read is not read again: so each begins with another letter, where reading
        // is what is measured.
        async run() {
            const letter = String.fromCharCode(text.charCodeAt(0) === 33 + (calls % 60) ? 92 : 33 + (calls % 60));
            calls++;
            if (task.token) return [(await complete(text, 16)).predicted_per_token_ms];
            const { prompt_n: read, prompt_ms: time } = await complete(letter + text.slice(1), 1);
            if (read < 512) throw new Error(`${read} tokens were read instead of 512`);
            return [time];
        },
        close: () => program.exit(),
    };
}
