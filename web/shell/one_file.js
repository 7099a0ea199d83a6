// Makes one file of the page and of what it needs. It opens from a disk, without a server, the network, or
// workers. The page uses this, and so does tools/package.

/** @import { Entry } from './file_chunks.js' */

/**
 * A file of the site under its path there.
 *
 * @typedef {{path: string, bytes: Blob}} Part
 */

const policy = "default-src 'none'; script-src 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'unsafe-inline'; "
    + "img-src blob: data:; connect-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'";
const start = 'one_file_start.js';

/** The build of the program for one file, which has no threads: plain SIMD, which all browsers run. */
export const variant = 'simd';

/**
 * Says whether a file of the site belongs into the page, whatever is on screen. The font for characters that
 * the others lack is for browsers that do not let letters be read; here these are written as numbers.
 *
 * @param {string} path
 */
export const isNeeded = (path) => !path.startsWith('models/') && !/_worker\.js$|^icons\/|^fonts\/DejaVu|\.webmanifest$/.test(path)
    && (!path.startsWith('explorer-') || path.startsWith(`explorer-${variant}.`));

export const mostOwn = 16e6;  // bytes of a model or of tensors

/**
 * Files that are open in a subject of the program, with their paths in the page. Of more than it takes, only the size is known.
 *
 * @typedef {{subject: string, name: string, size: number, files: Entry[]}} Opened
 */

/**
 * @param {string} subject
 * @param {string} name
 * @param {Entry[]} files
 * @returns {Opened}
 */
export function opened(subject, name, files) {
    const size = files.reduce((sum, { file }) => sum + file.size, 0);
    return { subject, name, size, files: size <= mostOwn ? files : [] };
}

/** @typedef {(bytes: Blob) => Promise<Uint8Array>} Gzip */

/** @type {Gzip} */
const gzip = async (bytes) => new Uint8Array(await new Response(bytes.stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer());

/** @param {Uint8Array} bytes */
function base64(bytes) {
    const slice = 3 << 13;  // a multiple of three, so that the pieces join
    let text = '';
    for (let at = 0; at < bytes.length; at += slice) {
        text += btoa(String.fromCharCode(...bytes.subarray(at, at + slice)));
    }
    return text;
}

/** @param {string} path */
const quoted = (path) => path.replace(/[&"<]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/**
 * @param {string} page index.html
 * @param {[pattern: RegExp, by: string]} change
 */
function replaced(page, [pattern, by]) {
    if (!pattern.test(page)) {
        throw new Error(`index.html has no ${pattern.source}.`);
    }
    return page.replace(pattern, () => by);
}

/**
 * Resolves to the page.
 *
 * @param {Part[]} parts all files, index.html and one_file_start.js among them
 * @param {string} view what it opens with, as in a link behind its #
 * @param {Gzip} [compress]
 * @returns {Promise<Blob>}
 */
export async function oneFile(parts, view, compress = gzip) {
    const textOf = (/** @type {string} */ path) => {
        const part = parts.find((each) => each.path === path);
        if (!part) {
            throw new Error(`${path} is missing.`);
        }
        return part.bytes.text();
    };
    const sizes = Object.fromEntries(parts.map(({ path, bytes }) => [path, bytes.size]));
    const held = [...parts, { path: 'manifest.json', bytes: new Blob([JSON.stringify(sizes)]) }, { path: 'view', bytes: new Blob([view]) }];
    const script = (await textOf(start)).replaceAll('</', '<\\/');
    /** @type {[RegExp, string][]} */
    const changes = [
        [/<html lang="en">/, '<html lang="en" hidden>'],
        [/(?<=http-equiv="Content-Security-Policy" content=")[^"]*/, policy],
        [/<link rel="stylesheet" href="style\.css">/, '<style data-from="style.css"></style>'],
        [/<link rel="stylesheet" href="dark\.css"([^>]*)>/, '<style data-from="dark.css" id="dark" media="(prefers-color-scheme: dark)"></style>'],
        [/<link rel="preload"[^>]*>\n/, ''],
        [/<link rel="manifest"[^>]*>\n<link rel="apple-touch-icon"[^>]*>\n/, ''],
        [/<script type="module" src="main\.js"><\/script>/, `<script type="module">\n${script}</script>`],
    ];
    const page = changes.reduce(replaced, await textOf('index.html'));
    const blocks = [];
    for (const { path, bytes } of held) {
        blocks.push(`<script type="text/plain" data-file="${quoted(path)}">${base64(await compress(bytes))}</script>\n`);
    }
    const end = page.lastIndexOf('</body>');
    return new Blob([page.slice(0, end), ...blocks, page.slice(end)], { type: 'text/html' });
}
