import assert from 'node:assert/strict';
import test from 'node:test';
import { Tokenizer } from '../../../web/shell/node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs';
import { createTokenizer } from '../../../web/shell/tokenizer.js';
import { shared } from './shared.mjs';

const create = (texts, vocabSize) => createTokenizer(texts, Tokenizer, vocabSize);
const wordLevel = (vocab, more = {}) => ({
    'tokenizer.json': JSON.stringify({ pre_tokenizer: { type: 'Whitespace' }, model: { type: 'WordLevel', vocab, ...more } }),
});
const { skip } = shared;
const gpt2 = skip ? undefined : create({
    'vocab.json': shared.text('tokenizers/gpt2-vocab.json'),
    'merges.txt': shared.text('tokenizers/gpt2-merges.txt'),
});
const bert = skip ? undefined : create({ 'vocab.txt': shared.text('tokenizers/bert-vocab.txt') });

test('GPT-2 from vocab.json and merges.txt: every case', { skip }, () => {
    for (const { text, ids, special } of shared.lines('tokenizers/gpt2.jsonl')) {
        assert.deepEqual([...gpt2.encode(text, { special }).ids], ids, JSON.stringify(text));
        assert.equal(gpt2.decode(ids), text);
    }
});

test('BERT from vocab.txt: every case', { skip }, () => {
    for (const { text, ids, special } of shared.lines('tokenizers/bert_uncased.jsonl')) {
        assert.deepEqual([...bert.encode(text, { special }).ids], ids, JSON.stringify(text));
    }
    assert.deepEqual([...bert.encode('hello').ids], [101, 7592, 102]);
});

for (const model of ['babyllama-tok105', 'gpt-nano-sort']) {
    test(`${model}: every case, and ids within the vocabulary`, { skip }, () => {
        const { vocab_size: size } = shared.json(`models/${model}/config.json`);
        const tokenizer = create(shared.tokenizer(model), size);
        for (const { text, ids, tokens, decoded_skip_special: decoded } of shared.json(`models/expect/${model}.json`).tokenizer_cases) {
            const encoded = tokenizer.encode(text);
            assert.deepEqual([...encoded.ids], ids, JSON.stringify(text));
            assert.equal(encoded.fault, null);
            assert.deepEqual(ids.map(tokenizer.idToToken), tokens);
            assert.equal(tokenizer.decode(ids), decoded);
        }
        assert.throws(() => create(shared.tokenizer(model), size - 1), /ids up to \d+, but the model's vocab_size is \d+/);
    });
}

test('added tokens beyond the vocabulary are text; a vocabulary that is too large is refused', () => {
    const gemma3 = (beyond) => ({ 'tokenizer.json': JSON.stringify({
        added_tokens: [{ id: 0, content: '<bos>', special: true }, { id: 4, content: '<image_soft_token>', special: true }],
        model: { type: 'BPE', vocab: { '<bos>': 0, '<': 1, i: 2, '>': 3, ...beyond }, merges: [] },
    }) });
    const tokenizer = create(gemma3({}), 4);
    assert.deepEqual([...tokenizer.encode('<bos>i').ids], [0, 2]);
    assert.ok(!tokenizer.encode('<image_soft_token>').ids.includes(4));
    assert.equal(tokenizer.vocabulary.length, 4);
    assert.deepEqual(tokenizer.special.all, [0]);
    assert.deepEqual([...create(gemma3({}), 5).encode('<image_soft_token>').ids], [4], 'within the vocabulary it is a token');
    assert.throws(() => create(gemma3({ m: 4 }), 4), /^Error: The tokenizer has ids up to 4, but the model's vocab_size is 4: /);
});

// OPT's folders have these three files, and the vocabulary of RoBERTa.
test('texts begin with a token where tokenizer_config.json says so', () => {
    /** @type {Record<string, number>} */
    const vocab = { '<s>': 0, '<pad>': 1, '</s>': 2, '<unk>': 3, a: 4, b: 5, '<mask>': 6 };
    const ids = (config, map, of = vocab) => {
        const texts = { 'vocab.json': JSON.stringify(of), 'merges.txt': '#version: 0.2', 'tokenizer_config.json': JSON.stringify(config), 'special_tokens_map.json': JSON.stringify(map ?? {}) };
        const tokenizer = create(texts, 7);
        return [tokenizer.encode('ab'), tokenizer.encode('ab', { special: false })].map((encoded) => encoded.ids.join());
    };
    const opt = { add_bos_token: true, add_prefix_space: false, tokenizer_class: 'GPT2Tokenizer', bos_token: { __type: 'AddedToken', content: '</s>' } };
    assert.deepEqual(ids(opt), ['2,4,5', '4,5']);
    assert.deepEqual(ids({ add_bos_token: true }, { bos_token: { content: '</s>' } }), ['2,4,5', '4,5'], 'either file names it');
    assert.deepEqual(ids({ ...opt, add_bos_token: false }), ['4,5', '4,5']);
    assert.deepEqual(ids({ tokenizer_class: 'GPT2Tokenizer', bos_token: '</s>' }), ['4,5', '4,5'], 'GPT-2 has the token, and begins with none');
    assert.deepEqual(ids({}), ['0,4,5,2', '4,5'], 'RoBERTa');
    const gpt2Like = { a: 0, b: 1, '<|endoftext|>': 2 };
    assert.deepEqual(ids({}, {}, gpt2Like), ['0,1', '0,1']);
    assert.deepEqual(ids({ add_bos_token: true }, {}, gpt2Like), ['2,0,1', '0,1']);
    assert.throws(() => ids({ add_bos_token: true }), /^Error: tokenizer_config\.json lets texts begin with '<\|endoftext\|>' \(add_bos_token\), which vocab\.json does not have\.$/);
});

test('a word without a token gives one sentence and no ids', { skip }, () => {
    const tokenizer = create(shared.tokenizer('gpt-nano-sort'), 3);
    const { ids, fault } = tokenizer.encode('A D B D');
    assert.equal(ids.length, 0);
    assert.equal(fault, "'D' has no token in this model's vocabulary (known: A, B, C).");
    assert.match(tokenizer.encode('Once upon a time').fault, /^'Once', 'upon', 'a' and 1 more have no token/);
});

test('words are split by Unicode, and the unknown token is used where the vocabulary has it', () => {
    const tokenizer = create(wordLevel({ '[UNK]': 0, 'für': 1, '!': 2 }, { unk_token: '[UNK]' }));
    assert.deepEqual([...tokenizer.encode('für über!').ids], [1, 0, 2]);
});

test('pieces show spaces, breaks, bytes and invisible characters', { skip }, () => {
    const pieces = (text) => gpt2.pieces(gpt2.encode(text).ids);
    assert.deepEqual(pieces(' Hello\tthere\n'), ['·Hello', '⇥', 'there', '↵']);
    assert.deepEqual(pieces('half ½'), ['half', '·½']);
    assert.deepEqual(pieces('▁'), ['⟨▁ 1/2⟩', '⟨▁ 2/2⟩']);
    assert.deepEqual(pieces('a\u200db'), ['a', '⟨\\u200D 1/2⟩', '⟨\\u200D 2/2⟩', 'b']);
    assert.deepEqual(gpt2.pieces([50256, 60000]), ['<|endoftext|>', '#60000']);
    const llama = create(shared.tokenizer('babyllama-tok105'));
    assert.deepEqual(llama.pieces(llama.encode('a b').ids), ['<s>', '·', 'a', '·', 'b']);
});

test('words that are not ASCII read as characters, and a part of a character says of which', { skip }, () => {
    const pieces = (text) => gpt2.pieces(gpt2.encode(text).ids).join(' ');
    assert.equal(pieces('Größe'), 'Gr ö ß e');
    assert.doesNotMatch(pieces('Привет, мир'), /x|�/);
    assert.doesNotMatch(pieces('مرحبا بالعالم'), /x|�/);
    assert.match(pieces('猫が好き'), /^⟨猫 1\/3⟩ ⟨猫 2\/3⟩ ⟨猫 3\/3⟩ が/);
    assert.deepEqual(gpt2.pieces(gpt2.encode(' 猫').ids.subarray(0, 1)), ['·⟨e7⟩']);
});

test('byte pieces of SentencePiece vocabularies', () => {
    const model = { type: 'BPE', vocab: { '<unk>': 0, '<0xC3>': 1, '<0xA9>': 2, '▁': 3, '<0x0A>': 4 }, merges: [], unk_token: '<unk>', byte_fallback: true };
    const tokenizer = create({ 'tokenizer.json': JSON.stringify({
        model,
        decoder: { type: 'Sequence', decoders: [{ type: 'Replace', pattern: { String: '▁' }, content: ' ' }, { type: 'ByteFallback' }, { type: 'Fuse' }] },
    }) });
    assert.deepEqual([...tokenizer.encode('▁é\n').ids], [3, 1, 2, 4]);
    assert.deepEqual(tokenizer.pieces([3, 1, 2, 4]), ['·', '⟨é 1/2⟩', '⟨é 2/2⟩', '↵']);
    assert.deepEqual(tokenizer.pieces([2, 1, 0, 2]), ['⟨a9⟩', '⟨c3⟩', '<unk>', '⟨a9⟩']);
    assert.equal(tokenizer.decode([3, 1, 2]), ' é');
});

// Lens Training saves a network over symbols with such a tokenizer.
test('symbols between blanks, and no token for what is none', () => {
    const symbols = ['|', 'A', 'B', 'a', '53'];
    const tokenizer = create({ 'tokenizer.json': JSON.stringify({
        version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null, pre_tokenizer: { type: 'WhitespaceSplit' },
        post_processor: null, decoder: null,
        model: { type: 'WordLevel', unk_token: '<unk>', vocab: Object.fromEntries(symbols.map((symbol, id) => [symbol, id])) },
    }) }, symbols.length);
    assert.deepEqual([...tokenizer.encode('A B  | 53\na A').ids], [1, 2, 0, 4, 3, 1]);
    assert.deepEqual(tokenizer.pieces([0, 4, 5]), ['|', '53', '#5']);
    assert.equal(tokenizer.decode([1, 0, 4]), 'A | 53');
    assert.equal(tokenizer.encode('A AB <unk>').fault, "'AB' and '<unk>' have no token in this model's vocabulary (known: |, A, B, a, 53).");
});

test('files that are no tokenizer are refused in one sentence', () => {
    const refused = (texts, reason) => assert.throws(() => create(texts), ({ message }) => reason.test(message) && /\.$/.test(message));
    refused({}, /There is no tokenizer/);
    refused({ 'tokenizer.json': '{"model":' }, /^tokenizer\.json is not valid JSON/);
    refused({ 'tokenizer.json': '{}' }, /holds no vocabulary/);
    refused({ 'tokenizer.json': '{"model":{"type":"BPE","vocab":{"a":0},"merges":[]},"pre_tokenizer":{"type":"Runes"}}' }, /tokenizer\.json has the pre-tokenizer 'Runes', which is not supported\.$/);
    refused({ 'tokenizer.json': '{"model":{"type":"BPE","vocab":{"a":0}}}' }, /a part of it is missing/);
});

test('nothing to encode and nothing to decode', { skip }, () => {
    assert.equal(gpt2.encode('').ids.length, 0);
    assert.equal(gpt2.decode([]), '');
    assert.equal(gpt2.decode([60000]), '');
});

test('100,000 characters', { skip }, () => {
    const { ids } = gpt2.encode(shared.text('corpora/grimm.txt').slice(0, 100000));
    assert.ok(ids.length > 20000);
});
