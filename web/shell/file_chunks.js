// Reads the bytes of a file, piece by piece.

/**
 * A File, or an object that is read like one. `trouble` says why it cannot be read, should that happen.
 *
 * @typedef {object} SourceFile
 * @property {number} size
 * @property {string} [trouble]
 * @property {() => Promise<string>} text
 * @property {() => ReadableStream<Uint8Array> | Promise<ReadableStream<Uint8Array>>} stream
 */

/**
 * A file from a drop, a file box or the site.
 *
 * @typedef {{path: string, file: SourceFile}} Entry
 */

export class Cancelled extends Error {}

/** An Error whose message is already a sentence for users. */
export class Told extends Error {}

/**
 * Awaits data read from a file. Browsers word a failure in many ways; here it is one sentence.
 *
 * @template Value
 * @param {string} name
 * @param {SourceFile} file
 * @param {Value | Promise<Value>} promise
 */
export async function reading(name, file, promise) {
    try {
        return await promise;
    } catch (error) {
        if (error instanceof Told || error instanceof Cancelled) {
            throw error;
        }
        const trouble = file.trouble ?? 'it has moved or changed since it was chosen';
        throw new Error(`${name} could not be read: ${trouble}.`, { cause: error });
    }
}

const longest = 8;  // ms between two turns

/**
 * Gives the page a turn, for a picture or a key; without this, data that has already arrived would be read
 * without a break.
 *
 * @returns {Promise<void>}
 */
function turn() {
    return new Promise((resolve) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => {
            port1.close();
            resolve();
        };
        port2.postMessage(null);
    });
}

/**
 * Throws Cancelled once `cancelled()` says so, and an Error of one sentence if the file's length differs from
 * its stated size.
 *
 * @param {string} name
 * @param {SourceFile} file
 * @param {() => boolean} cancelled
 */
export async function* chunks(name, file, cancelled) {
    const source = async () => file.stream();
    const reader = (await reading(name, file, source())).getReader();
    let arrived = 0;
    let since = performance.now();
    try {
        for (;;) {
            const { done, value } = await reading(name, file, reader.read());
            if (cancelled()) {
                throw new Cancelled();
            }
            if (done) {
                break;
            }
            arrived += value.length;
            if (arrived > file.size) {
                throw new Error(`${name} is longer than it was said to be.`);
            }
            yield value;
            if (performance.now() - since > longest) {
                await turn();
                since = performance.now();
            }
        }
    } finally {
        reader.cancel().catch(() => {});  // it has already failed
    }
    if (arrived < file.size) {
        throw new Error(`${name} did not arrive whole.`);
    }
}
