// Finds the models that come with the site, models/NAME/ in its manifest, and the one that the page opens
// with.

import { counter, get } from './loading.js';
import { isGguf, isModelFile } from './model_files.js';

/**
 * @import { Entry, SourceFile } from './file_chunks.js'
 * @import { Manifest } from './loading.js'
 */

/**
 * A file of the site, with the parts of File that are used here.
 *
 * @implements {SourceFile}
 */
class SiteFile {
    trouble = 'check the connection, then try again';
    /** @type {Promise<ReadableStream<Uint8Array>> | null} */
    #early = null;
    /** @type {Promise<string> | null} What is read as text is not fetched again. */
    #text = null;
    /** Bytes that have come. */
    arrived = 0;

    /**
     * @param {string} path
     * @param {number} size
     */
    constructor(path, size) {
        this.path = path;
        this.size = size;
    }

    /** Starts fetching a file that will be read once. It may arrive completely before anybody reads. */
    prefetch() {
        if (this.#text) {
            return;
        }
        const early = this.#early = this.#fetch();
        early.catch(() => {});  // the later reader learns of the error
    }

    /** @returns {Promise<ReadableStream<Uint8Array>>} */
    async #fetch() {
        const { body } = await get(this.path, { priority: 'low' });  // the program has priority
        if (!body) {
            throw new Error(`${this.path} has come without bytes.`);
        }
        this.arrived = 0;
        return body.pipeThrough(counter((bytes) => { this.arrived += bytes; }, new ByteLengthQueuingStrategy({ highWaterMark: this.size })));
    }

    #take() {
        const early = this.#early ?? this.#fetch();
        this.#early = null;
        return early;
    }

    async stream() { return this.#text ? new Blob([await this.#text]).stream() : this.#take(); }

    text() {
        return this.#text ??= this.#take().then((body) => new Response(body).text()).catch((error) => {
            this.#text = null;  // the next reader tries again
            throw error;
        });
    }
}

export class Bundled {
    /** @type {Map<string, Map<string, SiteFile>>} The files of each model, by name. */
    #models = new Map();

    /**
     * Tensors that a page which is one file opens with.
     *
     * @type {Entry[]}
     */
    tensors = [];

    /** @param {Manifest} manifest */
    constructor(manifest) {
        for (const [path, size] of Object.entries(manifest)) {
            const [, model, file] = /^models\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
            if (model) {
                const name = decodeURIComponent(model);
                this.#models.set(name, this.#files(name).set(file, new SiteFile(path, size)));
            } else if (path.startsWith('tensors/')) {
                this.tensors.push({ path: path.slice('tensors/'.length), file: new SiteFile(path, size) });
            }
        }
    }

    /**
     * @param {string} name
     * @returns {Map<string, SiteFile>}
     */
    #files(name) {
        return this.#models.get(name) ?? new Map();
    }

    /** Models whose heads have been measured come first. */
    get names() {
        /** @param {string} name */
        const measured = (name) => Number(this.#files(name).has('scores.json'));
        return [...this.#models.keys()].filter((name) => [...this.#files(name).keys()].some((file) => file === 'config.json' || isGguf(file)))
            .sort((a, b) => measured(b) - measured(a));
    }

    /** The model that the page opens with; its heads have been measured. Undefined if there is none. */
    get first() {
        return this.names.find((name) => ['model.safetensors', 'tokenizer.json', 'scores.json'].every((file) => this.#files(name).has(file)));
    }

    /**
     * Returns its files, as if they had been dropped.
     *
     * @param {string} name
     * @returns {Entry[]}
     */
    entries(name) {
        return this.#wanted(name).map((file) => ({ path: file.path, file }));
    }

    /** @param {string} name */
    prefetch(name) {
        this.#wanted(name).forEach((file) => file.prefetch());
    }

    /**
     * The share of a model's bytes that have come, 0 to 1.
     *
     * @param {string} name
     */
    share(name) {
        const files = this.#wanted(name);
        const sum = (/** @type {'arrived' | 'size'} */ what) => files.reduce((total, file) => total + file[what], 0);
        return sum('arrived') / sum('size');
    }

    /** @param {string} name */
    #wanted(name) {
        return [...this.#files(name)].filter(([file]) => isModelFile(file) || isGguf(file)).map(([, file]) => file);
    }

    /**
     * Returns the first model and its head that resolves most pronouns, or null if there is none. Throws an
     * Error of one sentence.
     */
    async opening() {
        const model = this.first;
        const scores = model && this.#files(model).get('scores.json');
        if (!scores) {
            return null;
        }
        /** @type {{layer: number, head: number, pronoun_right: number}[]} */
        let heads = [];
        try {
            ({ heads } = JSON.parse(await scores.text()));
            heads = heads.filter(({ pronoun_right: right }) => Number.isFinite(right));
        } catch {
            heads = [];
        }
        if (heads.length === 0) {
            throw new Error(`${scores.path} does not tell which head resolves pronouns, so the page opens with the worked example.`);
        }
        const { layer, head } = heads.reduce((best, each) => (each.pronoun_right > best.pronoun_right ? each : best));
        return { model, layer, head };
    }
}
