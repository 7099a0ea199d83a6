// Finds which files of a repository make a model here: safetensors with the files they need, or one of its
// .gguf files. This needs no document.

import { HubError } from './hub.js';
import { fitsRounded, isModelFile, listed, unfit } from './model_files.js';

/** @import { Hub, Listed, Repository } from './hub.js' */

/**
 * A model that can be loaded: its files, the small ones first, and its name within the repository.
 *
 * @typedef {{name: string, file: string, files: Listed[], weights: Listed[]}} Choice
 */

const index = 'model.safetensors.index.json';
const part = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/;

/** @param {Listed[]} files */
export const sizeOf = (files) => files.reduce((sum, { size }) => sum + size, 0);

/**
 * Groups the .gguf files, with the parts of a split one together. An image projector is not a model by
 * itself.
 *
 * @param {Listed[]} files
 * @returns {Choice[]}
 */
function ggufs(files) {
    /** @type {Map<string, Listed[]>} */
    const models = new Map();
    for (const file of files.filter(({ path }) => path.endsWith('.gguf') && !/(^|\/)mmproj/i.test(path))) {
        const [, stem, , count] = part.exec(file.path) ?? [];
        const key = stem === undefined ? file.path : `${stem} ${count}`;
        models.set(key, [...models.get(key) ?? [], file]);
    }
    return [...models.values()]
        .map((parts) => parts.sort((a, b) => (a.path < b.path ? -1 : 1)))
        .filter(([first, ...rest]) => rest.length + 1 === Number(part.exec(first.path)?.[3] ?? 1))
        .map((parts) => ({ name: parts[0].path.replace(part, '$1.gguf'), file: parts[0].path, files: parts, weights: parts }))
        .sort((a, b) => sizeOf(a.files) - sizeOf(b.files));
}

/**
 * @param {string} text of an index
 * @returns {string[]}
 */
function shardsIn(text) {
    try {
        return [...new Set(Object.values(JSON.parse(text).weight_map).map(String))];
    } catch {
        return [];
    }
}

/**
 * Returns the safetensors at the top of the repository with the files they need, or null if there are none.
 *
 * @param {Hub} hub
 * @param {Repository} repository
 * @returns {Promise<Choice | null>}
 */
async function safetensors(hub, repository) {
    const at = new Map(repository.files.map((file) => [file.path, file]));
    const whole = at.get('model.safetensors');
    const shards = at.get(index);
    if (!whole && !shards) {
        return null;
    }
    const names = whole || !shards ? ['model.safetensors'] : shardsIn(new TextDecoder().decode(await hub.bytesOf(repository, shards)));
    const weights = names.flatMap((name) => at.get(name) ?? []);
    const lacking = names.filter((name) => !at.has(name));
    if (lacking.length || weights.length === 0) {
        throw new HubError(`${index} of ${repository.repository} names ${listed(lacking) || 'no shards'}${lacking.length ? ', which the repository does not have' : ''}: choose another revision.`);
    }
    const spare = at.has('tokenizer.json') ? ['vocab.json', 'merges.txt', 'vocab.txt'] : [];
    const beside = repository.files.filter(({ path, size }) => isModelFile(path) && !path.endsWith('.safetensors') && (path !== index || !whole) && !spare.includes(path) && size > 0);
    if (!at.has('config.json')) {
        throw new HubError(`${repository.repository} has weights but no config.json, which says what they are: choose another repository.`);
    }
    if (!['tokenizer.json', 'vocab.txt', 'vocab.json'].some((name) => at.has(name))) {
        throw new HubError(`${repository.repository} has no tokenizer.json (nor vocab.json or vocab.txt), which splits texts into tokens: choose another repository.`);
    }
    return { name: weights.length > 1 ? `${weights.length} shards` : 'model.safetensors', file: '', files: [...beside, ...weights], weights };
}

/**
 * Returns what can be loaded from the repository: the safetensors first, then .gguf files by size. Throws a
 * HubError if there is nothing.
 *
 * @param {Hub} hub
 * @param {Repository} repository
 * @returns {Promise<Choice[]>}
 */
export async function choicesOf(hub, repository) {
    const others = ggufs(repository.files);
    const first = await safetensors(hub, repository).catch((error) => {
        if (others.length === 0) {
            throw error;
        }
        return null;
    });
    const choices = [...first ? [first] : [], ...others];
    if (choices.length === 0) {
        const pickled = repository.files.find(({ path }) => /(^|\/)[^/]*\.(bin|pt|pth|ckpt)$/.test(path));
        throw new HubError(pickled
            ? `${repository.repository} has its weights as ${pickled.path.split('/').at(-1)} alone, which may hold programs and is not read here: choose one with model.safetensors, or a revision that has it (refs/pr/… of a conversion).`
            : `${repository.repository} holds no weights that open here, neither model.safetensors nor .gguf: choose another repository.`);
    }
    return choices;
}

/**
 * Returns one sentence if the sizes say that a tab cannot hold it, otherwise null.
 *
 * @param {Choice} choice
 */
export const tooLarge = (choice) => unfit(sized(choice));

/**
 * Says whether a tab can hold it only with its matrices rounded to 8 bits, which the user is asked about when
 * it opens.
 *
 * @param {Choice} choice
 */
export const onlyRounded = (choice) => fitsRounded(sized(choice)) !== null;

/** @param {Choice} choice */
function sized({ files, weights }) {
    const all = files.map((file) => /** @type {const} */ ([file.path, { size: file.size, text: async () => '', stream: () => new Blob().stream() }]));
    return { files: new Map(all), weights: weights.map(({ path }) => path) };
}
