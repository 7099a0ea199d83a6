// Hands a sentence's tokens to the program, by the open model's tokenizer.

const long = 4000;  // characters; longer texts are split in a worker
const remembered = 1000;

function startWorker(texts) {
    const worker = new Worker(new URL('tokenizer_worker.js', import.meta.url), { type: 'module' });
    worker.postMessage(texts);
    return worker;
}

export class Tokens {
    #give;
    #box;
    #open = null;            // {tokenizer, texts, context, worker}
    #given = null;           // what the program has: {text, ids, base}; base: the text that generation began with
    #generated = new Map();  // by text, what was given with a base: undo must not split such a text anew
    #ticket = 0;

    // give(text, ids, total, pieces): to the program.
    constructor(box, give) {
        this.#box = box;
        this.#give = give;
    }

    // {tokenizer, texts, context} of the model that the program has just opened; it is about to set the sentence anew.
    adopt(model) {
        this.#open?.worker?.terminate();
        this.#open = { ...model, worker: null };
        this.#given = null;
        this.#generated.clear();
    }

    // The program has none any more.
    forget() {
        ++this.#ticket;
        this.#given = null;
    }

    // The tokens of `text`, unless the program has them. Of several texts in a row the last one wins.
    async hand(text) {
        const ticket = ++this.#ticket;
        if (!this.#open || text === this.#given?.text) {
            this.#box.fault(null);
            return;
        }
        const known = this.#generated.get(text);
        if (known) {
            this.#hand(known);
            return;
        }
        const { ids, fault } = await this.#encode(text);
        if (ticket !== this.#ticket) {
            return;
        }
        this.#box.fault(fault);
        if (!fault) {
            this.#hand({ text, ids, base: null });
        }
    }

    // A generated token: the ids so far stay as they are, the text grows by what the new ones read as. A text
    // that the person has changed meanwhile stays theirs.
    append(id) {
        const given = this.#given;
        if (!given || this.#box.text !== given.text) {
            return;
        }
        const { tokenizer } = this.#open;
        const base = given.base ?? given;
        const ids = Int32Array.of(...given.ids, id);
        const text = base.text + tokenizer.decode(ids).slice(tokenizer.decode(base.ids).length);
        ++this.#ticket;
        this.#box.show(text);
        this.#hand({ text, ids, base });
    }

    // JSON of how ids read.
    pieces(ids) {
        return JSON.stringify(Array.from(ids, (id) => this.#open?.tokenizer.piece(id) ?? `#${id}`));
    }

    async #encode(text) {
        const open = this.#open;
        if (text.length <= long) {
            return open.tokenizer.encode(text);
        }
        open.worker ??= startWorker(open.texts);
        const { port1, port2 } = new MessageChannel();
        open.worker.postMessage(text, [port2]);
        return Promise.race([
            new Promise((resolve) => { port1.onmessage = ({ data }) => resolve(data); }),
            new Promise((resolve) => { open.worker.onerror = () => resolve(open.tokenizer.encode(text)); }),
        ]);
    }

    #hand(given) {
        const { text, ids, base } = this.#given = given;
        if (base) {
            this.#generated.set(base.text, base).set(text, given);
            if (this.#generated.size > remembered) {
                this.#generated.delete(this.#generated.keys().next().value);
            }
        }
        this.#box.fault(null);
        const { tokenizer, context } = this.#open;
        const first = ids.subarray(0, context);
        this.#give(text, first, ids.length, Array.from(first, tokenizer.piece));
    }
}
