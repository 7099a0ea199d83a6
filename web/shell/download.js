// Downloads the bytes of a file of the hub, in order and each of them once, however often the connection
// breaks. This needs no document.

import { Cancelled } from './file_chunks.js';
import { HubError } from './hub.js';

/** @import { Hub, Listed } from './hub.js' */

const tries = 8;  // consecutive tries that bring nothing
const longest = 30e3;  // ms between two tries, unless the hub asks for more
const patience = 120e3;  // longest wait in ms that the hub may ask for

/** @param {number} failures in a row */
const pauseAfter = (failures) => Math.min(500 * 2 ** (failures - 1), longest);

/** The valve of a download: the user shuts it, opens it again, or ends the download. */
export class Valve {
    #connection = new AbortController();
    #changed = () => {};
    shut = false;
    ended = false;

    /** It belongs to the connection that is open now. */
    get signal() {
        return this.#connection.signal;
    }

    pause() {
        this.shut = true;
        this.#connection.abort();
    }

    resume() {
        this.shut = false;
        this.#changed();
    }

    end() {
        this.ended = true;
        this.#connection.abort();
        this.#changed();
    }

    /**
     * Resolves after this many ms, or as soon as the valve is opened or ended.
     *
     * @param {number} ms
     * @returns {Promise<void>}
     */
    wait(ms) {
        return new Promise((resolve) => {
            const timer = Number.isFinite(ms) ? setTimeout(resolve, ms) : undefined;
            this.#changed = () => {
                clearTimeout(timer);
                resolve();
            };
        });
    }

    /** Resolves once bytes may come, by a new connection. Throws Cancelled if the download has ended. */
    async passes() {
        while (this.shut && !this.ended) {
            await this.wait(Infinity);
        }
        if (this.ended) {
            throw new Cancelled();
        }
        this.#connection = new AbortController();
    }
}

/**
 * Returns where the bytes of a response begin in its file: a server that does not support Range sends all of
 * them.
 *
 * @param {Response} response
 * @param {number} from
 * @param {Listed} file
 * @param {string} host
 */
function startOf({ status, headers }, from, { path, size }, host) {
    if (status !== 206) {
        return 0;
    }
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get('Content-Range') ?? '') ?? [];
    if (total !== undefined && total !== '*' && Number(total) !== size) {
        throw new HubError(`${path} has another size than ${host} lists: try again later, or another revision.`);
    }
    if (start !== undefined && Number(start) !== from) {
        throw new HubError(`${host} sends another part of ${path} than was asked for.`, { passing: true });
    }
    return from;
}

/**
 * Yields the bytes of a file from a position on. Throws Cancelled once the valve is ended, and a HubError if
 * the file is not available. Before each wait, `onWait` is called with its reason and its ms.
 *
 * @param {Hub} hub
 * @param {{repository: string, commit: string}} of
 * @param {Listed} file
 * @param {{from?: number, valve: Valve, onWait: (reason: string, wait: number) => void}} how
 */
export async function* arriving(hub, of, file, { from = 0, valve, onWait }) {
    let at = from;
    let failures = 0;
    while (at < file.size) {
        await valve.passes();
        const { signal } = valve;
        try {
            const response = await hub.get(of, file, { from: at, signal });
            let place = startOf(response, at, file, hub.host);
            for await (const value of unbroken(hub, of, file, response)) {
                if (place + value.length > file.size) {
                    throw new HubError(`${file.path} is longer than ${hub.host} lists: try again later, or another revision.`);
                }
                const fresh = value.subarray(Math.max(at - place, 0));  // empty if all of it is here
                place += value.length;
                if (fresh.length > 0) {
                    at += fresh.length;
                    failures = 0;
                    yield fresh;
                }
            }
            if (at < file.size) {
                throw cutOff(hub, file);
            }
        } catch (error) {
            if (signal.aborted) {
                continue;
            }
            if (!(error instanceof HubError) || !error.passing || ++failures === tries || (error.wait ?? 0) > patience) {
                throw error;
            }
            const wait = error.wait ?? pauseAfter(failures);
            onWait(error.message, wait);
            await valve.wait(wait);
        }
    }
}

/**
 * @param {Hub} hub
 * @param {Listed} file
 */
const cutOff = ({ host }, { path }) => new HubError(`The connection to ${host} broke while ${path} was coming: check it, then go on.`, { passing: true });

/**
 * @param {Hub} hub
 * @param {{repository: string}} of
 * @param {Listed} file
 * @param {Response} response
 */
async function* unbroken(hub, { repository }, file, response) {
    try {
        yield* hub.chunks(response, { repository, path: file.path });
    } catch (error) {
        throw error instanceof HubError ? error : cutOff(hub, file);
    }
}
