// Reads files of a user's own tensors straight into the memory of the program, which interprets them as far
// as it can.

import { Cancelled } from './file_chunks.js';
import { isModelPart, listed } from './model_files.js';
import { opened } from './one_file.js';
import { reasonOf } from './reason.js';
import { transfer } from './transfer.js';

/**
 * @import { Entry } from './file_chunks.js'
 * @import { Notices } from './notices.js'
 * @import { Opened } from './one_file.js'
 * @import { Program } from './program.js'
 */

const tensors = /\.(npy|npz|csv|safetensors)$/i;
const tokens = /\.(json|txt)$/i;

const nameOf = (/** @type {Entry} */ { path }) => path.split('/').at(-1) ?? '';

/**
 * Says whether dropped files are tensors rather than a model, which has a config.json.
 *
 * @param {Entry[]} entries
 */
export function areTensors(entries) {
    const names = entries.map(nameOf);
    if (names.includes('config.json')) {
        return false;
    }
    const own = names.filter((name) => !isModelPart(name));
    return own.some((name) => tensors.test(name)) || (own.length === names.length && own.some((name) => tokens.test(name)));
}

/**
 * Files have their own names, or their paths if two have the same name.
 *
 * @param {Entry[]} entries
 */
function named(entries) {
    const names = entries.map(nameOf);
    return entries.map(({ path, file }, i) => ({ name: names.indexOf(names[i]) === names.lastIndexOf(names[i]) ? names[i] : path, file }));
}

export class Tensors {
    #program;
    #notices;
    #reading = false;
    /** @type {Opened | null} The open tensors. */
    opened = null;

    /** @param {{program: Program, notices: Notices}} parts */
    constructor({ program, notices }) {
        this.#program = program;
        this.#notices = notices;
    }

    /** @param {Entry[]} entries */
    async open(entries) {
        const program = this.#program, notices = this.#notices;
        if (this.#reading) {
            notices.info('Other tensors are being read: wait for them, or cancel them first.');
            return;
        }
        this.#notices.renew();
        const own = entries.filter((entry) => !isModelPart(nameOf(entry)));
        const used = (own.length ? own : entries).filter((entry) => tensors.test(nameOf(entry)) || tokens.test(nameOf(entry)));
        const ignored = entries.filter((entry) => !used.includes(entry)).map(nameOf).filter((name) => !name.startsWith('.'));
        if (used.length === 0) {
            notices.error(`${listed(ignored)} ${ignored.length > 1 ? 'hold' : 'holds'} no tensors that are read here: `
                + 'they come as .npy, .npz, .safetensors or .csv, their tokens as .json or .txt.');
            return;
        }
        this.#reading = true;
        let whole = false;
        try {
            whole = await transfer(named(used), (...asked) => program.tensorsBuffer(...asked), { program, notices });
        } catch (error) {
            if (!(error instanceof Cancelled)) {
                notices.error(reasonOf(error));
            }
        } finally {
            this.#reading = false;
            if (whole) {
                this.opened = opened('tensors', listed(used.map(nameOf)), named(used).map(({ name, file }) => ({ path: `tensors/${name}`, file })));
                program.tensorsArrived();
            } else {
                program.tensorsDiscard();
            }
        }
        if (whole && ignored.length) {
            notices.info(`Not read: ${listed(ignored)}.`);
        }
    }
}
