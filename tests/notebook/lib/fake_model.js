// Stands for anywidget's model and for the kernel behind it, which answers as widget.py does: one chunk at a
// time. It runs in the page that has the stub.

const chunkSize = 4_000_000;

globalThis.FakeModel = class {
    #listeners = new Set();
    #values;
    #sending = new Map();
    alive = true;
    /** Messages of the stub, and changes that it saved. */
    messages = [];
    saved = [];
    #changed = {};

    constructor({ page, files, link, name = 'page', height = 400 }) {
        this.#values = { page: name, height, link, selection: null };
        this.contents = { page, files };
        this.sentBytes = 0;
        this.pages = 0;
        this.inFlight = this.mostInFlight = this.largest = 0;
    }

    get listeners() { return this.#listeners.size; }
    get(name) { return this.#values[name]; }
    set(name, value) { this.#changed[name] = value; }
    save_changes() {
        if (!this.alive) {
            throw new Error('no comm');
        }
        Object.assign(this.#values, this.#changed);
        this.saved.push({ at: performance.now(), ...this.#changed });
        this.#changed = {};
    }
    on(_, listener) { this.#listeners.add(listener); }
    off(_, listener) { this.#listeners.delete(listener); }
    send(message) {
        this.messages.push(message);
        if (this.alive) {
            setTimeout(() => this.#answer(message));
        }
    }
    tell(message, buffers = []) { [...this.#listeners].forEach((listener) => listener(message, buffers)); }

    #answer({ type, view, page, number }) {
        if (type === 'fetch') {
            this.#sending.set(view, this.#chunks(view, page));
            this.pages += page ? 1 : 0;
        } else if (type === 'gone') {
            this.#sending.delete(view);
        } else if (type === 'taken') {
            this.inFlight -= 1;
            this.lastTaken = number;
        }
        const next = this.#sending.get(view)?.next().value;
        if (next) {
            this.tell(...next);
        }
    }

    *#chunks(view, withPage) {
        const { page, files } = this.contents;
        let number = 0;
        for (const { path, bytes } of [...withPage ? [{ path: '', bytes: new TextEncoder().encode(page) }] : [], ...files]) {
            for (let at = 0; at < bytes.length; at += chunkSize) {
                const chunk = bytes.slice(at, at + chunkSize);
                this.inFlight += 1;
                this.mostInFlight = Math.max(this.mostInFlight, this.inFlight);
                this.largest = Math.max(this.largest, chunk.length);
                this.sentBytes += chunk.length;
                yield [{ type: 'chunk', view, path, number: number++ }, [new DataView(chunk.buffer)]];
            }
        }
        yield [{ type: 'whole', view, link: this.get('link') }, []];
    }
};
