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
    return run(await (await request(path)).text());
}

let runs = 0;

/**
 * Runs a module in a script of its own, and resolves to what it exports. A page around this one may forbid to import what has no
 * address, but not that.
 *
 * @param {string} module whose exports stand at its end
 */
function run(module) {
    const name = `module-${++runs}`;
    return new Promise((resolve) => {
        window.addEventListener(name, (event) => resolve(/** @type {CustomEvent} */ (event).detail), { once: true });
        const script = document.createElement('script');
        script.type = 'module';
        const list = /export\s*\{([^{}]*)\};?\s*$/.exec(module), [whole = ''] = list ?? /export default \w+;?\s*$/.exec(module) ?? [];
        const exported = list ? list[1].split(',').map((each) => each.trim().split(/\s+as\s+/)) : whole ? [[whole.split(/[\s;]+/)[2], 'default']] : [];
        const members = exported.map(([from, as = from]) => `${as}: ${from}`).join(', ');
        script.textContent = `${module.slice(0, module.length - whole.length)}\ndispatchEvent(new CustomEvent('${name}', { detail: { ${members} } }));\n`;
        document.head.append(script);
        script.remove();
    });
}
