// Tests the bundled puzzles' tokenizer.json in the page's tokenizer: a word is a token, and other words have none.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { Tokenizer } from '../../../web/shell/node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs';
import { createTokenizer } from '../../../web/shell/tokenizer.js';

for (const { model, text, ids, other } of [
    { model: 'puzzle-largest', text: 'list 3 8 1 5 largest', ids: [0, 5, 10, 3, 7, 1], other: 'list 12 largest' },
    { model: 'puzzle-different', text: 'list A F C A different', ids: [0, 10, 15, 12, 10, 1], other: 'list I different' },
]) {
    const read = (name) => readFileSync(fileURLToPath(new URL(`../../../models/${model}/${name}`, import.meta.url)), 'utf8');
    const { vocab_size: size } = JSON.parse(read('config.json'));
    const tokenizer = createTokenizer({ 'tokenizer.json': read('tokenizer.json') }, Tokenizer, size);

    test(`${model}: a list is its words, and comes back`, () => {
        const { ids: found, fault } = tokenizer.encode(text);
        assert.equal(fault, null);
        assert.deepEqual([...found], ids);
        assert.equal(tokenizer.decode(found), text);
        assert.deepEqual(tokenizer.pieces(found), text.split(' '));
    });

    test(`${model}: a word that it does not know has no token`, () => {
        assert.match(tokenizer.encode(other).fault, new RegExp(other.split(' ')[1]));
    });
}
