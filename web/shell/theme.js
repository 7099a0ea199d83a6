// The page is light or dark as the system says, or as the person chose. dark.css holds the dark colours; its media
// says when they apply.

import { remember, remembered } from './memory.js';

/** @typedef {'auto' | 'light' | 'dark'} Choice */

/** @type {Choice[]} */
const choices = ['auto', 'light', 'dark'];
const media = { auto: '(prefers-color-scheme: dark)', light: 'not all', dark: 'all' };
const key = 'theme';

export class Theme {
    #system = matchMedia(media.auto);
    #choice = choices.find((choice) => choice === remembered(key)) ?? 'auto';

    /** @param {(dark: boolean) => void} onChange is called whenever light becomes dark or back. */
    constructor(onChange) {
        this.button = document.getElementById('theme');
        this.#apply();
        this.#system.addEventListener('change', () => onChange(this.dark));
        this.button.addEventListener('click', () => {
            this.#choice = choices[(choices.indexOf(this.#choice) + 1) % choices.length];
            remember(key, this.#choice);
            this.#apply();
            onChange(this.dark);
        });
    }

    get dark() {
        return this.#choice === 'auto' ? this.#system.matches : this.#choice === 'dark';
    }

    #apply() {
        document.getElementById('dark').media = media[this.#choice];
        this.button.dataset.choice = this.#choice;
        this.button.title = `Theme: ${this.#choice}`;
        this.button.setAttribute('aria-label', `Theme: ${this.#choice}`);
    }
}
