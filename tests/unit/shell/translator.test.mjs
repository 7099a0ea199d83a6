// Tests the bundled translator's tokenizer.json in the page's tokenizer: a word is one piece, whatever is
// beside it.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import test from 'node:test';
import { fileURLToPath } from 'node:url';
import { Tokenizer } from '../../../web/shell/node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs';
import { createTokenizer } from '../../../web/shell/tokenizer.js';

const file = (name) => fileURLToPath(new URL(`../../../models/translator/${name}`, import.meta.url));
const skip = existsSync(file('tokenizer.json')) ? false : 'models/translator has no tokenizer yet';
const read = (name) => readFileSync(file(name), 'utf8');

test('sentences are words, their signs and the end, and come back', { skip }, () => {
    const { vocab_size: size } = JSON.parse(read('config.json'));
    const tokenizer = createTokenizer({ 'tokenizer.json': read('tokenizer.json') }, Tokenizer, size);
    for (const [text, ...pieces] of [
        ['The cat sat on the mat.', '▁The', '▁cat', '▁sat', '▁on', '▁the', '▁mat', '.', '</s>'],
        ['Le chat s\'est assis sur le tapis', '▁Le', '▁chat', '▁s\'', 'est', '▁assis', '▁sur', '▁le', '▁tapis', '</s>'],
        ['L\'oiseau près d\'un arbre n\'a pas dormi aujourd\'hui.',
            '▁L\'', 'oiseau', '▁près', '▁d\'', 'un', '▁arbre', '▁n\'', 'a', '▁pas', '▁dormi', '▁aujourd\'hui', '.', '</s>'],
    ]) {
        const { ids, fault } = tokenizer.encode(text);
        assert.equal(fault, null);
        assert.deepEqual([...ids].map(tokenizer.idToToken), pieces);
        assert.equal(tokenizer.decode(ids), text);
    }
    assert.deepEqual([...tokenizer.encode('').ids], [1]);
});
