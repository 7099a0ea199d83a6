// Opens a model: gathers its files, builds its tokenizer, reads its weights straight into the program's memory.
// The model that is open stays until the new one is complete and valid.

import { ModelFiles, bytes, listed, tokenizerTexts, unfit } from './model_files.js';
import { createTokenizer } from './tokenizer.js';

class Cancelled extends Error {}

// A file of the site, with the parts of File that are used here.
function siteFile(path, size) {
    const get = async () => {
        const response = await fetch(new URL(path, document.baseURI));
        if (!response.ok) {
            throw new Error(`The server answered ${response.status}.`);
        }
        return response;
    };
    return {
        size,
        text: async () => (await get()).text(),
        chunks: async () => (await get()).body,
        trouble: 'check the connection, then try again',
    };
}

const chunksOf = (file) => file.chunks?.() ?? file.stream();

// Browsers word a failed reading in many ways.
async function reading(name, file, promise) {
    try {
        return await promise;
    } catch (error) {
        const trouble = file.trouble ?? 'it has moved or changed since it was chosen';
        throw new Error(`${name} could not be read: ${trouble}.`, { cause: error });
    }
}

export class Models {
    #program;
    #tokens;
    #notices;
    #manifest;
    #gathered = new ModelFiles();
    #reading = null;  // {cancelled} while a model is being read

    constructor({ program, tokens, notices, manifest }) {
        this.#program = program;
        this.#tokens = tokens;
        this.#notices = notices;
        this.#manifest = manifest;
    }

    // Names of the models that come with the site.
    get bundled() {
        return Object.keys(this.#manifest)
            .map((path) => /^models\/([^/]+)\/config\.json$/.exec(path)?.[1])
            .filter(Boolean);
    }

    openBundled(name = this.bundled[0]) {
        const folder = `models/${name}/`;
        return this.open(Object.entries(this.#manifest)
            .filter(([path]) => path.startsWith(folder))
            .map(([path, size]) => ({ path, file: siteFile(path, size) })));
    }

    // [{path, file}] as they came from a drop, a file box or the site.
    async open(entries) {
        if (this.#reading) {
            this.#notices.info('Another model is being read: wait for it, or cancel it first.');
            return;
        }
        this.#reading = { cancelled: false };
        try {
            const { model, waiting } = await this.#gathered.add(entries);
            this.#notices.pending('files', waiting ?? null, () => this.#gathered.forget());
            if (model) {
                await this.#read(model);
            }
        } catch (error) {
            if (!(error instanceof Cancelled)) {
                this.#notices.error(error.message);
            }
        } finally {
            this.#reading = null;
        }
    }

    async #read(model) {
        const problem = unfit(model);
        if (problem) {
            throw new Error(problem);
        }
        const config = await this.#config(model.files.get('config.json'));
        const texts = await reading('The tokenizer', model.files.get('config.json'), tokenizerTexts(model.files));
        const { Tokenizer } = await import('./tokenizers.min.mjs');
        const tokenizer = createTokenizer(texts, Tokenizer, config.vocab_size ?? config.text_config?.vocab_size);

        const name = model.name || config._name_or_path?.split('/').at(-1) || config.model_type || 'model';
        this.#program.modelName(name);
        let loaded = false;
        try {
            loaded = await this.#transfer(name, model) && this.#program.modelLoaded();
        } finally {
            if (!loaded) {
                this.#program.modelDiscard();
            }
        }
        if (!loaded) {
            return;  // the program has said why
        }
        const { context } = this.#program.modelInfo();
        this.#tokens.adopt({ tokenizer, texts, context });
        const without = model.ignored.length ? ` Not needed: ${listed(model.ignored)}.` : '';
        this.#notices.info(`${name} is open.${without}`);
    }

    async #config(file) {
        const text = await reading('config.json', file, file.text());
        try {
            const config = JSON.parse(text);
            if (config?.constructor === Object) {
                return config;
            }
        } catch {
            // Said below.
        }
        throw new Error('config.json is not a valid configuration.');
    }

    // All files that the program reads, in slices. False when the program refuses one.
    async #transfer(name, { files, weights }) {
        const ticket = this.#reading;
        const index = 'model.safetensors.index.json';
        const names = ['config.json', ...weights.includes('model.safetensors') ? [] : [index], ...weights];
        const total = names.reduce((sum, each) => sum + files.get(each).size, 0);
        let arrived = 0;
        const progress = this.#notices.progress(`Reading ${name}`, () => { ticket.cancelled = true; });
        try {
            for (const each of names) {
                const file = files.get(each);
                const address = this.#program.modelBuffer(each, file.size);
                if (address === 0) {
                    return false;
                }
                let written = 0;
                let header = each.endsWith('.safetensors') ? null : 0;  // bytes before the tensors; 0: checked
                for await (const chunk of this.#chunks(each, file, ticket)) {
                    if (written + chunk.length > file.size) {
                        throw new Error(`${each} is longer than it was said to be.`);
                    }
                    this.#program.write(address + written, chunk);
                    written += chunk.length;
                    arrived += chunk.length;
                    progress(`Reading ${name}: ${bytes(arrived)} of ${bytes(total)}`, arrived / total);
                    if (header === null && written >= 8) {
                        header = 8 + this.#program.readLength(address);
                    }
                    if (header && (written >= header || written === file.size)) {
                        if (!this.#program.modelHeaderAccepted(each)) {
                            return false;
                        }
                        header = 0;
                    }
                }
                if (written < file.size) {
                    throw new Error(`${each} did not arrive whole.`);
                }
            }
            return true;
        } finally {
            progress.end();
        }
    }

    async* #chunks(name, file, ticket) {
        const reader = (await reading(name, file, chunksOf(file))).getReader();
        try {
            for (;;) {
                const { done, value } = await reading(name, file, reader.read());
                if (ticket.cancelled) {
                    throw new Cancelled();
                }
                if (done) {
                    return;
                }
                yield value;
            }
        } finally {
            reader.cancel().catch(() => {});  // it has failed already
        }
    }
}
