// Makes the page as large as the user chose, up to twice its size: the elements by the zoom of style.css, the
// canvas by the program's scale. The browser's own zoom takes over at both ends.

import { announce } from './live.js';
import { remember, remembered } from './memory.js';

const sizes = [100, 125, 150, 200];  // percent
const least = 320;  // points of width that the page needs
const key = 'text size';
const able = CSS.supports('zoom', '2');

/**
 * @type {{media: MediaList, asked: string}[]} The media conditions of the style sheets, which do not consider
 *     zoom.
 */
const conditions = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules])
    .flatMap((rule) => (rule instanceof CSSMediaRule ? [{ media: rule.media, asked: rule.media.mediaText }] : []));

export class TextSize {
    #button = document.getElementById('size');
    #onChange;
    #chosen = sizes.find((size) => String(size) === remembered(key)) ?? sizes[0];
    #shown = 0;

    /** @param {(scale: number) => void} onChange called whenever the size on screen changes */
    constructor(onChange) {
        this.#onChange = onChange;
        this.#button.hidden = !able;
        this.#apply();
        window.addEventListener('resize', () => this.#apply());
        this.#button.addEventListener('click', () => {
            const fit = this.#fit;
            this.choose(fit[(fit.indexOf(this.#shown) + 1) % fit.length]);
        });
    }

    get scale() { return this.#shown / 100; }

    /** Sizes that the window has room for. */
    get #fit() { return sizes.filter((size) => size === sizes[0] || (able && window.innerWidth >= least * size / 100)); }

    /** @param {number} size in percent */
    choose(size) {
        this.#chosen = size;
        remember(key, String(size));
        this.#apply();
        announce(`Text size ${this.#shown} %`);
    }

    /**
     * Goes to the next larger or smaller size, or to the first for 0. Returns whether there is one.
     *
     * @param {number} by
     */
    step(by) {
        const fit = this.#fit;
        const to = by === 0 ? fit[0] : fit[fit.indexOf(this.#shown) + by];
        if (to === undefined || to === this.#shown) {
            return false;
        }
        this.choose(to);
        return true;
    }

    #apply() {
        const size = this.#fit.filter((each) => each <= this.#chosen).at(-1) ?? sizes[0];
        if (size === this.#shown) {
            return;
        }
        this.#shown = size;
        const { scale } = this;
        document.documentElement.style.setProperty('--scale', String(scale));
        for (const { media, asked } of conditions) {
            media.mediaText = asked.replace(/(\d+)px/g, (_, width) => `${Number(width) * scale}px`);
        }
        this.#button.title = `Text size: ${size} % (Ctrl +, Ctrl −, Ctrl 0)`;
        this.#button.setAttribute('aria-label', `Text size: ${size} %`);
        this.#onChange(scale);
    }
}
