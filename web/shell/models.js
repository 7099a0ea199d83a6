// Opens a model: gathers its files, builds its tokenizer, reads its weights straight into the program's memory.
// The model that is open stays until the new one is complete and valid.

import { Cancelled, chunks, reading } from './file_chunks.js';
import { ModelFiles, bytes, listed, tokenizerTexts, unfit } from './model_files.js';
import { createTokenizer } from './tokenizer.js';

export class Models {
    #program;
    #tokens;
    #notices;
    #bundled;
    #gathered = new ModelFiles();
    #reading = null;  // {site, cancelled, done} while a model is being read

    constructor({ program, tokens, notices, bundled }) {
        this.#program = program;
        this.#tokens = tokens;
        this.#notices = notices;
        this.#bundled = bundled;
    }

    // One that comes with the site. `awaited`: not by a person but by the address, so it says only what goes wrong.
    openBundled(name, awaited = false) {
        return this.open(this.#bundled.entries(name), { site: name, awaited });
    }

    // [{path, file}] as they came from a drop, a file box or the site. True once a model is open.
    async open(entries, { site = null, awaited = false } = {}) {
        if (this.#reading?.awaited) {  // what a person opens goes before
            this.#reading.cancelled = true;
            await this.#reading.done;
        }
        if (this.#reading) {
            this.#notices.info('Another model is being read: wait for it, or cancel it first.');
            return false;
        }
        this.#reading = { awaited, cancelled: false };
        return this.#reading.done = this.#opened(entries, site);
    }

    async #opened(entries, site) {
        try {
            const { model, waiting } = await this.#gathered.add(entries);
            this.#notices.pending('files', waiting ?? null, () => this.#gathered.forget());
            return model ? await this.#read(model) : false;
        } catch (error) {
            if (!(error instanceof Cancelled)) {
                this.#notices.error(site ? `${site}, which comes with this page, cannot be opened: ${error.message}` : error.message);
            }
            return false;
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
            return false;  // the program has said why
        }
        const { context } = this.#program.modelInfo();
        this.#tokens.forEach((each) => each.adopt({ tokenizer, texts, context }));
        if (!this.#reading.awaited) {
            const without = model.ignored.length ? ` Not needed: ${listed(model.ignored)}.` : '';
            this.#notices.info(`${name} is open.${without}`);
        }
        return true;
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
                for await (const chunk of chunks(each, file, () => ticket.cancelled)) {
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
            }
            return true;
        } finally {
            progress.end();
        }
    }
}
