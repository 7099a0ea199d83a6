// Which of the files a person hands over make a model, and what is still missing. No DOM: files are anything
// with a name, a size and text().

const tokenizerFiles = ['tokenizer.json', 'tokenizer_config.json', 'special_tokens_map.json', 'vocab.json', 'merges.txt', 'vocab.txt'];
const index = 'model.safetensors.index.json';
const shard = /^model-\d+-of-\d+\.safetensors$/;

const isWeights = (name) => name.endsWith('.safetensors');
export const isModelFile = (name) => name === 'config.json' || name === index || tokenizerFiles.includes(name) || isWeights(name);

// What only a model has: other .safetensors may hold anything.
export const isModelPart = (name) => isModelFile(name) && (!isWeights(name) || name === 'model.safetensors' || shard.test(name));

export function listed(names, most = 4) {
    const shown = names.length > most ? [...names.slice(0, most - 1), `${names.length - most + 1} more`] : names;
    return shown.length > 1 ? `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}` : shown.join('');
}

export function bytes(n) {
    const [unit, size] = n >= 1e9 ? ['GB', n / 1e9] : n >= 1e6 ? ['MB', n / 1e6] : ['kB', n / 1e3];
    return `${size.toFixed(size < 10 ? 1 : 0)} ${unit}`;
}

// The shards that an index names, or a sentence.
async function shardsOf(file) {
    try {
        return [...new Set(Object.values(JSON.parse(await file.text()).weight_map))];
    } catch {
        throw new Error(`${index} could not be read as an index of shards.`);
    }
}

async function weightsOf(files) {
    if (files.has('model.safetensors')) {
        return ['model.safetensors'];
    }
    if (files.has(index)) {
        return [index, ...await shardsOf(files.get(index))];
    }
    return [...files.keys()].some((name) => shard.test(name)) ? [index] : ['model.safetensors'];
}

function tokenizerOf(files) {
    const has = (name) => files.has(name);
    if (has('tokenizer.json') || has('vocab.txt')) {
        return [];
    }
    return has('vocab.json') ? ['merges.txt'] : has('merges.txt') ? ['vocab.json'] : ['tokenizer.json'];
}

async function missingFrom(files) {
    const needed = ['config.json', ...await weightsOf(files), ...tokenizerOf(files)];
    return needed.filter((name) => !files.has(name));
}

// [{path, file}] by folder: folder -> Map name -> file, recognised files only; the rest is named in `ignored`.
function byFolder(entries) {
    const folders = new Map();
    const ignored = [];
    for (const { path, file } of entries) {
        const [, folder, name] = /^(?:(.*)\/)?([^/]*)$/.exec(path);
        if (isModelFile(name)) {
            if (!folders.has(folder ?? '')) {
                folders.set(folder ?? '', new Map());
            }
            folders.get(folder ?? '').set(name, file);
        } else if (!name.startsWith('.')) {
            ignored.push(name);
        }
    }
    return { folders, ignored };
}

// Gathers files, in any order and from several drops, until they make a model.
export class ModelFiles {
    #pending = new Map();

    forget() {
        this.#pending = new Map();
    }

    // {model: {name, files: Map, weights: [names], ignored: [names]}} once complete, else {waiting: sentence}.
    // Throws an Error of one sentence where the entries cannot become one model.
    async add(entries) {
        const { folders, ignored } = byFolder(entries);
        if (folders.size === 0) {
            throw new Error(ignored.length
                ? `${listed(ignored)} ${ignored.length > 1 ? 'are' : 'is'} not part of a model: `
                    + 'config.json, model.safetensors and tokenizer.json are needed.'
                : 'There are no files in what was dropped.');
        }
        const complete = [];
        for (const [folder, files] of folders) {
            if ((await missingFrom(files)).length === 0) {
                complete.push(folder);
            }
        }
        const models = complete.length ? complete : [...folders.keys()].filter((folder) => folders.get(folder).has('config.json'));
        if (models.length > 1) {
            throw new Error(`There are two models or more (${listed(models.map((folder) => folder || 'loose files'))}): open one at a time.`);
        }
        if (complete.length === 1) {
            this.forget();
            return { model: await this.#describe(complete[0].split('/').at(-1), folders.get(complete[0]), ignored) };
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
            waiting: `${listed(here)} ${here.length > 1 ? 'are' : 'is'} here; still needed: ${listed(missing)}.`
                + (ignored.length ? ` Ignored: ${listed(ignored)}.` : ''),
        };
    }

    async #describe(name, files, ignored) {
        const weights = (await weightsOf(files)).filter(isWeights);
        const unused = [...files.keys()].filter((file) => isWeights(file) && !weights.includes(file));
        return { name, files, weights, ignored: [...unused, ...ignored] };
    }
}

const most = 2e9;

// One sentence where sizes say that the model cannot be opened, else null.
export function unfit({ files, weights }) {
    const empty = [...files].find(([, file]) => file.size === 0);
    if (empty) {
        return `${empty[0]} is empty.`;
    }
    const total = weights.reduce((sum, name) => sum + files.get(name).size, 0);
    if (total > most) {
        const what = weights.length > 1 ? `The ${weights.length} weight files are` : `${weights[0]} is`;
        return `${what} ${bytes(total)}; a browser tab can hold about 2 GB: choose a smaller model.`;
    }
    const long = [...files].find(([name, file]) => !isWeights(name) && file.size > 1e8);
    return long ? `${long[0]} is ${bytes(long[1].size)}, too large for what it should hold.` : null;
}

// The texts of the tokenizer's files, by name.
export async function tokenizerTexts(files) {
    const present = tokenizerFiles.filter((name) => files.has(name));
    return Object.fromEntries(await Promise.all(present.map(async (name) => [name, await files.get(name).text()])));
}
