// Informs the program about more than its own input: size, pixels, visibility and the drawing context.

import { framed, inNotebook } from './framed.js';

/**
 * @import { Notices } from './notices.js'
 * @import { Program } from './program.js'
 */

/**
 * The drawing context may be lost as soon as there is one.
 *
 * @param {{program: Program, canvas: HTMLCanvasElement, notices: Notices, given: () => boolean}} parts `given`: the page itself has
 *     given it back
 */
export function watchContext({ program, canvas, notices, given }) {
    canvas.addEventListener('webglcontextlost', (event) => {
        event.preventDefault();
        program.contextLost();
        if (given()) {
            return;
        }
        notices.pending('context', 'The browser has taken the drawing context away; the picture returns when it gives it back.');
    });
    canvas.addEventListener('webglcontextrestored', () => {
        notices.pending('context', null);
        program.contextRestored();
    });
}

/** @param {{program: Program, stage: HTMLElement, canvas: HTMLCanvasElement}} parts */
export function attachWakers({ program, stage, canvas }) {
    const wake = () => program.wake();
    new ResizeObserver(wake).observe(stage);
    document.addEventListener('visibilitychange', wake);

    function watchPixels() {
        matchMedia(`(resolution: ${devicePixelRatio}dppx)`).addEventListener('change', () => {
            wake();
            watchPixels();
        }, { once: true });
    }
    watchPixels();

    // Pinching a trackpad arrives as Ctrl+wheel and belongs to the map, not to the page's zoom.
    canvas.addEventListener('wheel', (event) => {
        if (event.ctrlKey) {
            event.preventDefault();
        }
    }, { passive: false });
    if (framed) {
        // The wheel belongs to the page around this one: in a notebook until the frame has the focus.
        window.addEventListener('wheel', (event) => {
            if (!event.ctrlKey && !(inNotebook && document.hasFocus())) {
                event.stopImmediatePropagation();
            }
        }, { capture: true, passive: true });
    }
    // A touch on the canvas closes the phone's keyboard; a mouse moves the focus by itself.
    canvas.addEventListener('touchstart', () => {
        if (document.activeElement instanceof HTMLElement) {
            document.activeElement.blur();
        }
    }, { passive: true });
    canvas.addEventListener('contextmenu', (event) => event.preventDefault());
}
