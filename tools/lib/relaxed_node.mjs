// Answers by its exit code whether this node runs relaxed SIMD: the smallest module that uses it is valid.
const module = [0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0,
    10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11];
process.exit(WebAssembly.validate(new Uint8Array(module)) ? 0 : 1);
