// A sentence box: a real text box, one line high at rest, as tall as its text while it is being edited.

const patience = 150;  // ms without a keystroke before the text is taken

export class SentenceBox {
    #root;
    #box;
    #hint;
    #fault;
    #timer = 0;
    #told = '';

    // onText(text) is called with every text that the person settles on.
    constructor(root, onText) {
        this.#root = root;
        this.#box = root.querySelector('textarea');
        this.#hint = root.querySelector('.hint');
        this.#fault = root.querySelector('.fault');
        this.onText = onText;
        this.#box.addEventListener('input', (event) => {
            this.#fit();
            if (!event.isComposing) {
                this.#soon();
            }
        });
        this.#box.addEventListener('compositionend', () => this.#soon());
        this.#box.addEventListener('focus', () => this.#fit());
        this.#box.addEventListener('blur', () => {
            this.settle();
            this.#fit();
        });
        window.addEventListener('resize', () => this.#fit());
    }

    get text() {
        return this.#box.value;
    }

    #soon() {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.settle(), patience);
    }

    // Takes the text now.
    settle() {
        clearTimeout(this.#timer);
        this.#timer = 0;
        if (this.#box.value !== this.#told) {
            this.#told = this.#box.value;
            this.onText(this.#told);
        }
    }

    // A box that is hidden keeps nothing.
    hide() {
        this.show('');
        this.fault(null);
        this.#box.disabled = this.#root.hidden = true;
    }

    // From the program. What the person is typing at this moment is not overwritten by what they typed before.
    set(text, enabled, placeholder) {
        const echo = this.#timer !== 0 && text === this.#told;
        if (!echo) {
            this.show(text);
        }
        this.#root.hidden = false;
        this.#box.disabled = !enabled;
        this.#box.placeholder = this.#hint.textContent = placeholder;
    }

    show(text) {
        clearTimeout(this.#timer);
        this.#timer = 0;
        this.#told = text;
        if (text !== this.#box.value) {
            this.#box.value = text;
            this.#fit();
        }
    }

    // One sentence under the box, or null.
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
        box.classList.toggle('tall', tall);
    }
}
