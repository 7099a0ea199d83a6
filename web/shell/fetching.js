// Fetches a model from the hub: file by file into the kept files or, if nothing can be kept, straight to the
// reader. It can be paused and continued, also after a failure.

import { arriving, Valve } from './download.js';
import { Told } from './file_chunks.js';
import { NoRoom, sizeOfPlan } from './kept.js';
import { checkOf } from './sha.js';

/**
 * @import { Entry, SourceFile } from './file_chunks.js'
 * @import { Hub, Listed } from './hub.js'
 * @import { Kept, Plan } from './kept.js'
 */

const recent = 8000;  // ms over which the speed is measured
const flying = 64;  // chunks in the process of being written

/** Measures how fast bytes arrive. */
class Meter {
    /** @type {[time: number, bytes: number][]} */
    #seen = [];

    /** @param {number} bytes received so far */
    saw(bytes) {
        const now = performance.now();
        if (now < (this.#seen.at(-1)?.[0] ?? 0) + 200) {
            return;
        }
        this.#seen = [...this.#seen.filter(([time]) => time > now - recent), [now, bytes]];
    }

    stop() {
        this.#seen = [];
    }

    /** Bytes per second; 0 while unknown. */
    get speed() {
        const [first, last] = [this.#seen[0], this.#seen.at(-1)];
        return first && last && last[0] > first[0] + 500 ? (1000 * (last[1] - first[1])) / (last[0] - first[0]) : 0;
    }
}

/**
 * @param {Hub} hub
 * @param {Listed} file
 */
const otherThanListed = (hub, { path, sha256 }) => new Told(`${path} did not arrive as ${hub.host} lists it (another ${sha256 ? 'SHA-256' : 'SHA-1'}): nothing of it is kept; go on to fetch it again.`);

/**
 * A file that is read while it arrives.
 *
 * @implements {SourceFile}
 */
class ArrivingFile {
    #bytes;

    /**
     * @param {Listed} file
     * @param {() => AsyncGenerator<Uint8Array>} bytes
     */
    constructor({ size }, bytes) {
        this.size = size;
        this.#bytes = bytes;
    }

    stream() {
        const bytes = this.#bytes();
        return new ReadableStream({
            async pull(controller) {
                const { done, value } = await bytes.next();
                if (done) {
                    controller.close();
                } else {
                    controller.enqueue(value);
                }
            },
            async cancel() {
                await bytes.return(undefined);
            },
        }, { highWaterMark: 0 });
    }

    async text() {
        const decoder = new TextDecoder();
        let text = '';
        for await (const chunk of this.#bytes()) {
            text += decoder.decode(chunk, { stream: true });
        }
        return text + decoder.decode();
    }
}

export class Fetching {
    #hub;
    #kept;
    #valve = new Valve();
    #meter = new Meter();
    #report;
    /** @type {Set<string>} Paths of the files that have arrived and been checked. */
    #checked = new Set();
    /** @type {Map<string, number>} How much of each file has arrived. */
    #here = new Map();

    /** Describes what it waits for. */
    words = '';
    /** @type {Told | null} Why it has stopped, if the user has not paused it. */
    fault = null;
    fetched = 0;

    /**
     * @param {Hub} hub
     * @param {Kept | null} kept null: nothing can be kept
     * @param {Plan} plan
     * @param {() => void} report called when something has changed
     */
    constructor(hub, kept, plan, report) {
        this.#hub = hub;
        this.#kept = kept;
        this.plan = plan;
        this.#report = report;
    }

    get total() { return sizeOfPlan(this.plan); }
    get arrived() { return [...this.#here.values()].reduce((sum, size) => sum + size, 0); }
    get paused() { return this.#valve.shut; }
    get speed() { return this.#meter.speed; }

    /** Says whether it has stopped because nothing more can be kept. */
    get full() { return this.fault instanceof NoRoom; }

    /** Continues without keeping anything, and deletes the model's files to make room. */
    async keepNothing() {
        await this.#kept?.remove(this.plan).catch(() => {});
        this.#kept = null;
        this.#here.clear();
        this.resume();
    }

    /** Says whether the model is kept. */
    get keeps() { return this.#kept !== null; }

    /** Seconds left at the present speed; Infinity if unknown. */
    get left() { return (this.total - this.arrived) / this.speed; }

    pause() {
        this.#valve.pause();
        this.#meter.stop();
        this.#report();
    }

    resume() {
        this.fault = null;
        this.words = '';
        this.#valve.resume();
        this.#report();
    }

    /** The kept files stay, so that the download can be continued. */
    end() {
        this.#valve.end();
    }

    /**
     * Returns the model's files, once they have arrived or, if nothing can be kept, for reading as they
     * arrive. Throws Cancelled if it is ended.
     *
     * @returns {Promise<Entry[]>}
     */
    async entries() {
        const { files, repository } = this.plan;
        for (;;) {
            const kept = this.#kept;
            if (!kept) {
                const name = repository.split('/').at(-1);
                return files.map((file) => ({ path: `${name}/${file.path}`, file: new ArrivingFile(file, () => this.#checkedBytes(file)) }));
            }
            try {
                await kept.begin(this.plan);
                for (const file of files.filter(({ path }) => !this.#checked.has(path))) {
                    await this.#keep(kept, file);
                }
                await kept.finish(this.plan);
                return await kept.entries(this.plan).catch((error) => {
                    this.#checked.clear();  // files deleted since are fetched again
                    throw error;
                });
            } catch (error) {
                if (!(error instanceof Told)) {
                    throw error;
                }
                this.fault = error;
                this.pause();
                await this.#valve.passes();
            }
        }
    }

    /**
     * @param {Kept} kept
     * @param {Listed} file
     */
    async #keep(kept, file) {
        const { plan } = this;
        const from = await kept.openFile(plan, file);
        this.#set(file, from);
        try {
            await this.#write(kept, file, from);
        } catch (error) {
            this.#set(file, await kept.leaveFile(plan).catch(() => 0));
            throw error;
        }
        if (!await kept.closeFile(plan)) {
            this.#set(file, 0);
            throw otherThanListed(this.#hub, file);
        }
        this.#checked.add(file.path);
    }

    /**
     * @param {Kept} kept
     * @param {Listed} file
     * @param {number} from
     */
    async #write(kept, file, from) {
        const { plan } = this;
        let at = from;
        /** @type {Promise<void>[]} */
        const written = [];
        for await (const bytes of this.#arriving(file, from)) {
            const { length } = bytes;  // afterwards they belong to the worker
            const adding = kept.add(plan, bytes, at);
            at += length;
            adding.catch(() => {});  // it is awaited below
            written.push(adding);
            if (written.length > flying) {
                await written.shift();
            }
        }
        await Promise.all(written);
    }

    /** @param {Listed} file */
    async* #checkedBytes(file) {
        const check = checkOf(file);
        for await (const bytes of this.#arriving(file, 0)) {
            check.update(bytes);
            yield bytes;
        }
        if (!check.holds()) {
            throw otherThanListed(this.#hub, file);
        }
    }

    /**
     * @param {Listed} file
     * @param {number} from
     */
    async* #arriving(file, from) {
        const onWait = (/** @type {string} */ reason, /** @type {number} */ wait) => {
            this.words = `${reason} The next try is in ${Math.ceil(wait / 1000)} s.`;
            this.#meter.stop();
            this.#report();
        };
        let here = from;
        for await (const bytes of arriving(this.#hub, this.plan, file, { from, valve: this.#valve, onWait })) {
            here += bytes.length;
            this.fetched += bytes.length;
            this.words = '';
            this.#set(file, here);
            yield bytes;
        }
    }

    /**
     * @param {Listed} file
     * @param {number} bytes
     */
    #set({ path }, bytes) {
        this.#here.set(path, bytes);
        this.#meter.saw(this.arrived);
        this.#report();
    }
}
