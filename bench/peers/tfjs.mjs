// TensorFlow.js on its WebAssembly backend: attention from matrix products and a softmax, as it has none of its own.
import { maskOf } from './heads.mjs';

export async function tfjs(tf, wasmPath, threads) {
    tf.env().set('WASM_HAS_MULTITHREAD_SUPPORT', threads > 1);
    tf.wasm.setThreadsCount(threads);
    tf.wasm.setWasmPaths(wasmPath);
    await tf.setBackend('wasm');

    const floats = (task, name) => new Float32Array(task.data, task.inputs[name].offset, task.inputs[name].bytes / 4);
    const builders = {
        attention(task) {
            const { heads, kv_heads, n, d, causal, window } = task;
            // Head by head and with K turned: only then does its matrix product take the fast road.
            const tensor = (name, h) => {
                const head = Math.floor((h * (name === 'q' ? heads : kv_heads)) / heads);
                return tf.tensor2d(floats(task, name).slice(head * n * d, (head + 1) * n * d), [n, d]);
            };
            const all = Array.from({ length: heads }, (_, h) => ['q', 'k', 'v'].map((name) => tensor(name, h)));
            const scale = tf.scalar(1 / Math.sqrt(d));
            const mask = causal || window
                ? tf.tensor2d(maskOf(task, Float32Array, 0, -1e9), [n, n]) : undefined;
            const attend = (/** @type {any[]} */ [q, k, v]) => tf.tidy(() => {
                const scores = tf.matMul(tf.mul(q, scale), tf.transpose(k));
                return tf.matMul(tf.softmax(mask ? tf.add(scores, mask) : scores), v);
            });
            return () => all.map(attend);
        },
        linear(task) {
            const [x, weight, bias] = ['x', 'weight', 'bias']
                .map((name) => tf.tensor(floats(task, name), task.inputs[name].shape));
            return () => [tf.tidy(() => tf.add(tf.matMul(x, weight), bias))];
        },
        exp(task) {
            const x = tf.tensor1d(floats(task, 'x'));
            return () => [tf.exp(x)];
        },
    };

    let call, outputs = [];
    return {
        // It may take fewer threads than it is given.
        name: `TensorFlow.js${tf.wasm.getThreadsCount() < threads ? ', one thread' : ''}`,
        open(task) {
            if (!builders[task.kind]) return false;
            tf.engine().startScope();
            call = builders[task.kind](task);
            return undefined;
        },
        run(seconds) {
            const times = [], start = performance.now();
            do {
                tf.dispose(outputs);
                const begin = performance.now();
                outputs = call();
                times.push(performance.now() - begin);
            } while (performance.now() - start < 1000 * seconds);
            return times;
        },
        output() {
            const parts = outputs.map((part) => part.dataSync());
            const all = new Float32Array(parts.reduce((size, part) => size + part.length, 0));
            parts.reduce((end, part) => (all.set(part, end), end + part.length), 0);
            return all;
        },
        close() {
            outputs = [];
            tf.engine().endScope();
        },
    };
}
