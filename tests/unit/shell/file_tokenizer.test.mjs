// Tests the page's wrapper of the tokenizer in a GGUF file, with a substitute for the program's splitting.
import assert from 'node:assert/strict';
import test from 'node:test';
import { createFileTokenizer } from '../../../web/shell/file_tokenizer.js';
import { Tokens } from '../../../web/shell/tokens.js';

const bytes = { byteLevel: true, addsSpace: false, name: '', tokens: ['a', 'Ġb', 'Ã', '©', '<|end|>', '<tool>', '[PAD]'], types: [1, 1, 1, 1, 3, 4, 5] };
const pieces = { byteLevel: false, addsSpace: true, name: '', tokens: ['<unk>', '<s>', '▁a', '▁', 'é', '<0xC3>', '<0xA9>'], types: [2, 3, 1, 1, 1, 6, 6] };
const none = () => assert.fail('nothing is split here');

test('byte-level tokens read as their bytes, and special ones as they are', () => {
    const tokenizer = createFileTokenizer(bytes, none);
    assert.deepEqual(tokenizer.pieces([4, 0, 1, 2, 3, 5, 6, 7]), ['<|end|>', 'a', '·b', '⟨é 1/2⟩', '⟨é 2/2⟩', '<tool>', '[PAD]', '#7']);
    assert.equal(tokenizer.decode([4, 0, 1, 2, 3, 5, 9]), 'a bé<tool>');
    assert.equal(tokenizer.decode([2]), '\ufffd');
    assert.deepEqual(tokenizer.special, { mask: null, separator: null, all: [4] });
    assert.equal(tokenizer.rewrite('a b<|end|>', [0, 1, 4], { first: 1, count: 1 }, [0]), 'aa<|end|>');
});

test('SentencePiece has a blank in front that is not of the text', () => {
    const tokenizer = createFileTokenizer(pieces, none);
    assert.deepEqual(tokenizer.pieces([1, 2, 3, 4, 5, 6, 0]), ['<s>', '·a', '·', 'é', '⟨é 1/2⟩', '⟨é 2/2⟩', '<unk>']);
    assert.equal(tokenizer.decode([1, 2, 3, 4, 5, 6]), 'a éé');
    assert.equal(tokenizer.decode([3, 2]), ' a');
});

test('the program splits, with the ends of a text or without, and says what has no token', () => {
    const asked = [];
    const tokenizer = createFileTokenizer(bytes, (...each) => {
        asked.push(each);
        return each[0] === '?' ? { ids: [], fault: 'It has no token' } : { ids: [0, 1], fault: null };
    });
    assert.deepEqual(tokenizer.encode('a b'), { ids: Int32Array.of(0, 1), fault: null });
    tokenizer.encode('a b', { special: false });
    assert.deepEqual(tokenizer.encode('?'), { ids: new Int32Array(), fault: 'It has no token.' });
    assert.deepEqual(asked, [['a b', true], ['a b', false], ['?', true]]);
});

test('long texts are split by the program too, and alike vocabularies are known', async () => {
    const given = [];
    /** @type {any} */
    const box = { text: '', fault: () => {}, show: () => {} };
    const tokens = new Tokens(box, (text, ids, total) => given.push([text.length, [...ids], total]));
    const tokenizer = createFileTokenizer(bytes, (text) => ({ ids: Array.from(text, () => 0), fault: null }));
    tokens.adopt({ tokenizer, texts: null, context: 2 });
    await tokens.hand('a'.repeat(5000));
    assert.deepEqual(given, [[5000, [0, 0], 5000]]);
    assert.ok(tokens.readsAlike(createFileTokenizer({ ...bytes, name: 'other' }, none)));
    assert.ok(!tokens.readsAlike(createFileTokenizer(pieces, none)));
});
