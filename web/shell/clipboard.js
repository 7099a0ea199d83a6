// Copying and pasting. A key press may write the clipboard at once; a button inside the canvas may be refused, and
// then its text waits for the next copy key.

/**
 * @import { Notices } from './notices.js'
 * @import { Program } from './program.js'
 */

export class Clipboard {
    #waiting = '';

    /** @param {{stage: HTMLElement, notices: Notices}} page */
    constructor({ stage, notices }) {
        this.notices = notices;
        this.stage = stage;
    }

    /** @param {string} text */
    async write(text, done = 'Copied.') {
        try {
            await navigator.clipboard.writeText(text);
            this.notices.info(done);
        } catch {
            this.#waiting = text;
            this.stage.focus();
            this.notices.info('Press Ctrl+C (⌘C) to copy it: this browser lets only a key press write the clipboard.');
        }
    }

    /**
     * Copy and paste with the focus on the canvas belong to the program.
     *
     * @param {Program} program
     */
    attach(program) {
        const onStage = () => document.activeElement === document.body || document.activeElement?.closest('#stage, #semantics');
        document.addEventListener('copy', (event) => {
            const text = onStage() && getSelection()?.isCollapsed ? this.#waiting || program.copyText() : '';
            if (text && event.clipboardData) {
                event.clipboardData.setData('text/plain', text);
                event.preventDefault();
                this.#waiting = '';
                this.notices.info('Copied.');
            }
        });
        document.addEventListener('paste', (event) => {
            const text = onStage() ? event.clipboardData?.getData('text/plain') : '';
            if (text) {
                program.paste(text);
                event.preventDefault();
            }
        });
    }
}
