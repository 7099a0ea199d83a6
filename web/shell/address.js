// The page's address: its fragment is the program's state.

const rest = 350;  // ms between replacements of an address; browsers refuse a hundred in thirty seconds

export class Address {
    /** @type {string | null} */
    #waiting = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    #timer;
    #seen = location.hash.slice(1);

    /** @param {(fragment: string) => void} onMove is called on back, forward and an edited address. */
    constructor(onMove) {
        const moved = () => {
            const fragment = location.hash.slice(1);
            if (fragment !== this.#seen) {
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
     * @param {string} fragment
     * @param {boolean} push
     */
    set(fragment, push) {
        if (push) {
            this.settle();
            if (fragment !== this.#seen) {
                this.#write('pushState', fragment);
            }
        } else {
            this.#waiting = fragment;
            this.#timer ||= setTimeout(() => this.settle(), rest);
        }
    }

    /** The address in full, up to date. */
    get link() {
        this.settle();
        return location.href;
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
        if (location.hash.slice(1) !== this.#seen) {
            return;  // somebody has just gone elsewhere, of which moved() is about to be told
        }
        history[method](null, '', fragment ? `#${fragment}` : location.pathname + location.search);
        this.#seen = location.hash.slice(1);
    }
}
