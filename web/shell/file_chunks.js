// The bytes of a file, piece by piece. A file is anything with a name, a size and stream() or chunks().

export class Cancelled extends Error {}

// Browsers word a failed reading in many ways.
export async function reading(name, file, promise) {
    try {
        return await promise;
    } catch (error) {
        const trouble = file.trouble ?? 'it has moved or changed since it was chosen';
        throw new Error(`${name} could not be read: ${trouble}.`, { cause: error });
    }
}

// The page's turn, for a picture or a key: what has arrived already would be taken without one.
const longest = 8;  // ms between two
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

// Throws Cancelled once `cancelled()` says so, and an Error of one sentence where the file has another length than it said.
export async function* chunks(name, file, cancelled) {
    const source = async () => file.chunks?.() ?? file.stream();
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
