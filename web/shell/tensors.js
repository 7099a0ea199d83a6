// Reads files of a person's own tensors straight into the memory of the program, which makes of them what it can.

import { Cancelled, chunks } from './file_chunks.js';
import { bytes, isModelPart, listed } from './model_files.js';
import { reasonOf } from './reason.js';

/**
 * @import { Entry, SourceFile } from './file_chunks.js'
 * @import { Notices } from './notices.js'
 * @import { Program } from './program.js'
 */

const tensors = /\.(npy|npz|csv|safetensors)$/i;
const tokens = /\.(json|txt)$/i;

const nameOf = (/** @type {Entry} */ { path }) => path.split('/').at(-1) ?? '';

/**
 * Says whether what was dropped is tensors rather than a model, which has a config.json.
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
 * Files have their own names, or their paths where two have the same name.
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

    /** @param {{program: Program, notices: Notices}} parts */
    constructor({ program, notices }) {
        this.#program = program;
        this.#notices = notices;
    }

    /** @param {Entry[]} entries */
    async open(entries) {
        if (this.#reading) {
            this.#notices.info('Other tensors are being read: wait for them, or cancel them first.');
            return;
        }
        this.#notices.over();
        const own = entries.filter((entry) => !isModelPart(nameOf(entry)));
        const used = (own.length ? own : entries).filter((entry) => tensors.test(nameOf(entry)) || tokens.test(nameOf(entry)));
        const ignored = entries.filter((entry) => !used.includes(entry)).map(nameOf).filter((name) => !name.startsWith('.'));
        if (used.length === 0) {
            this.#notices.error(`${listed(ignored)} ${ignored.length > 1 ? 'hold' : 'holds'} no tensors that are read here: `
                + 'they come as .npy, .npz, .safetensors or .csv, their tokens as .json or .txt.');
            return;
        }
        this.#reading = true;
        let whole = false;
        try {
            whole = await this.#transfer(named(used));
        } catch (error) {
            if (!(error instanceof Cancelled)) {
                this.#notices.error(reasonOf(error));
            }
        } finally {
            this.#reading = false;
            if (whole) {
                this.#program.tensorsArrived();
            } else {
                this.#program.tensorsDiscard();
            }
        }
        if (whole && ignored.length) {
            this.#notices.info(`Not read: ${listed(ignored)}.`);
        }
    }

    /**
     * The answer is false when the program refuses a file.
     *
     * @param {{name: string, file: SourceFile}[]} files
     */
    async #transfer(files) {
        const total = files.reduce((sum, { file }) => sum + file.size, 0);
        const what = files.length === 1 ? files[0].name : `${files.length} files`;
        let arrived = 0;
        let cancelled = false;
        const progress = this.#notices.progress(`Reading ${what}`, () => { cancelled = true; });
        try {
            for (const { name, file } of files) {
                const address = this.#program.tensorsBuffer(name, file.size);
                if (address === 0) {
                    return false;
                }
                let written = 0;
                for await (const chunk of chunks(name, file, () => cancelled)) {
                    this.#program.write(address + written, chunk);
                    written += chunk.length;
                    arrived += chunk.length;
                    progress(`Reading ${what}: ${bytes(arrived)} of ${bytes(total)}`, arrived / total);
                }
            }
            return true;
        } finally {
            progress.end();
        }
    }
}
