// Lays text fields over the canvas. The program draws its own, but only a real text field opens a phone's
// keyboard. Those of several lines are always the page's: they wrap, compose letters, and are spoken. They stand
// among the elements that mirror the canvas (semantics.js), which puts them in reading order.

export const touch = matchMedia('(pointer: coarse)').matches;

const slop = 10;  // CSS pixels by which a tap may move

const utf8 = new TextEncoder(), fromUtf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** @typedef {(key: string, text: string, entered: boolean, caret: number) => void} Give `caret` counts bytes */

/**
 * Replaces what differs, so that undoing in the field leads back over it.
 *
 * @param {HTMLInputElement | HTMLTextAreaElement} input
 * @param {string} next
 */
function replaceText(input, next) {
    const { value } = input;
    const most = Math.min(value.length, next.length);
    let head = 0, tail = 0;
    while (head < most && value[head] === next[head]) {
        ++head;
    }
    while (tail < most - head && value[value.length - 1 - tail] === next[next.length - 1 - tail]) {
        ++tail;
    }
    input.setSelectionRange(head, value.length - tail);
    const added = next.slice(head, next.length - tail);
    // It is deprecated, but nothing else keeps a field's own history.
    if (!document.execCommand(added ? 'insertText' : 'delete', false, added) || input.value !== next) {
        input.value = next;
    }
}

class Field {
    number = false;
    #input;
    #stays;
    #text = '';

    /**
     * @param {HTMLInputElement | HTMLTextAreaElement} input
     * @param {boolean} stays whether the keyboard stays open after a text is entered
     * @param {(text: string, entered: boolean, caret: number) => void} give
     */
    constructor(input, stays, give) {
        this.#input = input;
        this.#stays = stays;
        const caret = () => utf8.encode(input.value.slice(0, input.selectionStart ?? 0)).length;
        input.addEventListener('input', () => {
            if (!this.number) {
                give(input.value, false, caret());
            }
        });
        if (input instanceof HTMLTextAreaElement) {
            input.addEventListener('selectionchange', () => give(input.value, false, caret()));
        }
        // Leaving the field enters a number, too: some phones' keypads have no Enter, only Done.
        input.addEventListener('change', () => {
            if (this.number) {
                give(input.value.trim(), true, 0);
                input.value = this.#text;  // shows only what the program accepts
            }
        });
        input.addEventListener('focus', () => input instanceof HTMLInputElement && input.select());
        this.enter = () => {
            if (!this.number) {
                give(input.value, true, caret());
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
     * @param {string} shown
     * @param {boolean} number
     * @param {number} left
     * @param {number} top
     * @param {number} width
     * @param {number} height
     */
    set(name, shown, number, left, top, width, height) {
        const input = this.#input;
        this.number = number;
        this.#text = shown;
        input.hidden = false;
        input.ariaLabel = name;
        input.inputMode = number ? 'decimal' : this.#stays ? 'search' : 'text';
        Object.assign(input.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
    }

    /**
     * Shows this text, unless someone is typing another.
     *
     * @param {string} shown
     */
    show(shown) {
        if (document.activeElement !== this.#input && this.#input.value !== shown) {
            this.#input.value = shown;
        }
    }

    /**
     * Takes the keyboard, and shows this part of the text.
     *
     * @param {string} shown
     * @param {[begin: number, end: number]} range in bytes
     */
    select(shown, range) {
        const input = this.#input;
        const bytes = utf8.encode(shown);
        const [begin, end] = range.map((at) => fromUtf8.decode(bytes.subarray(0, at)).length);
        if (touch) {
            input.value = shown;  // without its keyboard, which would cover the text
            input.setSelectionRange(begin, end);
            input.scrollTop = input.scrollHeight * begin / Math.max(shown.length, 1) - input.clientHeight / 2;
            return;
        }
        input.focus({ preventScroll: true });
        replaceText(input, shown);
        // A field that receives the focus shows its caret.
        input.setSelectionRange(begin, begin);
        input.blur();
        input.focus();
        input.setSelectionRange(begin, end);
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
        const field = new Field(input, stays, (...typed) => this.#give(key, ...typed));
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
        if (!lines) {
            this.#find.after(input);
        }
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

    /**
     * Returns the field of several lines of this key.
     *
     * @param {string} key
     */
    area(key) { return (this.#all.get(key) ?? this.#made(key, true)).input; }

    /** Opens the palette's field. */
    find() { this.#all.get('palette')?.focus(); }

    /**
     * @param {string} key
     * @param {string} name
     * @param {string} text
     * @param {boolean} number
     * @param {boolean} lines
     * @param {[begin: number, end: number] | null} select
     * @param {number} left
     * @param {number} top
     * @param {number} width
     * @param {number} height
     */
    set(key, name, text, number, lines, select, left, top, width, height) {
        const field = this.#all.get(key) ?? this.#made(key, lines);
        field.set(name, text, number, left, top, width, height);
        if (select) {
            queueMicrotask(() => field.select(text, select));  // the program is drawing
        } else {
            field.show(text);
        }
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
