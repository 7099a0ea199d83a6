import assert from 'node:assert/strict';
import test from 'node:test';
import { Program } from '../../../web/shell/program.js';
import { chooseVariant } from '../../../web/shell/support.js';

// A heap that grows, and so moves, with every allocation, and knows what is still allocated.
function fakeModule(exports) {
    const module = { HEAPU8: new Uint8Array(16), live: new Set() };
    module._malloc = (size) => {
        const address = module.HEAPU8.length;
        const grown = new Uint8Array(address + size + 16);
        grown.set(module.HEAPU8);
        module.HEAPU8 = grown;
        module.live.add(address);
        return address;
    };
    module._free = (address) => assert.ok(module.live.delete(address));
    module.text = (address) => new TextDecoder().decode(module.HEAPU8.subarray(address, module.HEAPU8.indexOf(0, address)));
    return Object.assign(module, exports(module));
}

test('text and ids arrive, and nothing stays allocated', () => {
    let seen;
    const module = fakeModule((m) => ({
        _explorer_tokens(text, ids, count, total, pieces) {
            seen = [m.text(text), [...new Int32Array(m.HEAPU8.slice(ids, ids + 4 * count).buffer)], total, JSON.parse(m.text(pieces))];
        },
    }));
    const program = new Program(module);
    program.tokens('für 😀', Int32Array.of(7, 0, 60000, 1).subarray(0, 3), 4, ['a', '·', '\\xE2']);
    assert.deepEqual(seen, ['für 😀', [7, 0, 60000], 4, ['a', '·', '\\xE2']]);
    program.tokens('', new Int32Array(), 0, []);
    assert.deepEqual(seen, ['', [], 0, []]);
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
    assert.throws(() => new Program({ _malloc: () => 0 }).paste('x'), /run out of memory/);
});

test('the best build that the site has and this engine runs', () => {
    const site = (...variants) => Object.fromEntries(variants.map((variant) => [`explorer-${variant}.wasm`, 1]));
    assert.equal(chooseVariant(site('simd'), null), 'simd');
    assert.equal(chooseVariant(site('simd', 'relaxed'), 'simd'), 'simd');
    assert.equal(chooseVariant(site('simd'), 'relaxed'), 'simd');
    assert.equal(chooseVariant(site(), 'simd'), undefined);
});
