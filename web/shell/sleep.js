// A frame out of sight gives its drawing context back, of which browsers keep only some: its last picture
// stands in its place until someone presses it. One that nobody has seen yet does not start.

/**
 * @import { Program } from './program.js'
 */

const moment = 1000;  // ms out of sight

/**
 * Calls back whenever an element comes into view or leaves it.
 *
 * @param {Element} element
 * @param {(seen: boolean) => void} then
 */
function watch(element, then) {
    const observer = new IntersectionObserver((entries) => then(entries.at(-1)?.isIntersecting ?? false));
    observer.observe(element);
    return observer;
}

/** @param {Element} element */
export function firstSeen(element) {
    return new Promise((/** @type {(none: void) => void} */ resolve) => {
        const observer = watch(element, (seen) => {
            if (seen) {
                observer.disconnect();
                resolve();
            }
        });
    });
}

export class Sleeper {
    #program;
    #stage;
    #canvas;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    #timer;
    /** @type {WEBGL_lose_context | null} */
    #context = null;
    #picture = document.createElement('canvas');
    #button = document.createElement('button');

    /** @param {{program: Program, stage: HTMLElement, canvas: HTMLCanvasElement}} parts */
    constructor({ program, stage, canvas }) {
        this.#program = program;
        this.#stage = stage;
        this.#canvas = canvas;
        this.#button.type = 'button';
        this.#button.ariaLabel = 'Press to go on';  // style.css writes it
        this.#button.className = 'asleep';
        this.#button.addEventListener('click', () => this.wake());
        watch(stage, (seen) => {
            clearTimeout(this.#timer);
            if (!seen) {
                this.#timer = setTimeout(() => this.#sleep(), moment);
            }
        });
        canvas.addEventListener('webglcontextrestored', () => this.#button.remove());
    }

    get asleep() { return this.#context !== null; }

    #sleep() {
        const context = this.#canvas.getContext('webgl2')?.getExtension('WEBGL_lose_context');
        if (this.asleep || !context) {
            return;
        }
        const { width, height } = this.#canvas;
        Object.assign(this.#picture, { width, height });
        this.#program.picture();  // a picture on screen cannot be read any more
        this.#picture.getContext('2d')?.drawImage(this.#canvas, 0, 0);
        this.#button.prepend(this.#picture);
        this.#stage.parentElement?.append(this.#button);
        this.#context = context;
        context.loseContext();
    }

    /** Takes a context again. */
    wake() {
        this.#context?.restoreContext();
        this.#context = null;
    }
}
