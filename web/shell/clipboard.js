// Copies and pastes. A key press may write to the clipboard at once; a button inside the canvas may be
// refused, and then its text waits for the next copy key.

/**
 * @import { Notices } from './notices.js'
 * @import { Program } from './program.js'
 */

/** @param {string} cells separated by tabs and line ends */
function asTable(cells) {
    const table = document.createElement('table');
    for (const line of cells.trimEnd().split('\n')) {
        const row = table.insertRow();
        line.split('\t').forEach((text) => { row.insertCell().textContent = text; });
    }
    return table.outerHTML;
}

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
            if (document.execCommand('copy')) {  // handled below
                return;
            }
            if (matchMedia('(pointer: coarse)').matches) {
                this.#waiting = '';
                this.#hand(text);
            } else {
                this.notices.info('Press Ctrl+C (⌘C) to copy it: this browser lets only a key press write the clipboard.');
            }
        }
    }

    /**
     * Offers the text for copying, because a phone has no key for that.
     *
     * @param {string} text
     */
    #hand(text) {
        if ('share' in navigator) {
            this.notices.offer('copy', 'This browser does not let the page write the clipboard.', 'Share it', () => {
                navigator.share({ text }).catch(() => {});
            });
        } else {
            this.notices.pending('copy', `Hold a finger on this to copy it: ${text}`);
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
            const idle = onStage() && getSelection()?.isCollapsed;
            const numbers = idle && !this.#waiting ? program.copyText() : '';
            const text = idle ? this.#waiting || numbers : '';
            if (text && event.clipboardData) {
                event.clipboardData.setData('text/plain', text);
                if (numbers) {  // spreadsheets and documents also take the names of rows and columns
                    event.clipboardData.setData('text/html', asTable(program.tableText(0, 'cells')));
                }
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
