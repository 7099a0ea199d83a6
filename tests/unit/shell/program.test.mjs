import assert from 'node:assert/strict';
import test from 'node:test';
import { Program } from '../../../web/shell/program.js';
import { chooseVariant } from '../../../web/shell/support.js';

// A heap that grows, and so moves, with every allocation, and tracks what is still allocated.
function fakeModule(exports) {
    const module = { wasmMemory: { buffer: new ArrayBuffer(16) }, live: new Set() };
    const heap = () => new Uint8Array(module.wasmMemory.buffer);
    module._malloc = (size) => {
        const address = heap().length;
        const grown = new Uint8Array(address + size + 16);
        grown.set(heap());
        module.wasmMemory.buffer = grown.buffer;
        module.live.add(address);
        return address;
    };
    module._free = (address) => assert.ok(module.live.delete(address));
    module.text = (address) => new TextDecoder().decode(heap().subarray(address, heap().indexOf(0, address)));
    return Object.assign(module, exports(module));
}

test('text and ids arrive, and nothing stays allocated', () => {
    let seen;
    const module = fakeModule((m) => ({
        _explorer_tokens(box, text, ids, count, total, pieces) {
            seen = [box, m.text(text), [...new Int32Array(m.wasmMemory.buffer.slice(ids, ids + 4 * count))], total, JSON.parse(m.text(pieces))];
        },
    }));
    const program = new Program(module);
    program.tokens(1, 'für 😀', Int32Array.of(7, 0, 60000, 1).subarray(0, 3), 4, ['a', '·', '\\xE2']);
    assert.deepEqual(seen, [1, 'für 😀', [7, 0, 60000], 4, ['a', '·', '\\xE2']]);
    program.tokens(0, '', new Int32Array(), 0, []);
    assert.deepEqual(seen, [0, '', [], 0, []]);
    assert.equal(module.live.size, 0);
});

test('sizes beyond 32 bits are passed in two halves, addresses are unsigned', () => {
    let seen;
    const program = new Program(fakeModule((m) => ({
        _explorer_model_buffer(name, low, high) {
            seen = [m.text(name), low, high];
            return -16;
        },
    })));
    assert.equal(program.modelBuffer('model.safetensors', 5e9), 2 ** 32 - 16);
    assert.deepEqual(seen, ['model.safetensors', 5e9 % 2 ** 32, 1]);
});

test('what was passed is freed when the program fails', () => {
    const module = fakeModule(() => ({ _explorer_paste() { throw new WebAssembly.RuntimeError('unreachable'); } }));
    assert.throws(() => new Program(module).paste('1\t2'), WebAssembly.RuntimeError);
    assert.equal(module.live.size, 0);
});

test('no memory is said in words', () => {
    const module = Object.assign(fakeModule(() => ({})), { _malloc: () => 0 });
    assert.throws(() => new Program(module).paste('x'), /run out of memory/);
});

test('the best build that the site has and this engine runs', () => {
    const site = (...variants) => Object.fromEntries(variants.map((variant) => [`explorer-${variant}.wasm`, 1]));
    assert.equal(chooseVariant(site('simd'), null), 'simd');
    assert.equal(chooseVariant(site('simd', 'relaxed'), 'simd'), 'simd');
    assert.equal(chooseVariant(site('simd'), 'relaxed'), 'simd');
    assert.equal(chooseVariant(site(), 'simd'), undefined);
});

test('threads only where the page is isolated', (t) => {
    const manifest = { 'explorer-simd.wasm': 1, 'explorer-simd-threads.wasm': 1, 'explorer-relaxed-threads.wasm': 1 };
    assert.equal(chooseVariant(manifest, 'relaxed-threads'), 'simd');
    assert.equal(chooseVariant(manifest, 'simd-threads'), 'simd');
    globalThis.crossOriginIsolated = true;
    t.after(() => delete globalThis.crossOriginIsolated);
    const relaxed = WebAssembly.validate(Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0,
        10, 15, 1, 13, 0, 65, 1, 253, 15, 65, 2, 253, 15, 253, 128, 2, 11));
    assert.equal(chooseVariant(manifest, null), relaxed ? 'relaxed-threads' : 'simd-threads');
    assert.equal(chooseVariant(manifest, 'simd-threads'), 'simd-threads');
    assert.equal(chooseVariant(manifest, 'simd'), 'simd');
});

test('no threads where an isolated page may not send a memory', (t) => {
    globalThis.crossOriginIsolated = true;
    t.after(() => delete globalThis.crossOriginIsolated);
    t.mock.method(MessagePort.prototype, 'postMessage', () => { throw new DOMException('The object can not be cloned.', 'DataCloneError'); });
    assert.equal(chooseVariant({ 'explorer-simd.wasm': 1, 'explorer-simd-threads.wasm': 1 }, null), 'simd');
});
