// Sends keys to the program or to the page. The program's window library listens on the whole window and
// swallows Tab and Backspace, so keys meant for the page's own controls are stopped before it sees them.

/** @import { Semantics } from './semantics.js' */

/**
 * @param {{stage: HTMLElement, semantics: Semantics, undo: () => void, redo: () => void, find: () => void,
 *     enter: () => void, escape: () => boolean, resize: (by: number) => boolean, help: () => void}} calls
 *     escape() closes what is open on the page or being typed, and says whether there was anything
 */
export function attachKeys({ stage, semantics, undo, redo, find, enter, escape, resize, help }) {
    const forProgram = (/** @type {Event} */ event) => event.target === document.body || event.target === stage || semantics.passes(event);
    const isIn = (/** @type {string} */ selector, /** @type {Event} */ { target }) => target instanceof Element && target.matches(selector);

    // In Safari, the last Enter of a composition has the code 229.
    const composing = (/** @type {KeyboardEvent} */ { isComposing, keyCode }) => isComposing || keyCode === 229;

    /** @type {Record<string, number>} */
    const sizes = { '+': 1, '=': 1, '-': -1, _: -1, 0: 0 };

    /**
     * Returns whether the program takes the key as well, although the focus is elsewhere.
     *
     * @param {KeyboardEvent} event
     */
    function handle(event) {
        const command = event.ctrlKey || event.metaKey;
        const key = event.key.toLowerCase();
        if (command && (key === 'z' || key === 'y') && !semantics.typing && !isIn('textarea, input', event)) {
            event.preventDefault();
            event.stopImmediatePropagation();
            (key === 'y' || event.shiftKey ? redo : undo)();
        } else if (command && key === 'k' && !event.shiftKey && !event.altKey) {
            event.preventDefault();
            event.stopImmediatePropagation();
            find();
        } else if (command && !event.altKey && key in sizes) {
            if (resize(sizes[key])) {
                event.preventDefault();
            }
        } else if (key === '?' && !command && !semantics.typing && !isIn('textarea, input, select', event)) {
            event.preventDefault();
            event.stopImmediatePropagation();
            help();
        } else if (command && key === 'a' && forProgram(event)) {
            event.preventDefault();  // selects all in a field of the program's, not the whole page
        } else if (event.key === 'Enter' && !event.shiftKey && !composing(event) && isIn('textarea:not(.field), input.field', event)) {
            event.preventDefault();
            enter();
        } else if (event.key === 'Escape' && isIn('textarea.field', event)) {
            stage.focus();
        } else if (event.key === 'Escape' && !forProgram(event) && !isIn('dialog, dialog *, .field', event)) {
            return !escape();
        }
        return false;
    }

    window.addEventListener('keydown', (event) => {
        const unpins = handle(event);
        if (semantics.take(event)) {
            event.preventDefault();
            event.stopImmediatePropagation();
        } else if ((!forProgram(event) && !unpins) || event.key === 'Tab') {
            event.stopImmediatePropagation();
        }
    }, { capture: true });
    window.addEventListener('keypress', (event) => {
        if (!forProgram(event)) {
            event.stopImmediatePropagation();
        }
    }, { capture: true });
    // The library releases all held keys when the window loses the focus, and also listens to blur events of
    // its elements.
    window.addEventListener('blur', (event) => {
        if (event.target !== window) {
            event.stopImmediatePropagation();
        }
    }, { capture: true });
}
