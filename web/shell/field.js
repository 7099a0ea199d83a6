// Lays text fields over the canvas. The program draws its own, but only a real text field opens a phone's
// keyboard.

export const touch = matchMedia('(pointer: coarse)').matches;

const slop = 10;  // CSS pixels by which a tap may move

/** @typedef {(key: string, text: string, entered: boolean) => void} Give */

class Field {
    number = false;
    #input;
    #stays;
    #text = '';

    /**
     * @param {HTMLInputElement | HTMLTextAreaElement} input
     * @param {boolean} stays whether the keyboard stays open after a text is entered
     * @param {(text: string, entered: boolean) => void} give
     */
    constructor(input, stays, give) {
        this.#input = input;
        this.#stays = stays;
        input.addEventListener('input', () => {
            if (!this.number) {
                give(input.value, false);
            }
        });
        // Leaving the field enters a number, too: some phones' keypads have no Enter, only Done.
        input.addEventListener('change', () => {
            if (this.number) {
                give(input.value.trim(), true);
                input.value = this.#text;  // shows only what the program accepts
            }
        });
        input.addEventListener('focus', () => input instanceof HTMLInputElement && input.select());
        this.enter = () => {
            if (!this.number) {
                give(input.value, true);
            }
            return !this.#stays;
        };
    }

    get input() { return this.#input; }

    /** Opens it before the program has said where: a phone allows it only while a button is pressed. */
    focus() {
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
        this.number = number;
        this.#text = text;
        input.hidden = false;
        input.ariaLabel = name;
        input.inputMode = number ? 'decimal' : this.#stays ? 'search' : 'text';
        Object.assign(input.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
        if (document.activeElement !== input) {
            input.value = text;
        }
    }
}

export class Fields {
    #find;
    #stage;
    #give;
    /** @type {Map<string, Field>} */
    #all = new Map();
    /** @type {Touch | undefined} */
    #began;

    /**
     * @param {HTMLInputElement} find the field of the palette
     * @param {HTMLElement} stage takes the focus when a field is left
     * @param {Give} give
     */
    constructor(find, stage, give) {
        this.#find = find;
        this.#stage = stage;
        this.#give = give;
        find.placeholder = 'Find a lens, a head, a token …';
        this.#add('palette', find, true);
        document.addEventListener('touchstart', ({ touches: [finger] }) => { this.#began = finger; }, { passive: true });
        document.addEventListener('touchend', (event) => this.#lifted(event), { capture: true, passive: true });
    }

    /** @param {TouchEvent} event */
    #lifted(event) {
        const [finger] = event.changedTouches, { clientX: x, clientY: y } = finger;
        if (!this.#began || Math.hypot(x - this.#began.clientX, y - this.#began.clientY) > slop) {
            return;
        }
        for (const { input } of this.#all.values()) {
            const { left, top, right, bottom } = input.getBoundingClientRect();
            if (!input.hidden && input !== this.#find && x >= left && x <= right && y >= top && y <= bottom) {
                input.focus();
                // The program has seen the finger come down, and would take the tap for itself.
                event.stopPropagation();
                event.target?.dispatchEvent(new TouchEvent('touchcancel', { bubbles: true, changedTouches: [finger] }));
            }
        }
    }

    /**
     * @param {string} key
     * @param {HTMLInputElement | HTMLTextAreaElement} input
     * @param {boolean} stays
     */
    #add(key, input, stays) {
        const field = new Field(input, stays, (text, entered) => this.#give(key, text, entered));
        this.#all.set(key, field);
        return field;
    }

    /**
     * @param {string} key
     * @param {boolean} lines
     */
    #made(key, lines) {
        const input = lines ? document.createElement('textarea') : /** @type {HTMLInputElement} */ (this.#find.cloneNode());
        input.removeAttribute('id');
        input.className = 'field';
        input.autocapitalize = 'off';
        input.spellcheck = false;
        input.placeholder = '';
        input.dataset.field = key;
        this.#find.after(input);
        return this.#add(key, input, false);
    }

    /** Enter has been pressed in one of them. */
    enter() {
        for (const field of this.#all.values()) {
            if (field.input === document.activeElement && field.enter()) {
                this.#stage.focus();
            }
        }
    }

    /** Opens the palette's field. */
    find() { this.#all.get('palette')?.focus(); }

    /**
     * @param {string} key
     * @param {string} name
     * @param {string} text
     * @param {boolean} number
     * @param {boolean} lines
     * @param {number} left
     * @param {number} top
     * @param {number} width
     * @param {number} height
     */
    set(key, name, text, number, lines, left, top, width, height) {
        (this.#all.get(key) ?? this.#made(key, lines)).set(name, text, number, left, top, width, height);
    }

    /** @param {string} key */
    hide(key) {
        const input = this.#all.get(key)?.input;
        if (!input) {
            return;
        }
        if (document.activeElement === input) {
            this.#stage.focus();
        }
        input.hidden = true;
    }
}
