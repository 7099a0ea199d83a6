// ONNX Runtime, node's or the page's: both have the same interface. Each of its contestants takes other operators.
import { fromSideBySide, maskOf, repeated, sideBySide } from './heads.mjs';
import { Graph } from './onnx.mjs';

const floats = (task, name) => {
    const { offset, bytes } = task.inputs[name];
    return new Float32Array(task.data, offset, bytes / 4);
};

// What a builder answers: { feeds: {name: [type, values, shape]}, result: outputs -> Float32Array }; nothing where its
// operator does not fit.

// q, k and v side by side, [1, n, heads · d], repeated so that k and v have so many heads.
function sideBySideInputs(graph, task, kvHeads) {
    const { heads, kv_heads, n, d } = task;
    const feeds = {};
    for (const [name, own, asked] of [['q', heads, heads], ['k', kv_heads, kvHeads], ['v', kv_heads, kvHeads]]) {
        const values = repeated(floats(task, name), n * d, asked / own);
        feeds[name] = ['float32', sideBySide(values, asked, n, d), [1, n, asked * d]];
    }
    return { feeds, inputs: Object.entries(feeds).map(([name, [type, , shape]]) => graph.input(name, type, shape)) };
}

function multiHeadAttention(graph, task) {
    const { heads, n, d, causal, window } = task;
    const { feeds, inputs } = sideBySideInputs(graph, task, heads);
    if (window) {
        inputs.push('', '', graph.input('bias', 'float32', [1, 1, n, n]));
        feeds.bias = ['float32', maskOf(task, Float32Array, 0, -1e9), [1, 1, n, n]];
    }
    const output = graph.op('MultiHeadAttention', inputs,
        { domain: 'com.microsoft', num_heads: heads, unidirectional: causal && !window ? 1 : 0 });
    graph.output(output);
    return { feeds, result: (outputs) => fromSideBySide(outputs[output].data, heads, n, d) };
}

function groupQueryAttention(graph, task) {
    const { heads, kv_heads, n, d, causal, window } = task;
    if (!causal || (heads === kv_heads && !window)) return undefined;
    const { feeds, inputs } = sideBySideInputs(graph, task, kv_heads);
    const last = graph.constant('int32', [1], Int32Array.of(n - 1));
    const total = graph.constant('int32', [1], Int32Array.of(n));
    const [output] = graph.op('GroupQueryAttention', [...inputs, '', '', last, total], {
        domain: 'com.microsoft', outputs: 3, num_heads: heads, kv_num_heads: kv_heads,
        ...(window && { local_window_size: window }),
    });
    graph.output(output);
    return { feeds, result: (outputs) => fromSideBySide(outputs[output].data, heads, n, d) };
}

function attention23(graph, task) {
    const { heads, kv_heads, n, d, causal, window } = task;
    const shapes = { q: [1, heads, n, d], k: [1, kv_heads, n, d], v: [1, kv_heads, n, d] };
    const inputs = Object.entries(shapes).map(([name, shape]) => graph.input(name, 'float32', shape));
    const feeds = Object.fromEntries(Object.entries(shapes)
        .map(([name, shape]) => [name, ['float32', floats(task, name), shape]]));
    if (window) {
        inputs.push(graph.input('mask', 'bool', [n, n]));
        feeds.mask = ['bool', maskOf(task, Uint8Array, 1, 0), [n, n]];
    }
    const output = graph.op('Attention', inputs, { is_causal: causal && !window ? 1 : 0 });
    graph.output(output);
    return { feeds, result: (outputs) => outputs[output].data };
}

function matMul(graph, task) {
    const { x, weight, bias } = task.inputs;
    const product = graph.op('MatMul', [graph.input('x', 'float32', x.shape), graph.weight('weight', weight)]);
    const output = graph.op('Add', [product, graph.weight('bias', bias)]);
    graph.output(output);
    return { feeds: { x: ['float32', floats(task, 'x'), x.shape] }, result: (outputs) => outputs[output].data };
}

function exp(graph, task) {
    const { shape } = task.inputs.x;
    const output = graph.op('Exp', [graph.input('x', 'float32', shape)]);
    graph.output(output);
    return { feeds: { x: ['float32', floats(task, 'x'), shape] }, result: (outputs) => outputs[output].data };
}

// attend(graph, qkv [1, n, 3 · 768], n) -> [1, n, 768]
const gpt2 = (attend) => (graph, task) => {
    const { n, inputs } = task, width = 768, layers = 12;
    const weight = (name) => graph.weight(name, inputs[name]);
    const linear = (x, name) =>
        graph.op('Add', [graph.op('MatMul', [x, weight(`${name}.weight`)]), weight(`${name}.bias`)]);
    const norm = (x, name) =>
        graph.op('LayerNormalization', [x, weight(`${name}.weight`), weight(`${name}.bias`)], { epsilon: 1e-5 });
    const int64 = (...values) => graph.constant('int64', [values.length], BigInt64Array.from(values, BigInt));
    const positions = graph.weight('wpe.weight', { ...inputs['wpe.weight'], shape: [n, width] });
    const ids = ['int32', new Int32Array(task.data, inputs.ids.offset, n), [1, n]];

    const embedding = weight('wte.weight');
    let residual = graph.op('Add', [graph.op('Gather', [embedding, graph.input('ids', 'int32', [1, n])]), positions]);
    for (let layer = 0; layer < layers; layer++) {
        const h = `h.${layer}.`;
        const heads = attend(graph, linear(norm(residual, `${h}ln_1`), `${h}attn.c_attn`), n);
        residual = graph.op('Add', [residual, linear(heads, `${h}attn.c_proj`)]);
        const hidden = graph.op('Gelu', [linear(norm(residual, `${h}ln_2`), `${h}mlp.c_fc`)], { approximate: 'tanh' });
        residual = graph.op('Add', [residual, linear(hidden, `${h}mlp.c_proj`)]);
    }
    const last = graph.op('Slice', [residual, int64(n - 1), int64(n), int64(1)]);
    const row = graph.op('Reshape', [norm(last, 'ln_f'), int64(1, width)]);
    const output = graph.op('Gemm', [row, embedding], { transB: 1 });
    graph.output(output);
    return { feeds: { ids }, result: (outputs) => outputs[output].data };
};

const split = (graph, qkv) => graph.op('Split', [qkv], { outputs: 3, axis: 2, num_outputs: 3 });

// Attention of 12 heads by plain operators; the weights of every layer are outputs.
function attendVisibly(graph, qkv, n) {
    const ints = (...values) => graph.constant('int64', [values.length], BigInt64Array.from(values, BigInt));
    const heads = (x, ...perm) => graph.op('Transpose', [graph.op('Reshape', [x, ints(1, n, 12, 64)])], { perm });
    const [q, k, v] = split(graph, qkv);
    const scale = graph.constant('float32', [1], Float32Array.of(1 / 8));
    const mask = graph.constant('float32', [n, n], maskOf({ n, causal: true }, Float32Array, 0, -Infinity));
    const scores = graph.op('Mul', [graph.op('MatMul', [heads(q, 0, 2, 1, 3), heads(k, 0, 2, 3, 1)]), scale]);
    const weights = graph.op('Softmax', [graph.op('Add', [scores, mask])], { axis: -1 });
    graph.output(weights);
    const mixed = graph.op('Transpose', [graph.op('MatMul', [weights, heads(v, 0, 2, 1, 3)])], { perm: [0, 2, 1, 3] });
    return graph.op('Reshape', [mixed, ints(1, n, 768)]);
}

const attendFused = (graph, qkv) =>
    graph.op('MultiHeadAttention', split(graph, qkv), { domain: 'com.microsoft', num_heads: 12, unidirectional: 1 });

const builders = {
    MultiHeadAttention: { attention: multiHeadAttention, gpt2: gpt2(attendFused) },
    GroupQueryAttention: { attention: groupQueryAttention },
    'Attention of opset 23': { attention: attention23 },
    'plain operators': { linear: matMul, exp, gpt2: gpt2(attendVisibly) },
};

export function onnxruntime(ort, threads) {
    return Object.entries(builders).map(([operators, builder]) => {
        let session, feeds, result, outputs;
        return {
            name: `ONNX Runtime, ${operators}`,
            async open(task) {
                const graph = new Graph();
                const built = builder[task.kind]?.(graph, task);
                if (!built) return false;
                result = built.result;
                feeds = Object.fromEntries(Object.entries(built.feeds)
                    .map(([name, tensor]) => [name, new ort.Tensor(...tensor)]));
                session = await ort.InferenceSession.create(graph.model(), {
                    executionProviders: [ort.env.wasm?.wasmPaths ? 'wasm' : 'cpu'],
                    intraOpNumThreads: threads,
                    interOpNumThreads: 1,
                    externalData: [{ path: 'inputs', data: new Uint8Array(task.data) }],
                });
                return undefined;
            },
            async run(seconds) {
                const times = [], start = performance.now();
                do {
                    const begin = performance.now();
                    outputs = await session.run(feeds);
                    times.push(performance.now() - begin);
                } while (performance.now() - start < 1000 * seconds);
                return times;
            },
            output: () => result(outputs),
            async close() {
                await session.release();
                session = feeds = result = outputs = undefined;
            },
        };
    });
}
