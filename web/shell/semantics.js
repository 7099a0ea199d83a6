// Mirrors the canvas as real elements, invisible and at the same places, for screen readers and keyboards.
// The program says what it draws; actions on an element go back to the program. The mouse passes through to
// the canvas.

import { makePart, writePart } from './semantics_part.js';

/**
 * @import { Semantics as Told } from './contract.d.ts'
 * @import { Fields } from './field.js'
 * @import { Program } from './program.js'
 * @import { Part } from './semantics_part.js'
 */

const rest = 200;  // ms between two updates: nobody listens faster
const items = new Set(['tab', 'radio', 'option', 'menuitem']);  // reached with the arrow keys
const alone = new Set(['button', 'slider', 'spinbutton', 'textbox', 'combobox']);  // reached with Tab
const ways = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
const ends = { Home: true, End: true };
const steps = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity };

export class Semantics {
    #layer;
    #stage;
    #fields;
    /** @type {Program | undefined} */
    #program;
    /** @type {Map<string, Part>} */
    #parts = new Map();
    /**
     * @type {string[]} Keys of elements that had the focus, the latest last: the focus returns there when its
     *     element disappears.
     */
    #past = [];
    /** @type {string} Key of the text field that has the program's keyboard. */
    #typing = '';
    /**
     * @type {string} Key of the text field that has the focus, until the program has reported that its
     *     keyboard is there.
     */
    #entered = '';
    #toldSince = false;  // the program has reported something since
    #opens = false;  // something was pressed that opens a list
    #waits = false;
    /**
     * @type {{key: string, row: number, col: number} | null} The cell that the focus has left for its
     *     explanation.
     */
    #explained = null;
    #tabs = false;  // the last key was Tab: the user is moving through the page
    /** @type {HTMLElement | null} The element that had the focus before the palette. */
    #before = null;

    /**
     * @param {HTMLElement} layer
     * @param {HTMLElement} stage has the focus if no element has it
     * @param {Fields} fields
     */
    constructor(layer, stage, fields) {
        this.#layer = layer;
        this.#stage = stage;
        this.#fields = fields;
        layer.addEventListener('focusin', ({ target }) => this.#focused(target));
        layer.addEventListener('focusout', ({ relatedTarget }) => {
            if (!(relatedTarget instanceof Node && layer.contains(relatedTarget))) {
                this.#program?.focusNode('', -1, -1);
            }
        });
        stage.addEventListener('pointerdown', () => {
            this.#past = [];
            this.#tabs = false;
        });  // the mouse continues from there
        layer.addEventListener('click', ({ target }) => this.#press(target));
    }

    /** @param {Program} program */
    attach(program) {
        this.#program = program;
        this.changed();
    }

    /** The program draws something other than it last reported. */
    changed() {
        if (this.#waits || !this.#program) {
            return;
        }
        this.#waits = true;
        setTimeout(() => {
            this.#waits = false;
            if (this.#program) {
                this.#show(this.#program.semantics());
            }
        }, rest);
    }

    // ---- From the program ---------------------------------------------------------------------------------

    /** @param {Told} told */
    #show({ nodes, typing }) {
        const active = document.activeElement;
        const had = active !== null && this.#layer.contains(active);
        /** @type {Map<string, Part>} */
        const parts = new Map();
        /** @type {Part[]} */
        const made = [];
        /** @type {Part[]} */
        const changed = [];
        for (const told of nodes) {
            const key = typeof told === 'string' ? told : told.key;
            let part = this.#parts.get(key);
            if (typeof told !== 'string') {
                if (!part || part.node.role !== told.role) {
                    part = makePart(told, this.#fields);
                    made.push(part);
                }
                part.node = told;
                changed.push(part);
            }
            if (part) {
                parts.set(key, part);
            }
        }
        for (const [key, part] of this.#parts) {
            if (parts.get(key) !== part) {
                part.element.remove();
            }
        }
        this.#place(parts);
        this.#parts = parts;
        changed.forEach(writePart);
        this.#setStops();
        this.#follow(typing, made, had);
    }

    /**
     * Puts the elements in order; those in the right place are not touched.
     *
     * @param {Map<string, Part>} parts
     */
    #place(parts) {
        /**
         * @type {{element: HTMLElement, last: HTMLElement | null}[]} The open elements, each with its last
         *     placed child.
         */
        const open = [{ element: this.#layer, last: null }];
        for (const { node, element } of parts.values()) {
            open.length = node.depth + 1;
            const around = open[node.depth];
            const next = around.last ? around.last.nextSibling : around.element.firstChild;
            if (next !== element) {
                around.element.insertBefore(element, next);
            }
            around.last = element;
            open.push({ element, last: null });
        }
    }

    // One item of a row of items, and one cell of a grid, can be reached with Tab.
    #setStops() {
        /** @type {Map<Element | null, HTMLElement>} */
        const stops = new Map();
        for (const { node, element, cells } of this.#parts.values()) {
            if (alone.has(node.role)) {
                element.tabIndex = 0;
            } else if (items.has(node.role)) {
                const before = stops.get(element.parentElement);
                if (!before || element === document.activeElement || (node.on && before !== document.activeElement)) {
                    stops.set(element.parentElement, element);
                }
                element.tabIndex = -1;
            }
            cells?.setStop();
        }
        stops.forEach((element) => { element.tabIndex = 0; });
    }

    /**
     * Moves the focus to where the program's keyboard is, into a list that has been opened, and away from
     * removed elements.
     *
     * @param {string} typing
     * @param {Part[]} made
     * @param {boolean} had whether one of the elements had the focus
     */
    #follow(typing, made, had) {
        const began = typing !== this.#typing && typing !== '' && typing !== this.#entered;
        if (typing === this.#entered || this.#toldSince) {
            this.#entered = '';
        }
        this.#toldSince = this.#entered !== '';
        this.#typing = typing;
        const active = document.activeElement;
        const ours = had || active === this.#stage || active === document.body;
        const opened = this.#opens && made.find(({ node }) => items.has(node.role) && node.role !== 'radio');
        if (began && ours) {
            this.#parts.get(typing)?.element.focus({ preventScroll: true });
        } else if (opened && ours) {
            this.#opens = false;
            this.#stopIn(opened.element.parentElement)?.focus({ preventScroll: true });
        } else if (had && active === document.body) {
            this.#goBack();
        }
    }

    /** The palette opens: when it closes, the focus returns. */
    leave() {
        const { activeElement: active } = document;
        this.#before = active instanceof HTMLElement && active !== document.body && !this.#layer.contains(active) ? active : null;
    }

    /** Says whether typed text goes to a field of the program's. */
    get typing() { return this.#typing !== '' || this.#entered !== ''; }

    #goBack() {
        const before = this.#before;
        this.#before = null;
        if (before?.isConnected) {
            before.focus();
            return;
        }
        while (this.#past.length) {
            const part = this.#parts.get(this.#past.pop() ?? '');
            if (part) {
                // Another tab may be open by now.
                const open = part.node.role === 'tab' ? this.#stopIn(part.element.parentElement) : null;
                (part.cells?.stop ?? open ?? part.element).focus({ preventScroll: true });
                return;
            }
        }
        this.#stage.focus();
    }

    /** @param {Element | null} parent */
    #stopIn(parent) {
        const stop = parent?.querySelector('[tabindex="0"]');
        return stop instanceof HTMLElement ? stop : null;
    }

    // ---- To the program -----------------------------------------------------------------------------------

    /**
     * @param {EventTarget | null} target
     * @returns {(Part & {row: number, col: number}) | null}
     */
    #partOf(target) {
        const element = target instanceof HTMLElement && this.#layer.contains(target) ? target.closest('[data-key]') : null;
        const part = element instanceof HTMLElement && this.#parts.get(element.dataset.key ?? '');
        if (!part || !(target instanceof HTMLElement)) {
            return null;
        }
        const { row = '-1', col = '-1' } = target.dataset;
        return { ...part, row: Number(row), col: Number(col) };
    }

    /** @param {EventTarget | null} target */
    #focused(target) {
        const part = this.#partOf(target);
        if (part) {
            this.#past = [...this.#past.filter((key) => key !== part.key), part.key].slice(-8);
            this.#program?.focusNode(part.key, part.row, part.col);
            if (part.node.role === 'textbox' && !part.node.lines && part.key !== this.#typing) {
                this.#entered = part.key;
                this.#toldSince = false;
                this.#press(target);  // it takes what is typed
            }
            this.#setStops();
        }
    }

    /** @param {EventTarget | null} target */
    #press(target) {
        const part = this.#partOf(target);
        if (part && !part.node.disabled && !part.node.lines) {
            this.#opens = Boolean(part.node.opens);
            this.#program?.pressNode(part.key, part.row, part.col);
        }
    }

    /**
     * Says whether the program takes this key, as it takes those pressed on the canvas; Escape wherever the
     * focus is.
     *
     * @param {Event} event
     */
    passes(event) {
        const part = this.#partOf(event.target);
        const escape = event instanceof KeyboardEvent && event.key === 'Escape';
        return part !== null && !part.node.lines && (escape || this.#types(part) || part.row >= 0);
    }

    /**
     * Says whether the program's keyboard is in this field, or will be in its next frame, so that text typed
     * at once is not lost.
     *
     * @param {Part} part
     */
    #types({ key }) { return key === this.#typing || key === this.#entered; }

    /**
     * Does what a key means for the element that has the focus. Returns whether it means something.
     *
     * @param {KeyboardEvent} event
     */
    take(event) {
        const part = this.#partOf(event.target);
        const { key, target } = event;
        const onTheWay = this.#tabs;
        this.#tabs = key === 'Tab';
        if (!part || part.node.lines || this.#types(part) || event.ctrlKey || event.metaKey || event.altKey || !(target instanceof HTMLElement)) {
            return false;
        }
        const { node, cells, row, col } = part;
        if (this.#explains(part, event, onTheWay)) {
            return true;
        }
        const way = key in ways ? ways[/** @type {keyof typeof ways} */ (key)] : undefined;
        if (cells && row >= 0) {
            if (way) {
                const to = cells.inside(row + way[0], col + way[1]);
                if (to && !cells.focus(to)) {
                    this.#program?.focusNode(part.key, to[0], to[1]);
                }
                return true;
            }
            if (key in ends) {
                const { cols = 1 } = node.grid ?? {};
                const to = cells.inside(row, key === 'Home' ? 0 : cols - 1);
                if (to && !cells.focus(to)) {
                    this.#program?.focusNode(part.key, to[0], to[1]);
                }
                return true;
            }
            const chosen = target.getAttribute('aria-selected') === 'true';
            const enters = key === 'Enter' || key === 'F2';
            if (key === ' ' || (enters && !(chosen && node.grid?.editable))) {
                this.#press(target);
                return true;
            }
            return false;
        }
        if (key === 'Enter' || key === ' ') {
            this.#press(target);
            return true;
        }
        if (key in steps && (node.role === 'slider' || node.role === 'spinbutton')) {
            this.#program?.stepNode(part.key, steps[/** @type {keyof typeof steps} */ (key)]);
            return true;
        }
        if ((way || key in ends) && items.has(node.role)) {
            const siblings = [...(target.parentElement?.children ?? [])].filter((each) => each.getAttribute('role') === node.role);
            const to = way ? siblings.indexOf(target) + way[0] + way[1] : key === 'Home' ? 0 : -1;
            // A list ends where its words do; tabs and choices go round.
            const next = way && node.role === 'option' ? siblings[to] : siblings.at(way ? to % siblings.length : to);
            if (next instanceof HTMLElement) {
                next.focus({ preventScroll: true });
                if (node.role === 'radio') {
                    this.#press(next);
                }
            }
            return true;
        }
        return way !== undefined || key in ends;
    }

    /**
     * Tab goes from a cell reached by keyboard to its explanation and, from its end, on to whatever follows
     * the cell; Escape goes back to the cell. Returns whether the key did this.
     *
     * @param {Part & {row: number, col: number}} part
     * @param {KeyboardEvent} event
     * @param {boolean} onTheWay
     */
    #explains(part, { key, shiftKey, target }, onTheWay) {
        const links = [...this.#parts.values()].filter(({ key: each, node }) => each.startsWith('inspector/') && alone.has(node.role)).map(({ element }) => element);
        if (part.row >= 0) {
            this.#explained = null;
            if (key !== 'Tab' || shiftKey || onTheWay || links.length === 0) {
                return false;
            }
            this.#explained = { key: part.key, row: part.row, col: part.col };
            links[0].focus({ preventScroll: true });
            return true;
        }
        const at = links.findIndex((element) => element === target);
        const cell = this.#explained;
        const cells = cell && this.#parts.get(cell.key)?.cells;
        if (at < 0 || !cell || !cells) {
            return false;
        }
        if (key === 'Escape' || (key === 'Tab' && shiftKey && at === 0)) {
            cells.focus([cell.row, cell.col]);
            return true;
        }
        if (key === 'Tab' && !shiftKey && at === links.length - 1 && cells.stop) {
            const stops = [...this.#layer.querySelectorAll('[tabindex="0"]')];
            const next = stops[stops.indexOf(cells.stop) + 1];
            if (next instanceof HTMLElement) {
                this.#explained = null;
                next.focus({ preventScroll: true });
                return true;
            }
        }
        return false;
    }
}
