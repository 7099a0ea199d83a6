// Handles a .zip from the user: the program unpacks it and gives its files back, which are opened as if they
// had been dropped.

import { Cancelled } from './file_chunks.js';
import { reasonOf } from './reason.js';
import { transfer } from './transfer.js';

/**
 * @import { Entry } from './file_chunks.js'
 * @import { Notices } from './notices.js'
 * @import { Program } from './program.js'
 */

/** @param {Entry[]} entries */
export const isArchive = (entries) => entries.length === 1 && /\.zip$/i.test(entries[0].path);

export class Archives {
    #program;
    #notices;
    #reading = false;

    /** @param {{program: Program, notices: Notices}} parts */
    constructor({ program, notices }) {
        this.#program = program;
        this.#notices = notices;
    }

    /** @param {Entry[]} entries */
    async open([{ path, file }]) {
        const program = this.#program, notices = this.#notices;
        if (this.#reading) {
            notices.info('Another .zip is being read: wait for it, or cancel it first.');
            return;
        }
        this.#reading = true;
        let whole = false;
        try {
            const name = path.split('/').at(-1) ?? path;
            whole = await transfer([{ name, file }], (...asked) => program.archiveBuffer(...asked), { program, notices });
        } catch (error) {
            if (!(error instanceof Cancelled)) {
                notices.error(reasonOf(error));
            }
        } finally {
            this.#reading = false;
            if (whole) {
                program.archiveArrived();
            } else {
                program.archiveDiscard();
            }
        }
    }
}
