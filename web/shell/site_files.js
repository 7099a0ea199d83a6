// Gives the site's files: the server's or, where the page is one file, those that lie in the page, each in a
// block: <script type="text/plain" data-file="PATH">, with its bytes compressed by gzip, in base64.

const slice = 1 << 18;  // characters of base64, a multiple of four

/** @param {string} path */
const block = (path) => document.querySelector(`script[data-file="${CSS.escape(path)}"]`);

/** Says whether the page is one file, which asks no server for anything. */
export const isOneFile = () => typeof document !== 'undefined' && block('manifest.json') !== null;

/** @param {string} text */
function bytesOf(text) {
    let at = 0;
    return /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (new ReadableStream({
        pull(controller) {
            if (at >= text.length) {
                controller.close();
                return;
            }
            controller.enqueue(Uint8Array.from(atob(text.slice(at, at + slice)), (letter) => letter.charCodeAt(0)));
            at += slice;
        },
    })).pipeThrough(new DecompressionStream('gzip'));
}

/**
 * @param {string} path
 * @param {RequestInit} [options]
 * @returns {Promise<Response>}
 */
export async function request(path, options) {
    if (!isOneFile()) {
        return fetch(new URL(path, document.baseURI), options);
    }
    const text = block(path)?.textContent;
    return text ? new Response(bytesOf(text)) : new Response(null, { status: 404 });
}

/**
 * Imports a module of the site.
 *
 * @param {string} path
 */
export async function importFile(path) {
    if (!isOneFile()) {
        return import(new URL(path, document.baseURI).href);
    }
    const url = URL.createObjectURL(new Blob([await (await request(path)).text()], { type: 'text/javascript' }));
    try {
        return await import(url);
    } finally {
        URL.revokeObjectURL(url);
    }
}
