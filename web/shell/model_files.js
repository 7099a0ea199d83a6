// Some of the files that a person hands over make a model: which, and what is still missing. This needs no document.

/** @import { Entry, SourceFile } from './file_chunks.js' */

/**
 * Files by their names.
 *
 * @typedef {Map<string, SourceFile>} Files
 */

/**
 * A model whose files are all there; `weights` and `ignored` are names.
 *
 * @typedef {{name: string, files: Files, weights: string[], ignored: string[]}} WholeModel
 */

const tokenizerFiles = ['tokenizer.json', 'tokenizer_config.json', 'special_tokens_map.json', 'vocab.json', 'merges.txt', 'vocab.txt'];
const index = 'model.safetensors.index.json';
const scores = 'scores.json';  // what was measured of the heads; a model is whole without it
const shard = /^model-\d+-of-\d+\.safetensors$/;

const isWeights = (/** @type {string} */ name) => name.endsWith('.safetensors');

/** @param {string} name */
export const isModelFile = (name) => name === 'config.json' || name === index || name === scores || tokenizerFiles.includes(name) || isWeights(name);

/**
 * Says whether only a model has such a file: other .safetensors may hold anything, and so may a scores.json.
 *
 * @param {string} name
 */
export const isModelPart = (name) => isModelFile(name) && name !== scores && (!isWeights(name) || name === 'model.safetensors' || shard.test(name));

/** @param {string[]} names */
export function listed(names, most = 4) {
    const shown = names.length > most ? [...names.slice(0, most - 1), `${names.length - most + 1} more`] : names;
    return shown.length > 1 ? `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}` : shown.join('');
}

/** @param {number} n */
export function bytes(n) {
    /** @type {[unit: string, size: number]} */
    const [unit, size] = n >= 1e9 ? ['GB', n / 1e9] : n >= 1e6 ? ['MB', n / 1e6] : ['kB', n / 1e3];
    return `${size.toFixed(size < 10 ? 1 : 0)} ${unit}`;
}

/**
 * The shards that an index names.
 *
 * @param {SourceFile} file
 * @returns {Promise<string[]>}
 */
async function shardsOf(file) {
    try {
        return [...new Set(Object.values(JSON.parse(await file.text()).weight_map))];
    } catch {
        throw new Error(`${index} could not be read as an index of shards.`);
    }
}

/** @param {Files} files */
async function weightsOf(files) {
    if (files.has('model.safetensors')) {
        return ['model.safetensors'];
    }
    const shards = files.get(index);
    if (shards) {
        return [index, ...await shardsOf(shards)];
    }
    return [...files.keys()].some((name) => shard.test(name)) ? [index] : ['model.safetensors'];
}

/** @param {Files} files */
function tokenizerOf(files) {
    const has = (/** @type {string} */ name) => files.has(name);
    if (has('tokenizer.json') || has('vocab.txt')) {
        return [];
    }
    return has('vocab.json') ? ['merges.txt'] : has('merges.txt') ? ['vocab.json'] : ['tokenizer.json'];
}

/**
 * What older folders have in the place of what is read here, and what to do.
 *
 * @type {{names: RegExp, ofWeights: boolean, told: (name: string) => string}[]}
 */
const inPlace = [
    {
        names: /^(spiece|tokenizer|sentencepiece\.bpe)\.model$/,
        ofWeights: false,
        told: (name) => `${name} is a SentencePiece file, which cannot be read here: `
            + "AutoTokenizer.from_pretrained('DIR').save_pretrained('DIR') of transformers writes a tokenizer.json beside it.",
    },
    {
        names: /\.(bin|pt|pth|ckpt)$/,
        ofWeights: true,
        told: (name) => `${name} holds weights as PyTorch pickles them, which cannot be read here: from_pretrained('DIR').save_pretrained('DIR') `
            + 'of the class that config.json names in "architectures" writes a model.safetensors beside it.',
    },
    {
        names: /\.(h5|msgpack|onnx|ot)$/,
        ofWeights: true,
        told: (name) => `${name} holds weights in a form that cannot be read here: take model.safetensors from where it came from.`,
    },
];

/**
 * A sentence for each kind of them that stands in the place of a missing file.
 *
 * @param {string[]} ignored
 * @param {string[]} missing
 */
function toldInPlace(ignored, missing) {
    const weights = missing.some((name) => isWeights(name) || name === index);
    const tokenizer = missing.some((name) => tokenizerFiles.includes(name));
    return inPlace.filter(({ ofWeights }) => (ofWeights ? weights : tokenizer))
        .flatMap(({ names, told }) => ignored.filter((name) => names.test(name)).slice(0, 1).map(told));
}

/** @param {Files} files */
async function missingFrom(files) {
    const needed = ['config.json', ...await weightsOf(files), ...tokenizerOf(files)];
    return needed.filter((name) => !files.has(name));
}

/**
 * The files that are known, by their folders; the rest is named in `ignored`.
 *
 * @param {Entry[]} entries
 */
function byFolder(entries) {
    /** @type {Map<string, Files>} */
    const folders = new Map();
    /** @type {string[]} */
    const ignored = [];
    for (const { path, file } of entries) {
        const parts = path.split('/');
        const name = parts.at(-1) ?? '';
        const folder = parts.slice(0, -1).join('/');
        if (isModelFile(name)) {
            folders.set(folder, (folders.get(folder) ?? new Map()).set(name, file));
        } else if (!name.startsWith('.')) {
            ignored.push(name);
        }
    }
    return { folders, ignored };
}

/** Gathers files, in any order and from several drops, until they make a model. */
export class ModelFiles {
    /** @type {Files} */
    #pending = new Map();

    forget() {
        this.#pending = new Map();
    }

    /**
     * The model once it is complete, else a sentence that says what is missing. Throws an Error of one sentence where
     * the entries cannot become one model.
     *
     * @param {Entry[]} entries
     * @returns {Promise<{model: WholeModel, waiting?: undefined} | {model?: undefined, waiting: string}>}
     */
    async add(entries) {
        const { folders, ignored } = byFolder(entries);
        if (folders.size === 0) {
            throw new Error(ignored.length
                ? [`${listed(ignored)} ${ignored.length > 1 ? 'are' : 'is'} not part of a model: `
                    + 'config.json, model.safetensors and tokenizer.json are needed.', ...toldInPlace(ignored, ['model.safetensors', 'tokenizer.json'])].join(' ')
                : 'There are no files in what was dropped.');
        }
        const complete = [];
        for (const each of folders) {
            if ((await missingFrom(each[1])).length === 0) {
                complete.push(each);
            }
        }
        const models = complete.length ? complete : [...folders].filter(([, files]) => files.has('config.json'));
        if (models.length > 1) {
            throw new Error(`There are two models or more (${listed(models.map(([folder]) => folder || 'loose files'))}): open one at a time.`);
        }
        if (complete.length === 1) {
            const [folder, files] = complete[0];
            this.forget();
            return { model: await this.#describe(folder.split('/').at(-1) ?? '', files, ignored) };
        }
        for (const [name, file] of [...folders.values()].flatMap((files) => [...files])) {
            this.#pending.set(name, file);
        }
        const missing = await missingFrom(this.#pending);
        if (missing.length === 0) {
            const files = this.#pending;
            this.forget();
            return { model: await this.#describe('', files, ignored) };
        }
        const here = [...this.#pending.keys()];
        return {
            waiting: [
                `${listed(here)} ${here.length > 1 ? 'are' : 'is'} here; still needed: ${listed(missing)}.`,
                ...ignored.length ? [`Ignored: ${listed(ignored)}.`] : [],
                ...toldInPlace(ignored, missing),
            ].join(' '),
        };
    }

    /**
     * @param {string} name
     * @param {Files} files
     * @param {string[]} ignored
     * @returns {Promise<WholeModel>}
     */
    async #describe(name, files, ignored) {
        const weights = (await weightsOf(files)).filter(isWeights);
        const unused = [...files.keys()].filter((file) => isWeights(file) && !weights.includes(file));
        return { name, files, weights, ignored: [...unused, ...ignored] };
    }
}

const most = 2e9;

/**
 * @param {Files} files
 * @param {string} name
 */
export const sizeOf = (files, name) => files.get(name)?.size ?? 0;

/**
 * One sentence where sizes say that the model cannot be opened, else null.
 *
 * @param {Pick<WholeModel, 'files' | 'weights'>} model
 */
export function unfit({ files, weights }) {
    const empty = [...files].find(([name, file]) => name !== scores && file.size === 0);
    if (empty) {
        return `${empty[0]} is empty.`;
    }
    const total = weights.reduce((sum, name) => sum + sizeOf(files, name), 0);
    if (total > most) {
        const what = weights.length > 1 ? `The ${weights.length} weight files are` : `${weights[0]} is`;
        return `${what} ${bytes(total)}; a browser tab can hold about 2 GB: choose a smaller model.`;
    }
    const long = [...files].find(([name, file]) => !isWeights(name) && file.size > 1e8);
    return long ? `${long[0]} is ${bytes(long[1].size)}, too large for what it should hold.` : null;
}

/**
 * The texts of the tokenizer's files, by name.
 *
 * @param {Files} files
 * @returns {Promise<Record<string, string>>}
 */
export async function tokenizerTexts(files) {
    const present = [...files].filter(([name]) => tokenizerFiles.includes(name));
    return Object.fromEntries(await Promise.all(present.map(async ([name, file]) => [name, await file.text()])));
}
