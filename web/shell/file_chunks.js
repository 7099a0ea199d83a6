// Reads the bytes of a file, piece by piece.

/**
 * A File, or what is read like one. `trouble` says why it cannot be read, should that happen.
 *
 * @typedef {object} SourceFile
 * @property {number} size
 * @property {string} [trouble]
 * @property {() => Promise<string>} text
 * @property {() => ReadableStream<Uint8Array> | Promise<ReadableStream<Uint8Array>>} stream
 */

/**
 * A file as it came from a drop, a file box or the site.
 *
 * @typedef {{path: string, file: SourceFile}} Entry
 */

export class Cancelled extends Error {}

/** An Error that is already a sentence for people. */
export class Told extends Error {}

/**
 * Awaits what is read of a file. Browsers word a failure in many ways; here it is one sentence.
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
 * The page has its turn, for a picture or a key: what has arrived already would be taken without one.
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
 * Throws Cancelled once `cancelled()` says so, and an Error of one sentence where the file has another length than it
 * said.
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
        reader.cancel().catch(() => {});  // it has failed already
    }
    if (arrived < file.size) {
        throw new Error(`${name} did not arrive whole.`);
    }
}
