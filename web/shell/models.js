// Opens a model: gathers its files, builds its tokenizer, reads its weights straight into the program's
// memory. The open model stays until the new one is complete and valid.

import { Cancelled, chunks, reading } from './file_chunks.js';
import { createFileTokenizer } from './file_tokenizer.js';
import { placeOfLink, shownNameOf } from './hub.js';
import { ModelFiles, bytes, fitsRounded, listed, sizeOf, tokenizerTexts, unfit } from './model_files.js';
import { opened } from './one_file.js';
import { reasonOf } from './reason.js';
import { importFile } from './site_files.js';
import { createTokenizer } from './tokenizer.js';

/**
 * @import { Bundled } from './bundled.js'
 * @import { Entry, SourceFile } from './file_chunks.js'
 * @import { WholeModel } from './model_files.js'
 * @import { Notices } from './notices.js'
 * @import { Opened } from './one_file.js'
 * @import { Program } from './program.js'
 * @import { OpenModel, Tokens } from './tokens.js'
 */

/**
 * How a model of the hub is named in links and for users; others are named after their folder. `rounded`: its
 * matrices are held in 8 bits.
 *
 * @typedef {{link: string, shown: string, rounded: boolean}} Named
 */

/**
 * A config.json, as far as it is read here.
 *
 * @typedef {object} Config
 * @property {number} [vocab_size]
 * @property {{vocab_size?: number}} [text_config]
 * @property {string} [_name_or_path]
 * @property {string} [model_type]
 */

/**
 * A model that was read, under its name, and whether it is open: the program may have refused it.
 *
 * @typedef {{name: string, open: boolean}} Read
 */

/**
 * A model being opened. It is `awaited` if the address asked for it and not the user; then only failures are
 * reported.
 *
 * @typedef {{awaited: boolean, cancelled: boolean, done?: Promise<boolean>}} Ticket
 */

/**
 * @param {WholeModel} model
 * @param {string} name
 */
function fileOf({ files }, name) {
    const file = files.get(name);
    if (!file) {
        throw new Error(`${name} is missing.`);
    }
    return file;
}

export class Models {
    #program;
    #tokens;
    #notices;
    #bundled;
    #gathered = new ModelFiles();
    /** @type {Ticket | null} */
    #reading = null;
    /** @type {Opened | null} The open model. */
    opened = null;

    /** @param {{program: Program, tokens: Tokens[], notices: Notices, bundled: Bundled}} parts */
    constructor({ program, tokens, notices, bundled }) {
        this.#program = program;
        this.#tokens = tokens;
        this.#notices = notices;
        this.#bundled = bundled;
    }

    /**
     * Opens a model that comes with the site.
     *
     * @param {string} name
     */
    openBundled(name, awaited = false) {
        const place = placeOfLink(name);  // in a page that is one file, it may be of the hub
        return this.open(this.#bundled.entries(name), { site: name, awaited, ...place && { link: name, shown: shownNameOf(place) } });
    }

    /**
     * Resolves to whether a model is open afterwards. `site` is its name if it comes with the site. `link`
     * and `shown` name a model of the hub, in links and for users; others are named after their folder.
     * `rounded` requests 8 bits.
     *
     * @param {Entry[]} entries
     */
    async open(entries, { site = '', awaited = false, link = '', shown = '', rounded = false } = {}) {
        if (this.#reading?.awaited) {  // the user's choice has priority
            this.#reading.cancelled = true;
            await this.#reading.done;
        }
        if (this.#reading) {
            this.#notices.info('Another model is being read: wait for it, or cancel it first.');
            return false;
        }
        /** @type {Ticket} */
        const ticket = this.#reading = { awaited, cancelled: false };
        return ticket.done = this.#opened(entries, { site, link, shown, rounded }, ticket);
    }

    /**
     * @param {Entry[]} entries
     * @param {Named & {site: string}} named
     * @param {Ticket} ticket
     */
    async #opened(entries, { site, ...named }, ticket) {
        this.#notices.renew();
        try {
            const { model, waiting } = await this.#gathered.add(entries);
            this.#notices.pending('files', waiting ?? null, () => this.#gathered.forget());
            return model ? await this.#read(model, named, ticket) : false;
        } catch (error) {
            if (!(error instanceof Cancelled)) {
                const reason = reasonOf(error);
                this.#notices.error(site ? `${site}, which comes with this page, cannot be opened: ${reason}` : reason);
            }
            return false;
        } finally {
            this.#reading = null;
        }
    }

    /**
     * @param {WholeModel} model
     * @param {Named} named
     * @param {Ticket} ticket
     */
    async #read(model, named, ticket) {
        const problem = unfit(model);
        if (problem) {
            throw new Error(problem);
        }
        const offered = named.rounded ? null : fitsRounded(model);
        if (offered) {
            const entries = [...model.files].map(([name, file]) => ({ path: `${model.name}/${name}`, file }));
            this.#notices.offer('rounded', offered, 'Open in 8 bits', () => this.open(entries, { ...named, rounded: true }));
            return false;
        }
        const { name, open } = await (model.gguf ? this.#fromGguf(model, named, ticket) : this.#fromFolder(model, named, ticket));
        if (!open) {
            return false;  // the program has said why
        }
        const folder = `models/${encodeURIComponent(named.link || name)}`;
        this.opened = opened('sentence', name, [...model.files].map(([path, file]) => ({ path: `${folder}/${path}`, file })));
        if (!ticket.awaited) {
            const without = model.ignored.length ? ` Not needed: ${listed(model.ignored)}.` : '';
            this.#notices.info(`${name} is open${named.rounded ? ', its matrices rounded to 8 bits' : ''}.${without}`);
        }
        return true;
    }

    /**
     * @param {WholeModel} model
     * @param {Named} named
     * @param {Ticket} ticket
     * @returns {Promise<Read>}
     */
    async #fromFolder(model, { link, shown, rounded }, ticket) {
        const file = fileOf(model, 'config.json');
        const config = await this.#config(file);
        const texts = await reading('The tokenizer', file, tokenizerTexts(model.files));
        const { Tokenizer } = await importFile('tokenizers.min.mjs');
        const tokenizer = createTokenizer(texts, Tokenizer, config.vocab_size ?? config.text_config?.vocab_size);

        const name = shown || model.name || config._name_or_path?.split('/').at(-1) || config.model_type || 'model';
        this.#program.modelName(link || name, this.#tokens[0].readsAlike(tokenizer));
        return this.#orDiscarded(async () => {
            const arrived = await this.#transfer(name, model, ticket, rounded);
            return { name, open: arrived && this.#loaded({ tokenizer, texts }) };
        });
    }

    /**
     * The file itself names the model and contains its tokenizer.
     *
     * @param {WholeModel} model
     * @param {Named} named
     * @param {Ticket} ticket
     */
    #fromGguf(model, { link, shown }, ticket) {
        const program = this.#program;
        const known = shown || model.name;
        program.modelName(link || known, false);
        return this.#orDiscarded(async () => {
            const arrived = await this.#transfer(known, model, ticket);
            const carried = arrived ? program.modelTokenizer() : null;
            const tokenizer = carried && createFileTokenizer(carried, (...asked) => program.modelEncode(...asked));
            const name = shown || carried?.name || known;
            if (tokenizer) {
                program.modelName(link || name, this.#tokens[0].readsAlike(tokenizer));
            }
            return { name, open: tokenizer !== null && this.#loaded({ tokenizer, texts: null }) };
        });
    }

    /**
     * The program takes the files that have arrived, and requests the tokens of its sentence right after, so
     * the tokenizer has to be ready. Returns false if the program refuses the model.
     *
     * @param {Pick<OpenModel, 'tokenizer' | 'texts'>} read
     */
    #loaded(read) {
        if (!this.#program.modelLoaded()) {
            return false;
        }
        const context = this.#program.modelContext();
        this.#tokens.forEach((each) => each.adopt({ ...read, context }));
        return true;
    }

    /**
     * If the model will not be opened, the program discards the files that have arrived.
     *
     * @param {() => Promise<Read>} read
     */
    async #orDiscarded(read) {
        let open = false;
        try {
            const answer = await read();
            open = answer.open;
            return answer;
        } finally {
            if (!open) {
                this.#program.modelDiscard();
            }
        }
    }

    /**
     * @param {SourceFile} file
     * @returns {Promise<Config>}
     */
    async #config(file) {
        const text = await reading('config.json', file, file.text());
        try {
            const config = JSON.parse(text);
            if (config?.constructor === Object) {
                return config;
            }
        } catch {
            // The error below says it.
        }
        throw new Error('config.json is not a valid configuration.');
    }

    /**
     * Hands over all files that the program reads, in slices. Resolves to false if the program refuses one.
     *
     * @param {string} name
     * @param {WholeModel} model
     * @param {Ticket} ticket
     */
    async #transfer(name, model, ticket, rounded = false) {
        const { files, weights, gguf } = model;
        const index = 'model.safetensors.index.json';
        const names = gguf ? weights : ['config.json', ...files.has('scores.json') ? ['scores.json'] : [], ...weights.includes('model.safetensors') ? [] : [index], ...weights];
        const total = names.reduce((sum, each) => sum + sizeOf(files, each), 0);
        let arrived = 0;
        const progress = this.#notices.progress(`Reading ${name}`, () => { ticket.cancelled = true; });
        try {
            for (const each of names) {
                const file = fileOf(model, each);
                const inParts = rounded && weights.includes(each);
                const address = inParts ? 0 : this.#program.modelBuffer(each, file.size);
                if (address === 0 && !inParts) {
                    return false;
                }
                let written = 0;
                // First bytes needed to check the header; 0: it is checked.
                let needed = weights.includes(each) && !inParts ? 1 : 0;
                for await (const chunk of chunks(each, file, () => ticket.cancelled)) {
                    if (!inParts) {
                        this.#program.write(address + written, chunk);
                    } else if (!this.#program.modelRounded(each, file.size, chunk)) {
                        return false;
                    }
                    written += chunk.length;
                    arrived += chunk.length;
                    progress(`Reading ${name}: ${bytes(arrived)} of ${bytes(total)}`, arrived / total);
                    if (needed && written >= needed) {
                        needed = this.#program.modelHeaderNeeds(each, written);
                        if (needed < 0) {
                            return false;
                        }
                    }
                }
            }
            return true;
        } finally {
            progress.end();
        }
    }
}
