// The text field over the canvas. The program draws its own fields, but only a real one brings a phone's keyboard.

export const touch = matchMedia('(pointer: coarse)').matches;

export class Field {
    #input;
    #stage;
    #give;
    #number = false;
    #text = '';

    /**
     * @param {HTMLInputElement} input
     * @param {HTMLElement} stage takes the focus when a number is entered.
     * @param {(text: string, entered: boolean) => void} give
     */
    constructor(input, stage, give) {
        this.#input = input;
        this.#stage = stage;
        this.#give = give;
        input.addEventListener('input', () => {
            if (!this.#number) {
                give(input.value, false);
            }
        });
        // A number is entered by leaving the field, too: some phones' keypads have no Enter, only Done.
        input.addEventListener('change', () => {
            if (this.#number) {
                give(input.value.trim(), true);
                input.value = this.#text;  // what the program does not take is not shown
            }
        });
        input.addEventListener('focus', () => input.select());
    }

    /** Enter has been pressed in it. */
    enter() {
        if (document.activeElement !== this.#input) {
            return;
        }
        if (this.#number) {
            this.#stage.focus();
        } else {
            this.#give(this.#input.value, true);
        }
    }

    /** Opens it before the program has said where: a phone allows it only while a button is being pressed. */
    focus() {
        this.#number = false;
        this.#input.hidden = false;
        this.#input.value = '';
        this.#input.focus();
    }

    /**
     * @param {string} name
     * @param {string} text
     * @param {boolean} number
     * @param {number} left
     * @param {number} top
     * @param {number} width
     * @param {number} height
     */
    set(name, text, number, left, top, width, height) {
        const input = this.#input;
        this.#number = number;
        this.#text = text;
        input.hidden = false;
        input.ariaLabel = name;
        input.inputMode = number ? 'decimal' : 'search';
        input.placeholder = number ? '' : 'Find a lens, a head, a token …';
        Object.assign(input.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
        if (document.activeElement !== input) {
            input.value = text;
        }
    }

    hide() {
        if (document.activeElement === this.#input) {
            this.#stage.focus();
        }
        this.#input.hidden = true;
    }
}
