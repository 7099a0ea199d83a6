// What the benchmark compares the core with is installed by tools/bench alone, and its types are not ours to check.
declare module 'onnxruntime-node';
declare module '*/ort.wasm.min.mjs';
declare module '@tensorflow/*';
declare module 'node-llama-cpp';
declare module '*/wllama/esm/index.js';
