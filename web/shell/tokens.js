// Hands a sentence's tokens to the program, by the open model's tokenizer.

import { isOneFile } from './site_files.js';

/**
 * @import { SpecialTokens } from './contract.d.ts'
 * @import { GiveTokens } from './program.js'
 * @import { SentenceBox } from './sentence.js'
 * @import { Encoded, Tokenizer } from './tokenizer.js'
 * @import { Texts } from './tokenizer_files.js'
 */

/**
 * An open model: its tokenizer, the tokenizer's files (null if the program has it), and how many tokens the
 * model takes.
 *
 * @typedef {{tokenizer: Tokenizer, texts: Texts | null, context: number}} OpenModel
 */

/**
 * The program has these tokens; `base` is what it had when generation began.
 *
 * @typedef {{text: string, ids: Int32Array, base: GivenTokens | null}} GivenTokens
 */

const long = 4000;  // characters; longer texts are split in a worker, unless the program splits them
const remembered = 1000;

/** @param {Texts} texts */
function startWorker(texts) {
    const worker = new Worker(new URL('tokenizer_worker.js', import.meta.url), { type: 'module' });
    worker.postMessage(texts);
    return worker;
}

export class Tokens {
    #give;
    #box;
    /** @type {OpenModel | null} */
    #open = null;
    /** @type {Worker | null} */
    #worker = null;
    /** @type {GivenTokens | null} */
    #given = null;
    /** @type {Map<string, GivenTokens>} Generated texts: undo must not split such a text again. */
    #generated = new Map();
    #ticket = 0;

    /** A model continues the text, so it has no tokens at its ends. */
    continued = false;

    /**
     * @param {SentenceBox} box
     * @param {GiveTokens} give hands tokens to the program
     */
    constructor(box, give) {
        this.#box = box;
        this.#give = give;
    }

    /**
     * The program has just opened this model, and is about to set the sentence again.
     *
     * @param {OpenModel} model
     */
    adopt(model) {
        this.#worker?.terminate();
        this.#worker = null;
        this.#open = model;
        this.#given = null;
        this.#generated.clear();
    }

    /**
     * Says whether every id is the same token as in the open model.
     *
     * @param {Tokenizer} tokenizer
     */
    readsAlike(tokenizer) {
        return this.#open?.tokenizer.vocabulary.length === tokenizer.vocabulary.length
            && tokenizer.vocabulary.every((token, id) => token === this.#open?.tokenizer.vocabulary[id]);
    }

    /** The program no longer has tokens. */
    forget() {
        ++this.#ticket;
        this.#given = null;
    }

    /**
     * Hands over the tokens of a text, unless the program has them. If several texts come in a row, the last
     * one wins.
     *
     * @param {string} text
     */
    async hand(text) {
        const ticket = ++this.#ticket;
        const open = this.#open;
        if (!open || text === this.#given?.text) {
            this.#box.fault(null);
            return;
        }
        const known = this.#generated.get(text);
        if (known) {
            this.#hand(known, open);
            return;
        }
        const { ids, fault } = await this.#encode(text, open);
        if (ticket !== this.#ticket) {
            return;
        }
        this.#box.fault(fault);
        if (!fault) {
            this.#hand({ text, ids, base: null }, open);
        }
    }

    /**
     * Appends a generated token: the ids so far stay the same, and the text grows by the text of the new one.
     * A text that the user has changed meanwhile stays theirs.
     *
     * @param {number} id
     */
    append(id) {
        const open = this.#open, given = this.#given;
        if (!open || !given || this.#box.text !== given.text) {
            return;
        }
        const { tokenizer } = open;
        const base = given.base ?? given;
        const ids = Int32Array.of(...given.ids, id);
        const text = base.text + tokenizer.decode(ids).slice(tokenizer.decode(base.ids).length);
        ++this.#ticket;
        this.#box.show(text);
        this.#hand({ text, ids, base }, open);
    }

    /**
     * Replaces `count` tokens of the text. A text that the user has changed meanwhile stays theirs.
     *
     * @param {number} first
     * @param {number} count
     * @param {number[]} ids
     */
    write(first, count, ids) {
        const open = this.#open, given = this.#given;
        if (!open || !given || this.#box.text !== given.text) {
            return;
        }
        const text = open.tokenizer.rewrite(given.text, given.ids, { first, count }, ids);
        this.#box.show(text);
        this.hand(text);
    }

    /** @returns {SpecialTokens} */
    get special() {
        return this.#open?.tokenizer.special ?? { mask: null, separator: null, all: [] };
    }

    /**
     * Returns how ids are shown, each separately, as JSON.
     *
     * @param {number[]} ids
     */
    pieces(ids) {
        return JSON.stringify(Array.from(ids, (id) => this.#open?.tokenizer.pieces([id])[0] ?? `#${id}`));
    }

    /**
     * Splits a short text at once, as JSON.
     *
     * @param {string} text
     */
    split(text) {
        const { ids, fault } = this.#open?.tokenizer.encode(text, { special: true }) ?? { ids: [], fault: null };
        return JSON.stringify(fault ? [] : Array.from(ids));
    }

    /**
     * @param {string} text
     * @param {OpenModel} open
     * @returns {Promise<Encoded>}
     */
    async #encode(text, { tokenizer, texts }) {
        const special = !this.continued;
        if (text.length <= long || !texts || isOneFile()) {
            return tokenizer.encode(text, { special });
        }
        const worker = this.#worker ??= startWorker(texts);
        const { port1, port2 } = new MessageChannel();
        worker.postMessage({ text, special }, [port2]);
        return new Promise((resolve) => {
            port1.onmessage = ({ data }) => resolve(data);
            worker.onerror = () => resolve(tokenizer.encode(text, { special }));
        });
    }

    /**
     * @param {GivenTokens} given
     * @param {OpenModel} open
     */
    #hand(given, { tokenizer, context }) {
        const { text, ids, base } = this.#given = given;
        if (base) {
            this.#generated.set(base.text, base).set(text, given);
            if (this.#generated.size > remembered) {
                const [oldest] = this.#generated.keys();
                this.#generated.delete(oldest);
            }
        }
        this.#box.fault(null);
        const first = ids.subarray(0, context);
        this.#give(text, first, ids.length, tokenizer.pieces(first));
    }
}
