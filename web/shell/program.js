// Wraps the program's exports as calls on plain values. This is the only module that accesses the program's
// memory.

/** @import { Look } from './theme.js' */
/** @import { Arguments, EncodedText, Exports, FileTokenizer } from './contract.d.ts' */
/** @import { Chosen, Module, Semantics, Table, Text } from './contract.d.ts' */

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** @typedef {(text: string, ids: Int32Array, total: number, pieces: string[]) => void} GiveTokens */

/**
 * A size in the program's format: the lower and the upper 32 bits.
 *
 * @param {number} size
 * @returns {[low: number, high: number]}
 */
const halves = (size) => [size >>> 0, Math.floor(size / 2 ** 32)];

export class Program {
    #module;

    /** @param {Module} module */
    constructor(module) {
        this.#module = module;
    }

    // Made anew at every use: when the memory grows, which a thread may cause, older views of it are
    // detached.
    get #heap() { return new Uint8Array(this.#module.wasmMemory.buffer); }

    /** @param {Uint8Array} bytes */
    #allocate(bytes) {
        const address = this.#module._malloc(Math.max(bytes.length, 1)) >>> 0;
        if (address === 0) {
            throw new Error('The page has run out of memory.');
        }
        this.#heap.set(bytes, address);
        return address;
    }

    /**
     * Calls an export. Text and bytes among the arguments are passed by address, for this call only.
     *
     * @template {keyof Exports} Name
     * @param {Name} name
     * @param {Arguments<Name>} given
     * @returns {ReturnType<Exports[Name]>}
     */
    #call(name, ...given) {
        /** @type {number[]} */
        const allocated = [];
        const pass = (/** @type {string | Uint8Array | number | boolean} */ value) => {
            if (typeof value !== 'string' && !(value instanceof Uint8Array)) {
                return Number(value);
            }
            const address = this.#allocate(typeof value === 'string' ? encoder.encode(`${value}\0`) : value);
            allocated.push(address);
            return address;
        };
        // At run time, every argument is a number.
        const called = /** @type {(...passed: number[]) => ReturnType<Exports[Name]>} */ (this.#module[name]);
        try {
            return called(...given.map(pass));
        } finally {
            allocated.forEach((address) => this.#module._free(address));
        }
    }

    /** @param {Text} address */
    #string(address) {
        const heap = this.#heap;
        // Shared memory cannot be decoded.
        return decoder.decode(heap.slice(address >>> 0, heap.indexOf(0, address >>> 0)));
    }

    /**
     * Copies the program's bytes.
     *
     * @param {number} address
     * @param {number} size
     */
    read(address, size) {
        return this.#heap.slice(address >>> 0, (address >>> 0) + size);
    }

    /**
     * @param {number} address
     * @param {Uint8Array} bytes
     */
    write(address, bytes) {
        this.#heap.set(bytes, address);
    }

    /**
     * @param {number} kind
     * @param {Uint8Array} bytes
     */
    font(kind, bytes) { this.#call('_explorer_font', kind, bytes, bytes.length); }

    /** @param {{model: string, layer: number, head: number}} opening */
    home({ model, layer, head }) { this.#call('_explorer_home', model, layer, head); }

    /**
     * @param {string[] | null} only what can be changed; null: everything
     */
    embed(only) { this.#call('_explorer_embed', only?.join(',') ?? '', only !== null); }

    /** @returns {[name: string, what: string][]} */
    changeable() { return JSON.parse(this.#string(this.#call('_explorer_changeable'))); }

    /** @returns {Chosen} */
    chosen() { return JSON.parse(this.#string(this.#call('_explorer_chosen'))); }

    /**
     * @param {number} width in millimetres
     * @param {string} caption
     * @param {string} link
     */
    figure(width, caption, link) { this.#call('_explorer_figure', width, caption, link); }

    picture() { this.#call('_explorer_picture'); }

    useThreads() { this.#call('_explorer_use_threads'); }

    meanwhile() { this.#call('_explorer_meanwhile'); }

    greet() { this.#call('_explorer_greet'); }

    /**
     * @param {string} text how far the user is in each lesson, as it was remembered
     * @param {string} draft of a lesson
     */
    keptLessons(text, draft) { this.#call('_explorer_kept_lessons', text, draft); }

    /** @param {string} list of the site's lessons, as JSON */
    lessons(list) { this.#call('_explorer_lessons', list); }

    /**
     * @param {string} name
     * @param {string} text
     */
    lesson(name, text) { this.#call('_explorer_lesson', name, text); }

    /**
     * @param {string} name
     * @param {string} why
     */
    lessonFailed(name, why) { this.#call('_explorer_lesson_failed', name, why); }

    /** @param {string} text */
    lessonFile(text) { this.#call('_explorer_lesson_file', text); }

    /**
     * @param {boolean} lenses
     * @param {boolean} explanations
     * @param {number} groups of lenses, as bits; a negative number leaves them unchanged
     */
    fold(lenses, explanations, groups) { this.#call('_explorer_fold', lenses, explanations, groups); }

    /**
     * @param {string} fragment
     * @param {Look & {reducedMotion: boolean, touch: boolean}} device
     */
    started(fragment, { dark, contrast, reducedMotion, touch }) {
        return this.#call('_explorer_start', fragment, dark, contrast, reducedMotion, touch) !== 0;
    }

    draw() { this.#call('_explorer_draw'); }

    /** @param {string} fragment */
    fragment(fragment) { this.#call('_explorer_fragment', fragment); }

    /** @param {Look} look */
    theme({ dark, contrast }) { this.#call('_explorer_theme', dark, contrast); }

    /** @param {number} scale */
    scale(scale) { this.#call('_explorer_scale', scale); }

    wake() { this.#call('_explorer_wake'); }

    pressedElsewhere() { this.#call('_explorer_pressed_elsewhere'); }

    /**
     * @param {number} box
     * @param {string} text
     */
    sentence(box, text) { this.#call('_explorer_sentence', box, text); }

    /**
     * @param {number} box
     * @param {Parameters<GiveTokens>} given
     */
    tokens(box, ...[text, ids, total, pieces]) {
        const bytes = new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength);
        this.#call('_explorer_tokens', box, text, bytes, ids.length, total, JSON.stringify(pieces));
    }

    /**
     * @param {string} name
     * @param {boolean} readsAlike its tokenizer has the same tokens as the open model's
     */
    modelName(name, readsAlike) { this.#call('_explorer_model_name', name, readsAlike); }

    /**
     * Returns one sentence if a model with this config.json cannot be opened, or an empty text.
     *
     * @param {Uint8Array} config
     */
    modelRefusal(config) { return this.#string(this.#call('_explorer_model_refusal', config, config.length)); }

    /**
     * @param {string} name
     * @param {number} size
     */
    modelBuffer(name, size) { return this.#call('_explorer_model_buffer', name, ...halves(size)) >>> 0; }

    /**
     * Returns how many first bytes of a weight file are needed to check its header; 0: it is checked, -1: it
     * is refused.
     *
     * @param {string} name
     * @param {number} written
     */
    modelHeaderNeeds(name, written) { return this.#call('_explorer_model_check_header', name, ...halves(written)); }

    /**
     * Hands over the next bytes of a weight file whose matrices are rounded to 8 bits. Returns false if the
     * program refuses it.
     *
     * @param {string} name
     * @param {number} size
     * @param {Uint8Array} part
     */
    modelRounded(name, size, part) { return this.#call('_explorer_model_rounded', name, ...halves(size), part, part.length) === 0; }

    /** @returns {FileTokenizer | null} the one in the files that have arrived */
    modelTokenizer() { return JSON.parse(this.#string(this.#call('_explorer_model_tokenizer')) || 'null'); }

    /**
     * @param {string} text
     * @param {boolean} ends
     * @returns {EncodedText}
     */
    modelEncode(text, ends) {
        const bytes = encoder.encode(text);
        return JSON.parse(this.#string(this.#call('_explorer_model_encode', bytes, bytes.length, ends)));
    }

    modelLoaded() { return this.#call('_explorer_model_load') === 0; }
    modelFailed() { this.#call('_explorer_model_failed'); }
    modelDiscard() { this.#call('_explorer_model_discard'); }
    modelContext() { return this.#call('_explorer_model_context'); }

    /**
     * @param {string} name
     * @param {number} size
     */
    tensorsBuffer(name, size) { return this.#call('_explorer_tensors_buffer', name, ...halves(size)) >>> 0; }

    tensorsArrived() { this.#call('_explorer_tensors_arrived'); }
    tensorsDiscard() { this.#call('_explorer_tensors_discard'); }

    /**
     * @param {string} name
     * @param {number} size
     */
    archiveBuffer(name, size) { return this.#call('_explorer_archive_buffer', name, ...halves(size)) >>> 0; }

    archiveArrived() { this.#call('_explorer_archive_arrived'); }
    archiveDiscard() { this.#call('_explorer_archive_discard'); }

    /** @param {string} text */
    paste(text) { this.#call('_explorer_paste', text); }

    /**
     * @param {string} key
     * @param {string} text
     * @param {boolean} entered
     * @param {number} caret
     */
    field(key, text, entered, caret) { this.#call('_explorer_field', key, text, entered, caret); }

    /** @returns {Semantics} */
    semantics() { return JSON.parse(this.#string(this.#call('_explorer_semantics'))); }

    /**
     * @param {string} key
     * @param {number} row
     * @param {number} col
     */
    focusNode(key, row, col) { this.#call('_explorer_focus_node', key, row, col); }

    /**
     * @param {string} key
     * @param {number} row
     * @param {number} col
     */
    pressNode(key, row, col) { this.#call('_explorer_press_node', key, row, col); }

    /**
     * @param {string} key
     * @param {number} steps
     */
    stepNode(key, steps) { this.#call('_explorer_step_node', key, steps); }

    palette() { this.#call('_explorer_palette'); }

    /** Says whether something is too long for the address. */
    linkLeavesOut() { return Boolean(this.#call('_explorer_link_leaves_out')); }

    undo() { this.#call('_explorer_undo'); }
    redo() { this.#call('_explorer_redo'); }

    /** @returns {Table[]} */
    tables() { return JSON.parse(this.#string(this.#call('_explorer_tables'))); }

    /**
     * @param {number} which
     * @param {'cells' | 'markdown' | 'shades' | 'csv'} form
     */
    tableText(which, form) { return this.#string(this.#call('_explorer_table_text', which, form)); }

    copyText() { return this.#string(this.#call('_explorer_copy_text')); }

    contextLost() { this.#call('_explorer_context_lost'); }
    contextRestored() { this.#call('_explorer_context_restored'); }
}
