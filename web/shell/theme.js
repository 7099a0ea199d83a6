// The page is light or dark as the system says, or as the user chose. dark.css holds the dark colours; its
// media attribute says when they apply. If the system asks for more contrast, or has colours of its own, the
// page has more contrast, too.

import { remember, remembered } from './memory.js';

/** @typedef {'auto' | 'light' | 'dark'} Choice */
/** @typedef {{dark: boolean, contrast: boolean}} Look */

/** @type {Choice[]} */
const choices = ['auto', 'light', 'dark'];
const media = { auto: '(prefers-color-scheme: dark)', light: 'not all', dark: 'all' };
const key = 'theme';

/** Says whether the system's text background is dark. */
function systemIsDark() {
    const probe = document.createElement('div');
    probe.style.color = 'Canvas';
    document.body.append(probe);
    const [red, green, blue] = (getComputedStyle(probe).color.match(/[\d.]+/g) ?? []).map(Number);
    probe.remove();
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue < 128;
}

export class Theme {
    #system = matchMedia(media.auto);
    #contrast = matchMedia('(prefers-contrast: more)');
    #forced = matchMedia('(forced-colors: active)');
    #choice = choices.find((choice) => choice === remembered(key)) ?? 'auto';

    /** @param {(look: Look) => void} onChange called whenever it changes */
    constructor(onChange) {
        this.button = document.getElementById('theme');
        this.#apply();
        for (const query of [this.#system, this.#contrast, this.#forced]) {
            query.addEventListener('change', () => {
                this.#apply();
                onChange(this.look);
            });
        }
        this.button.addEventListener('click', () => {
            this.#choice = choices[(choices.indexOf(this.#choice) + 1) % choices.length];
            remember(key, this.#choice);
            this.#apply();
            onChange(this.look);
        });
    }

    /** @returns {Look} */
    get look() {
        const chosen = this.#choice === 'auto' ? this.#system.matches : this.#choice === 'dark';
        return { dark: this.#forced.matches ? systemIsDark() : chosen, contrast: this.#contrast.matches || this.#forced.matches };
    }

    // The system's colours override a choice.
    #apply() {
        document.getElementById('dark').media = media[this.#forced.matches ? 'auto' : this.#choice];
        this.button.disabled = this.#forced.matches;
        this.button.dataset.choice = this.#choice;
        const says = this.#forced.matches ? 'Theme: the colours of your system' : `Theme: ${this.#choice}`;
        this.button.title = says;
        this.button.setAttribute('aria-label', says);
    }
}
