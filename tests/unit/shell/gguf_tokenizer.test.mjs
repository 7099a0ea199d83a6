// Compares the ids of the core's tokenizers of GGUF files with those that the page finds by a tokenizer.json,
// on GPT-2's vocabulary with the published expressions. Needs the native program, as bpe.test.mjs does.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { Tokenizer } from '../../../web/shell/node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs';
import { createTokenizer } from '../../../web/shell/tokenizer.js';
import { describeTokenizer } from '../../../web/shell/tokenizer_files.js';
import { attn as program } from '../../support/attn.mjs';
import { shared } from './shared.mjs';

const skip = program ? shared.skip : 'there is no native program';

let folder;
before(() => { folder = mkdtempSync(join(tmpdir(), 'attn-gguf-')); });
after(() => rmSync(folder, { recursive: true }));

function write(name, content) {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
}

const encoded = (file, each) => execFileSync(program, ['tokenizer', 'encode', file, write('text', each)], { encoding: 'utf8', maxBuffer: 2 ** 30 })
    .trim().split(' ').map(Number);

// ---- GGUF, as far as a tokenizer needs it -----------------------------------------------------------------

const u32 = (value) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    return bytes;
};
const u64 = (value) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    return bytes;
};
const text = (value) => [u64(Buffer.byteLength(value)), Buffer.from(value)];
const key = (name, type, ...value) => [...text(name), u32(type), ...value];
const ofText = (name, value) => key(name, 8, ...text(value));
const list = (name, type, values, write1) => key(name, 9, u32(type), u64(values.length), ...values.flatMap(write1));

function gguf(pre, tokens, types, merges) {
    const keys = [
        ofText('general.architecture', 'gpt2'), ofText('tokenizer.ggml.model', 'gpt2'), ofText('tokenizer.ggml.pre', pre),
        list('tokenizer.ggml.tokens', 8, tokens, text), list('tokenizer.ggml.token_type', 5, types, u32),
        list('tokenizer.ggml.merges', 8, merges, text),
    ];
    const header = Buffer.concat([Buffer.from('GGUF'), u32(3), u64(0), u64(keys.length), ...keys.flat()]);
    return Buffer.concat([header, Buffer.alloc((32 - header.length % 32) % 32)]);
}

// ---- The published expressions, with (?i:…) written out ---------------------------------------------------

const contraction = "'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])";
const [upper, lower] = ['[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]', '[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]'];
const rest = (digits, more = '') => `\\p{N}${digits}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n${more}]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+`;
const word = '[^\\r\\n\\p{L}\\p{N}]?\\p{L}+';
const cased = (end) => `[^\\r\\n\\p{L}\\p{N}]?${upper}*${lower}+${end}|[^\\r\\n\\p{L}\\p{N}]?${upper}+${lower}*${end}`;
const split = (expression) => ({ type: 'Split', pattern: { Regex: expression }, behavior: 'Isolated', invert: false });
const byteLevel = (use) => ({ type: 'ByteLevel', add_prefix_space: false, use_regex: use });
const divisions = {
    'gpt-2': { by: [byteLevel(true)] },
    default: { by: [split('[\\p{P}$+<=>^~|]+'), split("'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"), split('\\p{N}+'), split('[0-9][0-9][0-9]'), byteLevel(false)] },
    smollm: { by: [split('\\p{N}'), byteLevel(true)] },
    qwen2: { by: [split(`${contraction}|${word}|${rest('')}`), byteLevel(false)] },
    'llama-bpe': { by: [split(`${contraction}|${word}|${rest('{1,3}')}`), byteLevel(false)], whole: true },
    dbrx: { by: [split(`${contraction}|${word}|${rest('{1,3}')}`), byteLevel(false)] },
    'gpt-4o': { by: [split(`${cased(`(?:${contraction})?`)}|${rest('{1,3}', '/')}`), byteLevel(false)] },
    tekken: { by: [split(`${cased('')}|${rest('', '/')}`), byteLevel(false)], whole: true },
};

// xorshift32
function mixture(count) {
    let state = 7;
    const random = (below) => {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        return (state >>> 0) % below;
    };
    const parts = ["'s", "'re", "'LL", "'T", "'", ' ', '  ', '\n', '\r\n', '\r', '\t', '\u00a0', '\u2028', '\u0085', '\ufeff', 'the', 'The', 'HTML', 'é', 'É', 'e\u0301', '\u0301',
        'ǅ', 'ʰ', '日本', '한', 'ß', '😀', '👩‍👧', '½', '٣', '42', '12345', '!', '…', '/', '?!', '<|endoftext|>', '<|endof'];
    return Array.from({ length: count }, () => parts[random(parts.length)]).join('');
}

for (const [pre, { by, whole = false }] of Object.entries(divisions)) {
    test(`${pre}: a text of the corpora and random mixtures`, { skip }, (context) => {
        const { description } = describeTokenizer({ 'vocab.json': shared.text('tokenizers/gpt2-vocab.json'), 'merges.txt': shared.text('tokenizers/gpt2-merges.txt') });
        const { vocab, merges } = /** @type {any} */ (description.model);
        const tokens = Object.keys(vocab).sort((a, b) => vocab[a] - vocab[b]);
        const file = write(`${pre}.gguf`, gguf(pre, tokens, tokens.map((token) => (token === '<|endoftext|>' ? 3 : 1)), merges));
        const page = createTokenizer({ 'tokenizer.json': JSON.stringify({
            ...description,
            pre_tokenizer: { type: 'Sequence', pretokenizers: by },
            model: { ...description.model, ignore_merges: whole },
        }) }, Tokenizer);
        let count = 0;
        for (const each of [readFileSync(shared.path('corpora/grimm.txt'), 'utf8').slice(0, 200000), mixture(30000)]) {
            const expected = page.encode(each).ids;
            const ids = encoded(file, each);
            const different = expected.findIndex((id, i) => id !== ids[i]);
            assert.equal(different, -1, `id ${different} is ${ids[different]}, not ${expected[different]}, after ${JSON.stringify(page.decode(expected.slice(Math.max(0, different - 5), different + 3)))}`);
            assert.equal(ids.length, expected.length);
            count += ids.length;
        }
        context.diagnostic(`${count} ids`);
    });
}

test('SentencePiece: a text of the corpora', { skip }, (context) => {
    const file = shared.path('gguf/babyllama/babyllama-tok105-q4_k_m.gguf');
    if (!existsSync(file)) {
        context.skip(`there is no ${file}`);
        return;
    }
    const library = createTokenizer(shared.tokenizer('babyllama-tok105'), Tokenizer);
    const each = readFileSync(shared.path('corpora/grimm.txt'), 'utf8').slice(0, 100000);
    assert.deepEqual(encoded(file, each), [...library.encode(each).ids]);
});
