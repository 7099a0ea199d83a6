// Exchanges messages with the page around this one (docs/embedding.md).

import { granted } from './framed.js';
import { reasonOf } from './reason.js';

/**
 * @import { Address } from './address.js'
 * @import { Entry } from './file_chunks.js'
 * @import { Notices } from './notices.js'
 * @import { Program } from './program.js'
 */

/** @typedef {{path: string, bytes: BlobPart}} GivenFile */

const pause = 100;  // ms between selections
const still = 300, longest = 10_000;  // ms

// Where browsers tell the origin of the page around this one, no message goes to another.
const [around] = location.ancestorOrigins ?? [];
const heard = granted.filter((origin) => !around || origin === around);

/** @param {unknown} given */
function entriesOf(given) {
    const files = Array.isArray(given) ? /** @type {Partial<GivenFile>[]} */ (given) : [];
    const isFile = (/** @type {Partial<GivenFile> | null} */ file) => typeof file?.path === 'string' && file.path !== ''
        && (file.bytes instanceof Blob || file.bytes instanceof ArrayBuffer || ArrayBuffer.isView(file.bytes));
    if (files.length === 0 || !files.every(isFile)) {
        throw new Error('“open” takes files, an array of {path, bytes}, with bytes as a Blob, an ArrayBuffer or an array of bytes.');
    }
    return /** @type {GivenFile[]} */ (files).map(({ path, bytes }) => ({ path, file: new File([bytes], path.split('/').at(-1) ?? path) }));
}

/** @param {unknown} link */
function fragmentOf(link) {
    if (typeof link !== 'string') {
        throw new Error('“state” takes a link, or what stands behind its #.');
    }
    return link.slice(link.indexOf('#') + 1);
}

export class Messages {
    #program;
    #address;
    #open;
    #wake;
    /** @type {string[]} what was refused while files were opened */
    #refusals = [];
    #changedAt = 0;  // ms
    #sent = '';
    #link = '';
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    #timer;

    /**
     * @param {{program: Program, address: Address, notices: Notices, open: (entries: Entry[]) => Promise<unknown>, wake: () => void}} parts
     */
    constructor({ program, address, notices, open, wake }) {
        this.#program = program;
        this.#address = address;
        this.#open = open;
        this.#wake = wake;
        notices.tell((kind, text) => {
            this.#send({ type: 'notice', kind, text });
            if (kind === 'error') {
                this.#refusals.push(text);
            }
        });
        window.addEventListener('message', (event) => {
            if (event.source === parent && granted.includes(event.origin) && event.data?.explorer === 1) {
                this.#answer(event.data);
            }
        });
        this.#send({ type: 'ready', version: 1 });
        this.changed();
    }

    /** @param {Record<string, unknown>} message */
    #send(message) {
        heard.forEach((origin) => parent.postMessage({ explorer: 1, ...message }, origin));
    }

    /** @param {{type: unknown, id?: unknown, files?: unknown, link?: unknown}} message */
    async #answer({ type, id, files, link }) {
        const answer = (/** @type {string} */ how, text = '') => id !== undefined && this.#send({ type: how, id, ...text && { text } });
        try {
            if (type === 'open') {
                this.#wake();
                this.#refusals = [];
                await this.#open(entriesOf(files));
                await this.#quiet();
                if (this.#refusals.length) {
                    throw new Error(this.#refusals.join(' '));
                }
            } else if (type === 'state') {
                this.#wake();
                this.#address.open(fragmentOf(link));
            } else {
                throw new Error(`“${String(type)}” is none of the messages that are known here: open, state.`);
            }
            answer('done');
        } catch (error) {
            answer('failed', reasonOf(error));
        }
    }

    /** Resolves once the screen has stood still, which it does when files are shown or have been refused. */
    async #quiet() {
        const began = performance.now();
        do {
            await new Promise((resume) => { setTimeout(resume, pause); });
        } while (performance.now() < Math.min(this.#changedAt + still, began + longest));
    }

    /** What is on screen has changed. */
    changed() {
        this.#changedAt = performance.now();
        if (this.#timer !== undefined || heard.length === 0) {
            return;
        }
        this.#timer = setTimeout(() => {
            this.#timer = undefined;
            const fragment = this.#address.latest;
            if (fragment !== this.#link) {
                this.#link = fragment;
                this.#send({ type: 'state', link: fragment });
            }
            const chosen = this.#program.chosen();
            const text = JSON.stringify(chosen);
            if (text !== this.#sent) {
                this.#sent = text;
                this.#send({ type: 'selection', ...chosen });
            }
        }, pause);
    }
}
