// Tests masking words and writing tokens in a text: the resulting text is what a user would have typed, and
// splits into the intended tokens.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Tokenizer } from '../../../web/shell/node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs';
import { createTokenizer } from '../../../web/shell/tokenizer.js';
import { shared } from './shared.mjs';

const { skip } = shared;
const create = (texts) => createTokenizer(texts, Tokenizer);
const bert = skip ? undefined : create({ 'vocab.txt': shared.text('tokenizers/bert-vocab.txt') });

// GPT-2's pieces with the special tokens of RoBERTa, whose own vocabulary has the same pieces in another
// order.
function makeRoberta() {
    const special = ['<s>', '<pad>', '</s>', '<unk>'];
    const pieces = Object.entries(shared.json('tokenizers/gpt2-vocab.json')).filter(([piece]) => piece !== '<|endoftext|>');
    const vocab = Object.fromEntries([
        ...special.map((token, id) => [token, id]),
        ...pieces.map(([piece, id]) => [piece, id + special.length]),
        ['<mask>', pieces.length + special.length],
    ]);
    return create({ 'vocab.json': JSON.stringify(vocab), 'merges.txt': shared.text('tokenizers/gpt2-merges.txt') });
}
const roberta = skip ? undefined : makeRoberta();

const pieces = (tokenizer, text) => tokenizer.pieces(tokenizer.encode(text).ids);
const ids = (tokenizer, text) => [...tokenizer.encode(text, { special: false }).ids];

// Replaces the pieces with this text by others.
function replaced(tokenizer, text, from, others) {
    const all = pieces(tokenizer, text);
    const first = all.findIndex((_, i) => from.every((piece, j) => all[i + j] === piece));
    assert.ok(first >= 0, `${from} is not in ${all}`);
    return tokenizer.rewrite(text, tokenizer.encode(text).ids, { first, count: from.length }, others);
}

test('the special tokens are found by their roles, or by their usual names', { skip }, () => {
    assert.deepEqual(bert.special, { mask: 103, separator: 102, all: [102, 0, 101, 103] });
    const [mask] = ids(roberta, '<mask>');
    assert.equal(roberta.special.mask, mask);
    assert.equal(roberta.special.separator, 2);
    const words = { '[PAD]': 0, '[SEP]': 1, '@': 2, a: 3 };
    const level = (config) => create({
        'tokenizer.json': JSON.stringify({ pre_tokenizer: { type: 'WhitespaceSplit' }, model: { type: 'WordLevel', vocab: words } }),
        'tokenizer_config.json': JSON.stringify(config),
    });
    assert.deepEqual(level({}).special, { mask: null, separator: 1, all: [1] });
    assert.deepEqual(level({ mask_token: { content: '@' } }).special, { mask: 2, separator: 1, all: [2, 1] });
});

test('RoBERTa from vocab.json and merges.txt stands between its own tokens, and a mask takes the space before it', { skip }, () => {
    assert.deepEqual(pieces(roberta, 'The cat sat on the <mask>.'), ['<s>', 'The', '·cat', '·sat', '·on', '·the', '<mask>', '.', '</s>']);
});

test('a word of BERT is masked where it stands, whatever case, accents and neighbours it has', { skip }, () => {
    const [mask] = ids(bert, '[MASK]');
    /** @type {[text: string, from: string[], expected: string][]} */
    const cases = [
        ['The Cat, sat.', ['cat'], 'The [MASK], sat.'],
        ['the cat the cat', ['cat'], 'the [MASK] the cat'],
        ['Ein Café\n(offen)', ['cafe'], 'Ein [MASK]\n(offen)'],
        ['ein (Café) ist', ['cafe'], 'ein ([MASK]) ist'],
        ['So unaffable!', ['una', '##ffa', '##ble'], 'So [MASK] [MASK] [MASK]!'],
        ['a ☃☃☃ and dogs', ['dogs'], 'a ☃☃☃ and [MASK]'],
        ['a ☃☃☃ and dogs', ['[UNK]'], 'a [MASK] and dogs'],
        ['good day [SEP] good night', ['night'], 'good day [SEP] good [MASK]'],
        ['人', ['人'], '[MASK]'],
    ];
    for (const [text, from, expected] of cases) {
        const written = replaced(bert, text, from, from.map(() => mask));
        assert.equal(written, expected, text);
        const before = pieces(bert, text), first = before.findIndex((_, i) => from.every((piece, j) => before[i + j] === piece));
        assert.deepEqual(pieces(bert, written), before.map((piece, i) => (i >= first && i < first + from.length ? '[MASK]' : piece)));
    }
});

test('what BERT puts in place of a mask is written apart from words, and joined to the one that it continues', { skip }, () => {
    const [cat] = ids(bert, 'cat'), [, continued] = ids(bert, 'unaffable'), [dot] = ids(bert, '.');
    assert.equal(bert.idToToken(continued), '##ffa');
    assert.equal(replaced(bert, 'the [MASK] sat', ['[MASK]'], [cat]), 'the cat sat');
    assert.equal(replaced(bert, 'the ([MASK])', ['[MASK]'], [cat]), 'the (cat)');
    assert.equal(replaced(bert, 'the[MASK]sat', ['[MASK]'], [cat]), 'the cat sat');
    assert.equal(replaced(bert, 'una [MASK] ble', ['[MASK]'], [continued]), 'unaffa ble');
    assert.equal(replaced(bert, 'the cat [MASK]', ['[MASK]'], [dot]), 'the cat .');
    assert.equal(replaced(bert, '[MASK] sat', ['[MASK]'], [cat]), 'cat sat');
    assert.equal(replaced(bert, 'a [MASK] b', ['[MASK]'], [101]), 'a [CLS] b');
});

test('a byte-level text keeps its spaces', { skip }, () => {
    const mask = roberta.special.mask;
    const [word, letters] = [ids(roberta, ' cat')[0], ids(roberta, 'ish')[0]];
    const text = 'Hello world, a 猫 dog.';
    assert.equal(replaced(roberta, text, ['·world'], [mask]), 'Hello <mask>, a 猫 dog.');
    assert.equal(replaced(roberta, text, ['·dog'], [mask]), 'Hello world, a 猫 <mask>.');
    assert.equal(replaced(roberta, text, ['Hello'], [mask]), '<mask> world, a 猫 dog.');
    assert.equal(replaced(roberta, 'Hello <mask>, a', ['<mask>'], [word]), 'Hello cat, a');
    assert.equal(replaced(roberta, 'Hello <mask>, a', ['<mask>'], [letters]), 'Helloish, a');
    assert.equal(replaced(roberta, '<mask> world', ['<mask>'], [word]), 'cat world');
    assert.equal(replaced(roberta, 'line\n<mask> end', ['<mask>'], [letters]), 'line\nish end');
});

test('tokens that stand around the text take nothing of it', { skip }, () => {
    const { ids: all } = bert.encode('one two');
    assert.equal(bert.rewrite('one two', all, { first: 0, count: 1 }, [103]), '[MASK]one two');
    assert.equal(bert.rewrite('one two', all, { first: all.length - 1, count: 1 }, [103]), 'one two[MASK]');
});

test('every text of the cases is found again token by token', { skip }, () => {
    for (const { text } of shared.lines('tokenizers/bert_uncased.jsonl').slice(0, 200)) {
        const { ids: all } = bert.encode(text);
        const last = all.length - 2;  // before [SEP]
        if (last < 1 || text.includes('[')) {
            continue;
        }
        const written = bert.rewrite(text, all, { first: last, count: 1 }, [103]);
        const again = bert.encode(written).ids;
        assert.deepEqual([...again.subarray(0, last)], [...all.subarray(0, last)], JSON.stringify(text));
        assert.equal(again[last], 103, JSON.stringify(text));
    }
});
