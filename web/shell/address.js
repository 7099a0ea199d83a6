// The page's address: its fragment is the program's state. A page that is another page's text has no address
// of its own, and keeps its fragment to itself.

import { framed, written } from './framed.js';

const rest = 350;  // ms between replacements of an address

// Browsers refuse a hundred changes of an address in thirty seconds. After `many` of them, new entries become
// replacements, which come less often.
const span = 30000, many = 50, longer = 1000;

export class Address {
    /** @type {string | null} */
    #waiting = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    #timer;
    #seen = written ?? location.hash.slice(1);
    /** @type {number[]} when the address was last written, in ms */
    #written = [];

    #onMove;

    /** @param {(fragment: string) => void} onMove called on back, forward and an edited address */
    constructor(onMove) {
        this.#onMove = onMove;
        const moved = () => {
            const fragment = location.hash.slice(1);
            if (fragment !== this.#seen && written === null) {
                this.#drop();
                this.#seen = fragment;
                onMove(fragment);
            }
        };
        window.addEventListener('popstate', moved);
        window.addEventListener('hashchange', moved);
        window.addEventListener('pagehide', () => this.settle());
    }

    get fragment() {
        return this.#seen;
    }

    /**
     * In a frame, it leaves no steps in the history of the page around it.
     *
     * @param {string} fragment
     * @param {boolean} push
     */
    set(fragment, push) {
        if (push && !framed && !this.#crowded) {
            this.settle();
            if (fragment !== this.#seen) {
                this.#write('pushState', fragment);
            }
        } else {
            this.#waiting = fragment;
            this.#timer ||= setTimeout(() => this.settle(), this.#crowded ? longer : rest);
        }
    }

    get #crowded() {
        const since = performance.now() - span;
        this.#written = this.#written.filter((at) => at > since);
        return this.#written.length >= many;
    }

    /**
     * Goes to a fragment, as if the address had been edited.
     *
     * @param {string} fragment
     */
    open(fragment) {
        this.#drop();
        this.#write('replaceState', fragment);
        this.#onMove(fragment);
    }

    /** The fragment, with what is still waiting to be written. */
    get latest() {
        return this.#waiting ?? this.#seen;
    }

    /** The full, up-to-date address. */
    get link() {
        this.settle();
        return written === null ? location.href : `#${this.#seen}`;
    }

    /** Writes a replacement that is still waiting. */
    settle() {
        const fragment = this.#waiting;
        this.#drop();
        if (fragment !== null && fragment !== this.#seen) {
            this.#write('replaceState', fragment);
        }
    }

    #drop() {
        clearTimeout(this.#timer);
        this.#timer = undefined;
        this.#waiting = null;
    }

    /**
     * @param {'pushState' | 'replaceState'} method
     * @param {string} fragment
     */
    #write(method, fragment) {
        if (written !== null) {
            this.#seen = fragment;
            return;
        }
        if (location.hash.slice(1) !== this.#seen) {
            return;  // the user has just gone elsewhere, and moved() is about to be called
        }
        this.#written.push(performance.now());
        history[method](null, '', fragment ? `#${fragment}` : location.pathname + location.search);
        this.#seen = location.hash.slice(1);
    }
}
