// Keeps models in the browser's private file system: hub/MODEL@COMMIT/ holds a model's files, the plan for
// fetching them and kept.json, which is written once all of them are there and checked, and without which
// nothing is opened.

import { Told } from './file_chunks.js';
import { isCommit, nameOf } from './hub.js';
import { reasonOf } from './reason.js';
import { isOneFile } from './site_files.js';

/**
 * @import { Entry } from './file_chunks.js'
 * @import { Listed, Place } from './hub.js'
 */

/**
 * A model and how it is fetched. `asked` is the name that the user gave the repository; `file` is the .gguf
 * file if it is one, otherwise empty.
 *
 * @typedef {{repository: string, asked: string, revision: string, commit: string, file: string, licence:
 *     string, files: Listed[]}} Plan
 */

/**
 * How much of a model is here, all of it or some bytes, and since when, in ms since 1970.
 *
 * @typedef {{plan: Plan, whole: boolean, here: number, since: number}} KeptModel
 */

const done = 'kept.json', planned = 'plan.json';

/** @param {Plan} plan */
const folderOf = ({ repository, commit, file }) => encodeURIComponent(nameOf({ repository, revision: commit, file }));

/** @param {Plan} plan */
export const sizeOfPlan = ({ files }) => files.reduce((sum, { size }) => sum + size, 0);

/**
 * Says whether the plan is for what the place names. Without a revision, any commit of the main one matches,
 * also if a link named it.
 *
 * @param {Plan} plan
 * @param {Place} place
 */
export const isFor = (plan, { repository, revision, file }) => [plan.repository, plan.asked].includes(repository)
    && (revision === '' ? plan.revision === '' || isCommit(plan.revision) : [plan.revision, plan.commit].includes(revision)) && (file === '' || file === plan.file);

/** There is no room to keep more. */
export class NoRoom extends Told {}

/**
 * @param {string} name of what the browser threw
 * @param {string} message
 * @param {string} what
 */
function told(name, message, what) {
    if (name === 'QuotaExceededError') {
        return new NoRoom(`This browser has no more room for ${what}: delete a kept model or free some of the disk, then go on, or open it without keeping it.`);
    }
    return new Told(name === 'NoModificationAllowedError' || name === 'InvalidModificationError'
        ? `${what} is in use in another tab: close it there, then go on.`
        : `${what} could not be kept: the browser says “${message.replace(/\.$/, '')}”.`);
}

/**
 * Returns the folder of all models. It is requested each time, because a browser may clear it, which makes an
 * old handle invalid.
 */
const hubFolder = async () => (await navigator.storage.getDirectory()).getDirectoryHandle('hub', { create: true });

/**
 * @param {FileSystemDirectoryHandle} folder
 * @param {string} name
 * @returns {Promise<{plan: Plan, since: number} | null>}
 */
async function planIn(folder, name) {
    try {
        const file = await (await folder.getFileHandle(name)).getFile();
        const plan = JSON.parse(await file.text());
        return plan?.files?.length > 0 ? { plan, since: file.lastModified } : null;
    } catch {
        return null;  // it is not there, or half written
    }
}

export class Kept {
    #worker;

    /** @param {Worker} worker */
    constructor(worker) {
        this.#worker = worker;
    }

    /** Null if nothing can be kept: in some private windows, and in a page that is one file. */
    static async open() {
        if (isOneFile()) {
            return null;
        }
        try {
            await hubFolder();
            const kept = new Kept(new Worker(new URL('kept_worker.js', import.meta.url), { type: 'module' }));
            return await kept.#ask('able', {}, '') ? kept : null;
        } catch {
            return null;
        }
    }

    /**
     * @param {string} deed
     * @param {object} what
     * @param {string} whom it concerns, for the sentence about what went wrong
     * @param {Transferable[]} [given]
     * @returns {Promise<any>}
     */
    #ask(deed, what, whom, given = []) {
        const { port1, port2 } = new MessageChannel();
        this.#worker.postMessage({ deed, what }, [port2, ...given]);
        return new Promise((resolve, reject) => {
            port1.onmessage = ({ data: { answer, failed } }) => {
                port1.close();
                if (failed) {
                    reject(told(failed.name, failed.message, whom));
                } else {
                    resolve(answer);
                }
            };
            this.#worker.onerror = () => reject(new Told(`${whom} could not be kept: reload the page, then go on.`));
        });
    }

    /**
     * Lists the models by name. Throws Told if the browser does not list them.
     *
     * @returns {Promise<KeptModel[]>}
     */
    async list() {
        try {
            /** @type {KeptModel[]} */
            const models = [];
            for await (const folder of (await hubFolder()).values()) {
                const model = folder.kind === 'directory' ? await this.#modelIn(folder) : null;
                models.push(...model ? [model] : []);
            }
            return models.sort((a, b) => nameOf(a.plan).localeCompare(nameOf(b.plan)));
        } catch (error) {
            throw new Told(`The models kept on this machine could not be listed: the browser says “${reasonOf(error).replace(/\.$/, '')}”.`);
        }
    }

    /**
     * @param {FileSystemDirectoryHandle} folder
     * @returns {Promise<KeptModel | null>}
     */
    async #modelIn(folder) {
        const finished = await planIn(folder, done);
        const found = finished ?? await planIn(folder, planned);
        if (!found) {
            return null;
        }
        const { plan, since } = found;
        const sizes = await Promise.all(plan.files.map(async ({ path, size }) => Math.min(await this.#sizeIn(folder, path), size)));
        const whole = finished !== null && plan.files.every(({ size }, i) => sizes[i] === size);
        return { plan, whole, since, here: sizes.reduce((sum, size) => sum + size, 0) };
    }

    /**
     * @param {FileSystemDirectoryHandle} folder
     * @param {string} path
     */
    async #sizeIn(folder, path) {
        try {
            return (await (await folder.getFileHandle(encodeURIComponent(path))).getFile()).size;
        } catch {
            return 0;
        }
    }

    /**
     * Returns the files of a complete model, as if they had been dropped. Throws Told if one no longer
     * exists.
     *
     * @param {Plan} plan
     * @returns {Promise<Entry[]>}
     */
    async entries(plan) {
        const name = plan.repository.split('/').at(-1);
        try {
            const folder = await (await hubFolder()).getDirectoryHandle(folderOf(plan));
            return await Promise.all(plan.files.map(async ({ path }) => ({
                path: `${name}/${path}`,
                file: await (await folder.getFileHandle(encodeURIComponent(path))).getFile(),
            })));
        } catch {
            throw new Told(`${plan.repository} is no longer kept whole on this machine: fetch it again.`);
        }
    }

    /** @param {Plan} plan */
    async remove(plan) {
        try {
            const hub = await hubFolder();
            const folder = await hub.getDirectoryHandle(folderOf(plan));
            // Deleted first, so that a half-deleted model is not opened.
            await folder.removeEntry(done).catch(() => {});
            await hub.removeEntry(folderOf(plan), { recursive: true });
        } catch (error) {
            const { name, message } = /** @type {Error} */ (error);
            if (name !== 'NotFoundError') {  // otherwise it is already gone
                throw told(name, message, plan.repository);
            }
        }
    }

    /**
     * Returns how many more bytes the browser says it takes: some report more than the disk has, and some do
     * not say.
     */
    async room() {
        try {
            const { quota = Infinity, usage = 0 } = await navigator.storage.estimate();
            return Math.max(quota - usage, 0);
        } catch {
            return Infinity;
        }
    }

    /**
     * Begins to keep a model, or continues.
     *
     * @param {Plan} plan
     */
    async begin(plan) {
        // Some browsers ask the user, and the download does not wait for that.
        navigator.storage.persist?.().catch(() => {});
        await this.#ask('note', { path: [folderOf(plan), planned], text: JSON.stringify(plan) }, plan.repository);
    }

    /**
     * Resolves to the number of the file's bytes that are here.
     *
     * @param {Plan} plan
     * @param {Listed} file
     * @returns {Promise<number>}
     */
    openFile(plan, file) {
        return this.#ask('open', { path: [folderOf(plan), encodeURIComponent(file.path)], file }, plan.repository);
    }

    /**
     * Adds bytes whose position in the file is `at`. They then belong to the worker.
     *
     * @param {Plan} plan
     * @param {Uint8Array} bytes
     * @param {number} at
     * @returns {Promise<void>}
     */
    add(plan, bytes, at) {
        return this.#ask('add', { bytes, at }, plan.repository, [bytes.buffer]);
    }

    /**
     * Resolves to whether the file matches the listing.
     *
     * @param {Plan} plan
     * @returns {Promise<boolean>}
     */
    closeFile(plan) {
        return this.#ask('close', {}, plan.repository);
    }

    /**
     * Resolves to the number of the file's bytes that are here.
     *
     * @param {Plan} plan
     * @returns {Promise<number>}
     */
    leaveFile(plan) {
        return this.#ask('release', {}, plan.repository);
    }

    /** @param {Plan} plan whose files are all here and checked */
    finish(plan) {
        return this.#ask('note', { path: [folderOf(plan), done], text: JSON.stringify(plan) }, plan.repository);
    }
}
