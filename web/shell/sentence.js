// A sentence box is a real text box. It is one line high at rest and as tall as its text during editing; the
// page below makes room. It is shown while the program uses it.

const patience = 150;  // ms without a keystroke before the text is taken

export class SentenceBox {
    #root;
    #box;
    #hint;
    #fault;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    #timer;
    #told = '';

    /**
     * @param {HTMLElement} root
     * @param {(text: string) => void} onText called with every text that the user settles on
     */
    constructor(root, onText) {
        this.#root = root;
        this.#box = /** @type {HTMLTextAreaElement} */ (root.querySelector('textarea'));
        this.#hint = /** @type {HTMLElement} */ (root.querySelector('.hint'));
        this.#fault = /** @type {HTMLElement} */ (root.querySelector('.fault'));
        this.onText = onText;
        this.#box.addEventListener('input', (event) => {
            this.#fit();
            if (!(event instanceof InputEvent && event.isComposing)) {
                this.#soon();
            }
        });
        this.#box.addEventListener('compositionend', () => this.#soon());
        this.#box.addEventListener('focus', () => this.#fit());
        this.#box.addEventListener('focusout', () => {
            this.settle();
            this.#fit();
        });
        window.addEventListener('resize', () => this.#fit());
    }

    get text() {
        return this.#box.value;
    }

    get shown() {
        return !this.#root.hidden;
    }

    /**
     * Names the box if there are several, by a word before its text; empty if it is the only one.
     *
     * @param {string} word
     */
    name(word) {
        if (word) {
            this.#root.dataset.name = word;
        } else {
            delete this.#root.dataset.name;
        }
    }

    #soon() {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.settle(), patience);
    }

    /** Takes the text now. */
    settle() {
        clearTimeout(this.#timer);
        this.#timer = undefined;
        if (this.#box.value !== this.#told) {
            this.#told = this.#box.value;
            this.onText(this.#told);
        }
    }

    /** Takes the text and leaves the box. Returns whether the box had the focus. */
    close() {
        const had = document.activeElement === this.#box;
        this.settle();
        this.#box.blur();
        return had;
    }

    /** A hidden box keeps nothing. */
    hide() {
        this.show('');
        this.fault(null);
        this.#box.disabled = this.#root.hidden = true;
    }

    /**
     * Takes the program's text. What the user is typing at this moment is not overwritten by what they typed
     * before.
     *
     * @param {string} text
     * @param {boolean} enabled
     * @param {string} placeholder
     */
    set(text, enabled, placeholder) {
        const echo = this.#timer !== undefined && text === this.#told;
        if (!echo) {
            this.show(text);
        }
        this.#root.hidden = false;
        this.#box.disabled = !enabled;
        this.#box.placeholder = this.#hint.textContent = placeholder;
    }

    /** @param {string} text */
    show(text) {
        clearTimeout(this.#timer);
        this.#timer = undefined;
        this.#told = text;
        if (text !== this.#box.value) {
            this.#box.value = text;
            this.#fit();
        }
    }

    /**
     * Says what is wrong with the text, in one sentence under the box; null when all is well.
     *
     * @param {string | null} text
     */
    fault(text) {
        this.#fault.textContent = text ?? '';
        this.#fault.hidden = !text;
        this.#box.setAttribute('aria-invalid', String(Boolean(text)));
    }

    #fit() {
        const box = this.#box;
        const editing = document.activeElement === box;
        box.style.height = '';
        const tall = editing && box.scrollHeight > box.clientHeight + 1;
        if (tall) {
            box.style.height = `${box.scrollHeight + 2}px`;
        } else if (!editing) {
            box.scrollTop = 0;
        }
    }
}
