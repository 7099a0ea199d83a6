// The models that come with the site, models/NAME/ in its manifest, and the one that the page opens with.

import { get } from './loading.js';
import { isModelFile } from './model_files.js';

// A file of the site, with the parts of File that are used here.
class SiteFile {
    trouble = 'check the connection, then try again';
    #early = null;
    #text = null;

    constructor(path, size) {
        this.path = path;
        this.size = size;
    }

    // Starts to fetch what will be read once. The whole of it may arrive before anybody reads.
    prefetch() {
        this.#early = this.#fetch();
        this.#early.catch(() => {});  // whoever reads it hears of it
    }

    async #fetch() {
        const { body } = await get(this.path, { priority: 'low' });  // the program goes before
        return body.pipeThrough(new TransformStream({}, undefined, new ByteLengthQueuingStrategy({ highWaterMark: this.size })));
    }

    #take() {
        const early = this.#early ?? this.#fetch();
        this.#early = null;
        return early;
    }

    // A file that has been read as a text is not fetched again.
    async chunks() { return this.#text === null ? this.#take() : new Response(this.#text).body; }
    async text() { return this.#text ??= await new Response(await this.#take()).text(); }
}

export class Bundled {
    #models = new Map();  // name -> Map file name -> SiteFile

    constructor(manifest) {
        for (const [path, size] of Object.entries(manifest)) {
            const [, model, file] = /^models\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
            if (model) {
                this.#models.set(model, (this.#models.get(model) ?? new Map()).set(file, new SiteFile(path, size)));
            }
        }
    }

    get names() {
        return [...this.#models.keys()].filter((name) => this.#models.get(name).has('config.json'));
    }

    // The one that the page opens with: its heads have been measured. Undefined where there is none.
    get first() {
        return this.names.find((name) => ['model.safetensors', 'tokenizer.json', 'scores.json'].every((file) => this.#models.get(name).has(file)));
    }

    // [{path, file}], as from a drop.
    entries(name) {
        return [...this.#models.get(name)].filter(([file]) => isModelFile(file)).map(([, file]) => ({ path: file.path, file }));
    }

    prefetch(name) {
        this.entries(name).forEach(({ file }) => file.prefetch());
    }

    // Of the first model the head that resolves most pronouns: {model, layer, head}. Throws an Error of one sentence.
    async opening() {
        const scores = this.#models.get(this.first).get('scores.json');
        let heads;
        try {
            heads = JSON.parse(await scores.text()).heads.filter(({ pronoun_right: right }) => Number.isFinite(right));
        } catch {
            heads = [];
        }
        if (heads.length === 0) {
            throw new Error(`${scores.path} does not tell which head resolves pronouns, so the page opens with the worked example.`);
        }
        const { layer, head } = heads.reduce((best, each) => (each.pronoun_right > best.pronoun_right ? each : best));
        return { model: this.first, layer, head };
    }
}
