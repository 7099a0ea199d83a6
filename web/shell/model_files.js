// Finds which of a user's files make a model, and what is still missing. This needs no document.

/** @import { Entry, SourceFile } from './file_chunks.js' */

/**
 * Files by name.
 *
 * @typedef {Map<string, SourceFile>} Files
 */

/**
 * A model whose files are all there; `weights` and `ignored` are names. GGUF files contain everything else.
 *
 * @typedef {{name: string, files: Files, weights: string[], ignored: string[], gguf: boolean}} WholeModel
 */

const tokenizerFiles = ['tokenizer.json', 'tokenizer_config.json', 'special_tokens_map.json', 'vocab.json', 'merges.txt', 'vocab.txt'];
const index = 'model.safetensors.index.json';
const scores = 'scores.json';  // measured scores of the heads; a model is complete without it
const shard = /^model-\d+-of-\d+\.safetensors$/;

const part = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/i;  // part of a model in several GGUF files

const mostParts = 1000;  // because a count in a name may be any number

export const isGguf = (/** @type {string} */ name) => /\.gguf$/i.test(name);
const isWeights = (/** @type {string} */ name) => name.endsWith('.safetensors') || isGguf(name);

/**
 * Says whether a file belongs to a model's folder. A .gguf file is a model by itself.
 *
 * @param {string} name
 */
export const isModelFile = (name) => name === 'config.json' || name === index || name === scores || tokenizerFiles.includes(name) || name.endsWith('.safetensors');

/**
 * Says whether only a model has such a file: other .safetensors may hold anything, and so may a scores.json.
 *
 * @param {string} name
 */
export const isModelPart = (name) => isGguf(name)
    || (isModelFile(name) && name !== scores && (!isWeights(name) || name === 'model.safetensors' || shard.test(name)));

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
 * Returns the shards that an index names.
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
 * Files of older folders that take the place of the ones read here, and what to do.
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
 * Returns a sentence for each kind of them that takes the place of a missing file.
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
 * A model in `count` GGUF files, as far as they are there.
 *
 * @typedef {{stem: string, count: number, files: Files}} GgufModel
 */

/**
 * @param {string} name
 * @returns {GgufModel}
 */
function ggufOf(name) {
    const [, stem, , count] = part.exec(name) ?? [];
    return { stem: stem ?? name.replace(/\.gguf$/i, ''), count: Number(count ?? 1), files: new Map() };
}

/**
 * Returns the names of its missing files.
 *
 * @param {GgufModel} model
 */
function missingOf({ stem, count, files }) {
    const present = [...files.keys()].map((name) => Number(part.exec(name)?.[2] ?? 1));
    const padded = (/** @type {number} */ n) => String(n).padStart(5, '0');
    return Array.from({ length: Math.min(count, mostParts) }, (_, i) => i + 1).filter((n) => !present.includes(n))
        .map((n) => `${stem}-${padded(n)}-of-${padded(count)}.gguf`);
}

/**
 * Groups GGUF files into models, by folder, name and number of files.
 *
 * @param {Entry[]} entries
 */
function ggufModels(entries) {
    /** @type {Map<string, GgufModel>} */
    const models = new Map();
    for (const { path, file } of entries) {
        const name = path.split('/').at(-1) ?? '';
        const key = part.test(path) ? path.replace(part, '$1-of-$3') : path;
        const model = models.get(key) ?? ggufOf(name);
        model.files.set(name, file);
        models.set(key, model);
    }
    return [...models.values()];
}

/**
 * Groups the known files by folder; the others are named in `ignored`.
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
        } else if (!name.startsWith('.') && !isGguf(name)) {
            ignored.push(name);
        }
    }
    return { folders, ignored };
}

/** Gathers files, in any order and from several drops, until they make a model. */
export class ModelFiles {
    /** @type {Files} */
    #pending = new Map();
    /** @type {Entry[]} Parts of one model, from earlier drops. */
    #ggufs = [];

    forget() {
        this.#pending = new Map();
        this.#ggufs = [];
    }

    /**
     * Returns the model once it is complete, otherwise a sentence that says what is missing. Throws an Error
     * of one sentence if the entries cannot become one model.
     *
     * @param {Entry[]} entries
     * @returns {Promise<{model: WholeModel, waiting?: undefined} | {model?: undefined, waiting: string}>}
     */
    async add(entries) {
        const { folders, ignored } = byFolder(entries);
        const ggufs = entries.filter(({ path }) => isGguf(path) && !path.split('/').at(-1)?.startsWith('.'));
        if (ggufs.length) {
            return this.#addGgufs(ggufs, [...[...folders.values()].flatMap((files) => [...files.keys()]), ...ignored]);
        }
        if (folders.size === 0) {
            throw new Error(ignored.length
                ? [`${listed(ignored)} ${ignored.length > 1 ? 'are' : 'is'} not part of a model: `
                    + 'a .gguf file is needed, or config.json, model.safetensors and tokenizer.json.', ...toldInPlace(ignored, ['model.safetensors', 'tokenizer.json'])].join(' ')
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
     * @param {Entry[]} entries
     * @param {string[]} ignored
     * @returns {{model: WholeModel, waiting?: undefined} | {model?: undefined, waiting: string}}
     */
    #addGgufs(entries, ignored) {
        const [model, ...others] = ggufModels(entries);
        if (others.length) {
            const names = [model, ...others].map(({ stem }) => stem);
            throw new Error(`There are two models or more (${listed(names)}): open one at a time.`);
        }
        const earlier = ggufModels(this.#ggufs).at(0);
        if (earlier?.stem === model.stem && earlier.count === model.count) {
            model.files = new Map([...earlier.files, ...model.files]);
        }
        const missing = missingOf(model);
        const names = [...model.files.keys()].sort();
        if (missing.length === 0) {
            this.forget();
            return { model: { name: model.stem, files: model.files, weights: names, ignored, gguf: true } };
        }
        this.#ggufs = [...model.files].map(([path, file]) => ({ path, file }));
        return { waiting: `${listed(names)} ${names.length > 1 ? 'are' : 'is'} here; still needed: ${listed(missing)}.` };
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
        return { name, files, weights, ignored: [...unused, ...ignored], gguf: false };
    }
}

const most = 1.7e9;  // the program's limit

/**
 * @param {Files} files
 * @param {string} name
 */
export const sizeOf = (files, name) => files.get(name)?.size ?? 0;

/** @param {Pick<WholeModel, 'files' | 'weights'>} model */
const weightBytes = ({ files, weights }) => weights.reduce((sum, name) => sum + sizeOf(files, name), 0);

// Size of a matrix in 8 bits relative to its bytes: 34 for 32 numbers.
const rounded = { float32: 34 / 128, other: 34 / 64 };

/**
 * If a tab can hold the model only with its matrices rounded to 8 bits, returns the sentence that offers it,
 * otherwise null.
 *
 * @param {Pick<WholeModel, 'files' | 'weights'>} model
 */
export function fitsRounded(model) {
    const total = weightBytes(model);
    if (total <= most || unfit(model)) {
        return null;
    }
    return `${subject(model)} ${bytes(total)}; a browser tab can hold ${bytes(most)}. In 8 bits the model takes about `
        + `${bytes(total * rounded.other)}, or half of that if its numbers are float32: each is then rounded to one of 255 `
        + 'steps of its block of 32, and that is what all of the page shows.';
}

/** @param {Pick<WholeModel, 'weights'>} model */
const subject = ({ weights }) => (weights.length > 1 ? `The ${weights.length} weight files are` : `${weights[0]} is`);

/**
 * Returns one sentence if the sizes say that the model cannot be opened, otherwise null.
 *
 * @param {Pick<WholeModel, 'files' | 'weights'>} model
 */
export function unfit(model) {
    const { files, weights } = model;
    const empty = [...files].find(([name, file]) => name !== scores && file.size === 0);
    if (empty) {
        return `${empty[0]} is empty.`;
    }
    const total = weightBytes(model);
    if (total * (weights.some(isGguf) ? 1 : rounded.float32) > most) {
        return `${subject(model)} ${bytes(total)}; a browser tab can hold ${bytes(most)}: choose a smaller model.`;
    }
    const long = [...files].find(([name, file]) => !isWeights(name) && file.size > 1e8);
    return long ? `${long[0]} is ${bytes(long[1].size)}, too large for what it should hold.` : null;
}

/**
 * Returns the texts of the tokenizer's files, by name.
 *
 * @param {Files} files
 * @returns {Promise<Record<string, string>>}
 */
export async function tokenizerTexts(files) {
    const present = [...files].filter(([name]) => tokenizerFiles.includes(name));
    return Object.fromEntries(await Promise.all(present.map(async ([name, file]) => [name, await file.text()])));
}
