// Provides checkpoints for tests, and other people's results for them.
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inflateRawSync } from 'node:zlib';
import { attn } from '../../support/attn.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
export const shared = process.env.ATTN_SHARED ?? here('../../../../shared');
const golden = here('../../golden/model/gpt2-f32');
const scratch = mkdtempSync(join(tmpdir(), 'explorer-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

const read = (file) => new Uint8Array(readFileSync(file)).buffer;
const json = (file) => JSON.parse(readFileSync(file, 'utf8'));

/**
 * Makes nested arrays of flat numbers, by their shape.
 *
 * @param {number[]} flat
 * @param {number[]} shape
 */
function nested(flat, [size, ...rest]) {
    const step = flat.length / size;
    return Array.from({ length: size }, (_, i) => (rest.length ? nested(flat.slice(i * step, (i + 1) * step), rest) : flat[i]));
}

// Reads the tensors of an F32 file by name, as nested arrays.
export function safetensors(file) {
    const bytes = read(file);
    const start = 8 + Number(new DataView(bytes).getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(bytes.slice(8, start)));
    return (name) => {
        const { shape, data_offsets: [from, to] } = header[name];
        return nested(Array.from(new Float32Array(bytes.slice(start + from, start + to))), shape);
    };
}

function npy(file) {
    const bytes = read(file);
    const start = 10 + new DataView(bytes).getUint16(8, true);
    const header = new TextDecoder().decode(bytes.slice(10, start));
    if (!header.includes("'<f4'")) {
        throw new Error(`${file} does not hold '<f4': ${header}`);
    }
    const shape = /\(([^)]*)\)/.exec(header)[1].split(',').filter((part) => part.trim()).map(Number);
    return nested(Array.from(new Float32Array(bytes.slice(start))), shape);
}

// An empty folder, removed when the tests end.
export const emptyFolder = () => mkdtempSync(join(scratch, 'folder-'));

// Copies a model's folder with some contents changed: {file: text or bytes, or null to leave it out}.
export function variation(folder, changes, name = 'changed') {
    const copy = join(emptyFolder(), name);
    cpSync(folder, copy, { recursive: true });
    for (const [file, contents] of Object.entries(changes)) {
        if (contents === null) {
            rmSync(join(copy, file));
        } else {
            writeFileSync(join(copy, file), contents);
        }
    }
    return copy;
}

const words = ('the cat sat on a mat and saw its red ball roll under old wooden chair while dog slept near door '
    + 'then bird sang so they all woke up once again').split(' ');

/**
 * A tokenizer of words, and of special tokens if it has some: those at a text's ends, and the mask.
 *
 * @param {string[]} vocabulary
 * @param {{cls: string, sep: string, mask: string}} [special]
 */
export const tokenizer = (vocabulary, special) => JSON.stringify({
    version: '1.0', truncation: null, padding: null, normalizer: null, decoder: null,
    added_tokens: Object.values(special ?? {}).map((content) => ({ content, id: vocabulary.indexOf(content), special: true })),
    pre_tokenizer: { type: 'WhitespaceSplit' },
    post_processor: special
        ? { type: 'BertProcessing', cls: [special.cls, vocabulary.indexOf(special.cls)], sep: [special.sep, vocabulary.indexOf(special.sep)] }
        : null,
    model: { type: 'WordLevel', vocab: Object.fromEntries(vocabulary.map((word, id) => [word, id])), unk_token: '<unk>' },
});

// A GPT-2 of 2 layers and 3 heads whose every activation PyTorch has computed in float64, with words for its
// ids.
function makeTiny() {
    const folder = variation(golden, { 'expect.safetensors': null, 'tokenizer.json': tokenizer(words) }, 'tiny');
    const tensor = safetensors(join(golden, 'expect.safetensors'));
    const ids = tensor('ids');
    return {
        folder,
        words,
        context: json(join(folder, 'config.json')).n_positions,
        ids,
        text: ids.map((id) => words[id]).join(' '),
        attention: [tensor('layers.0.weights'), tensor('layers.1.weights')],
        logits: tensor('logits').at(-1),
        greedy: tensor('greedy'),
    };
}
export const tiny = makeTiny();

// PyTorch's results of a model's run with hooks in its second layer, named as in links: for these models in
// the tree.
export const hooked = ['gpt2-f32', 'llama3-scaled-f32'].map((name) => {
    const from = here('../../golden/interventions'), all = json(`${from}/cases.json`);
    const { logits, weights } = npz(`${from}/${name}.npz`);
    const model = here(`../../golden/model/${name}`);
    const vocabulary = Array.from({ length: json(`${model}/config.json`).vocab_size }, (_, id) => `w${id}`);
    return {
        name,
        folder: variation(model, { 'expect.safetensors': null, 'tokenizer.json': tokenizer(vocabulary) }, name),
        ids: all.ids,
        text: all.ids.map((id) => vocabulary[id]).join(' '),
        cases: all[name].map(({ attention, site, head, rows, operation, values }, i) => ({
            chosen: attention === 1 && !rows && head === undefined && !['mean_of_texts', 'patch'].includes(operation),
            link: [site, attention, '', '', '', operation, ...values ?? []].join(','),
            logits: logits[i].at(-1),
            weights: weights[i],
        })).filter(({ chosen }) => chosen),
    };
});

// A checkpoint as published by its authors, with float64 runs of an independent program. It needs 'models'.
export const published = (name) => ({ folder: `${shared}/models/${name}`, ...json(`${shared}/models/expect/${name}.json`) });

// Reads the arrays of an .npz whose entries are stored, or deflated, without zip64: {name: nested numbers}.
function npz(file) {
    const bytes = readFileSync(file);
    const arrays = {};
    let at = bytes.readUInt32LE(bytes.lastIndexOf('PK\x05\x06') + 16);
    while (bytes.readUInt32LE(at) === 0x02014b50) {
        const [size, nameSize, extra, comment, local] = [
            bytes.readUInt32LE(at + 20), bytes.readUInt16LE(at + 28), bytes.readUInt16LE(at + 30), bytes.readUInt16LE(at + 32),
            bytes.readUInt32LE(at + 42)];
        const name = bytes.toString('latin1', at + 46, at + 46 + nameSize).replace(/\.npy$/, '');
        const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
        const packed = bytes.subarray(start, start + size);
        const entry = bytes.readUInt16LE(at + 10) ? inflateRawSync(packed) : packed;
        const data = 10 + entry.readUInt16LE(8);
        const header = entry.toString('latin1', 10, data);
        const shape = /\(([^)]*)\)/.exec(header)[1].split(',').filter((part) => part.trim()).map(Number);
        const numbers = entry.buffer.slice(entry.byteOffset + data, entry.byteOffset + entry.length);
        arrays[name] = nested(Array.from(header.includes("'<f8'") ? new Float64Array(numbers) : new Float32Array(numbers)), shape);
        at += 46 + nameSize + extra + comment;
    }
    return arrays;
}

/**
 * A small model of a family, with words for its ids, and other people's results for a text. It needs
 * 'families/NAME'.
 *
 * @param {string} name
 * @param {string} config its spelling, config.json or config-v5.json
 * @param {{cls: string, sep: string, mask: string}} [special] how the text's first and last token are typed,
 *     and the mask
 * @param {number} [masked] the mask's id
 */
export function family(name, config = 'config.json', special, masked) {
    const from = `${shared}/families/${name}`;
    const { ids, decoder_ids: written = [], tolerance } = json(`${from}/expect.json`);
    const { vocab_size: size } = json(`${from}/config.json`);
    const vocabulary = Array.from({ length: size }, (_, id) => `w${id}`);
    if (special) {
        vocabulary[ids[0]] = special.cls;
        vocabulary[ids.at(-1)] = special.sep;
        vocabulary[masked] = special.mask;
    }
    const folder = variation(from, {
        'expect.json': null, 'expect.npz': null, ...existsSync(`${from}/config-v5.json`) ? { 'config-v5.json': null } : {}, 'config.json': readFileSync(`${from}/${config}`),
        'tokenizer.json': tokenizer(vocabulary, special),
    }, name);
    const { attention, decoder_attention: own, cross_attention: cross, logits } = npz(`${from}/expect.npz`);
    const typed = special ? ids.slice(1, -1) : ids;
    const textOf = (these) => these.map((id) => vocabulary[id]).join(' ');
    // For an encoder–decoder: all attentions in the page's numbering, and what its decoder reads after the
    // start token.
    const decoder = own && { decoder_ids: written, written: textOf(written.slice(1)), attention: [...attention, ...own, ...cross] };
    return { folder, ids, vocabulary, text: textOf(typed), tolerance, attention, logits, ...decoder };
}

const ggufs = `${shared}/gguf`;

// Models in GGUF files, with the results of the dequantised weights in float64. They need 'gguf'.
export const gguf = {
    notModel: `${ggufs}/README.md`,
    broken: (name) => `${ggufs}/broken/${name}.gguf`,
    texts: (folder) => readFileSync(`${ggufs}/expect/${folder}.tokens.jsonl`, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line)),
    model(name) {
        const { file, text, ids, greedy, npz: numbers } = json(`${ggufs}/expect/${name}.json`);
        return { files: [file].flat().map((each) => `${ggufs}/${each}`), text, ids, greedy, ...npz(`${ggufs}/expect/${numbers}`) };
    },
};

export const native = {
    absent: attn ? null : 'there is no native program',
    // Computes attention[layer][head][query][key] with the native program.
    attention(folder, ids) {
        const out = emptyFolder();
        execFileSync(attn, ['trace', folder, '--ids', ids.join(','), '--out', out], { stdio: 'pipe' });
        return npy(join(out, 'attention.npy'));
    },
};
