// Compares the ids of the core's tokenizers with the page's. Needs the native program.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after, before } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Tokenizer } from '../../../web/shell/node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs';
import { createTokenizer } from '../../../web/shell/tokenizer.js';
import { describeTokenizer } from '../../../web/shell/tokenizer_files.js';
import { attn as program } from '../../support/attn.mjs';
import { shared } from './shared.mjs';

const skip = program ? shared.skip : 'there is no native program';
const corpora = skip ? [] : readdirSync(shared.path('corpora')).filter((name) => name.endsWith('.txt'));
const corpus = (name) => shared.path(`corpora/${name}`);
const readText = (path) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(readFileSync(path));

let folder;
before(() => { folder = mkdtempSync(join(tmpdir(), 'attn-bpe-')); });
after(() => rmSync(folder, { recursive: true }));

function attn(...words) {
    return execFileSync(program, ['tokenizer', ...words], { encoding: 'utf8', maxBuffer: 2 ** 30 });
}

function write(name, content) {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
}

function trained(vocabulary, ...special) {
    const out = join(folder, `trained-${vocabulary}.json`);
    attn('train', '--vocabulary', String(vocabulary), '--out', out, '--special', ...special, '--text', ...corpora.map(corpus));
    return out;
}

function gpt2() {
    const texts = { 'vocab.json': shared.text('tokenizers/gpt2-vocab.json'), 'merges.txt': shared.text('tokenizers/gpt2-merges.txt') };
    return write('gpt2.json', JSON.stringify(describeTokenizer(texts).description));
}

// Returns how many ids there are; all must be equal.
function compare(tokenizer, texts) {
    const page = createTokenizer({ 'tokenizer.json': readFileSync(tokenizer, 'utf8') }, Tokenizer);
    let count = 0;
    for (const path of texts) {
        const expected = page.encode(readText(path)).ids;
        const ids = attn('encode', tokenizer, path).trim().split(' ').map(Number);
        // deepEqual would print millions of ids.
        const different = expected.findIndex((id, i) => id !== ids[i]);
        assert.equal(different, -1, `${path}: id ${different} is ${ids[different]}, not ${expected[different]}`);
        assert.equal(ids.length, expected.length, path);
        count += ids.length;
    }
    return count;
}

const tokenizers = {
    'GPT-2': gpt2,
    'trained, 1,024 tokens': () => trained(1024, '<|endoftext|>'),
    'trained, 2,048 tokens': () => trained(2048, '<|endoftext|>', '<pad>'),
};
for (const [name, make] of Object.entries(tokenizers)) {
    test(`${name}: every text of the corpora`, { skip }, (context) => {
        const count = compare(make(), corpora.map(corpus));
        assert.ok(count > 100000);
        context.diagnostic(`${count} ids of ${corpora.length} texts`);
    });
}

test('code points around every change of class, alone and beside a letter, a number, a sign and spaces', { skip }, (context) => {
    const classes = [/\p{L}/u, /\p{N}/u, /\p{White_Space}/u];
    const characters = Array.from({ length: 0x110000 }, (_, point) => String.fromCodePoint(point));
    const kinds = characters.map((c) => classes.findIndex((pattern) => pattern.test(c)));
    // Surrogates are not characters of a text.
    const chosen = characters.filter((c, point) => (point < 0xD800 || point > 0xDFFF)
        && (point % 61 === 0 || kinds[point] !== kinds[point - 1] || kinds[point] !== kinds[point + 1]));
    const text = chosen.map((c) => `${c}a${c}1${c}.${c}  ${c}${c}\n`).join('');
    context.diagnostic(`${compare(gpt2(), [write('points', text)])} ids of ${chosen.length} code points`);
});

test('random mixtures, ill-formed ones among them', { skip }, (context) => {
    // xorshift32
    let state = 1;
    const random = (below) => {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        return (state >>> 0) % below;
    };
    const parts = ["'s", "'re", "'LL", "'", ' ', '  ', '\n', '\r', '\t', '\0', '\u00a0', '\u0085', '\ufeff', '\u2028', 'the', 'é', 'e\u0301',
        '日本', '한', '😀', '👩‍👧', '½', '٣', '42', '!', '…', '<|endoftext|>', '<|endof', '<pad>'].map((part) => Buffer.from(part));
    parts.push(...[[0xFF], [0xC3], [0xE2, 0x82], [0xF0, 0x9F, 0x98], [0xED, 0xA0, 0x80], [0x80]].map((bytes) => Buffer.from(bytes)));
    const text = write('mixture', Buffer.concat(Array.from({ length: 200000 }, () => parts[random(parts.length)])));
    const counts = [gpt2(), trained(2048, '<|endoftext|>', '<pad>')].map((tokenizer) => compare(tokenizer, [text]));
    context.diagnostic(`${counts.join(' and ')} ids`);
});

test('a piece of 300,000 bytes without a space', { skip }, () => {
    const text = write('long', 'abracadabra'.repeat(27273));
    assert.ok(compare(gpt2(), [text]) > 10000);
});

test('the table of Unicode is the one that its script makes', (context) => {
    const header = readFileSync(new URL('../../../core/text/unicode_ranges.hpp', import.meta.url), 'utf8');
    const [, version] = /Unicode ([\d.]+)\./.exec(header);
    if (version !== process.versions.unicode) {
        context.skip(`the table is of Unicode ${version}, this node's of ${process.versions.unicode}`);
        return;
    }
    const script = fileURLToPath(new URL('../../../tools/unicode_ranges.mjs', import.meta.url));
    assert.equal(execFileSync(process.execPath, [script], { encoding: 'utf8' }), header);
});
