// The page is light or dark as the system says, or as the person chose. dark.css holds the dark colours; its media
// says when they apply.

/** @typedef {'auto' | 'light' | 'dark'} Choice */

/** @type {Choice[]} */
const choices = ['auto', 'light', 'dark'];
const media = { auto: '(prefers-color-scheme: dark)', light: 'not all', dark: 'all' };
const key = 'theme';

function remembered() {
    try {
        return localStorage.getItem(key);
    } catch {
        return null;
    }
}

export class Theme {
    #system = matchMedia(media.auto);
    #choice = choices.find((choice) => choice === remembered()) ?? 'auto';

    /** @param {(dark: boolean) => void} onChange is called whenever light becomes dark or back. */
    constructor(onChange) {
        this.button = document.getElementById('theme');
        this.#apply();
        this.#system.addEventListener('change', () => onChange(this.dark));
        this.button.addEventListener('click', () => {
            this.#choice = choices[(choices.indexOf(this.#choice) + 1) % choices.length];
            try {
                localStorage.setItem(key, this.#choice);
            } catch {
                // The choice then lasts as long as the page.
            }
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
