// A static file server for the built page: node serve.mjs FOLDER [PORT], or serve({folder, port}).
// It sends the headers that isolate the page from other origins, so that it may share memory with threads; a page in a frame is
// isolated by itself, where the browser knows how.
import { createReadStream } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { extname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** @import { IncomingMessage, ServerResponse } from 'node:http' */

/** @type {Record<string, string>} */
const types = {
    '.html': 'text/html; charset=utf-8',
    '.js': 'text/javascript; charset=utf-8',
    '.mjs': 'text/javascript; charset=utf-8',
    '.css': 'text/css; charset=utf-8',
    '.json': 'application/json',
    '.webmanifest': 'application/manifest+json',
    '.wasm': 'application/wasm',
    '.svg': 'image/svg+xml',
    '.png': 'image/png',
    '.otf': 'font/otf',
    '.ttf': 'font/ttf',
};

const isolated = { 'Cross-Origin-Opener-Policy': 'same-origin', 'Cross-Origin-Embedder-Policy': 'require-corp' };
const isolatedInFrame = { 'Document-Isolation-Policy': 'isolate-and-require-corp' };

const headers = {
    'Cross-Origin-Resource-Policy': 'same-origin',
    'X-Content-Type-Options': 'nosniff',
    'Cache-Control': 'no-cache',
};

/**
 * The file a request means, or nothing when there is none inside the folder.
 *
 * @param {string} folder
 * @param {string} url
 */
async function find(folder, url) {
    try {
        const path = decodeURIComponent(new URL(url, 'http://localhost').pathname);
        const file = await realpath(join(folder, path.endsWith('/') ? path + 'index.html' : path));
        const status = await stat(file);
        return file.startsWith(folder + sep) && status.isFile() ? { file, status } : undefined;
    } catch {
        return undefined;
    }
}

const encodings = [{ name: 'br', ending: '.br' }, { name: 'gzip', ending: '.gz' }];

/**
 * The same file as it lies compressed beside this one, in the best encoding that the request accepts. One that is older
 * than the file is of another build.
 *
 * @param {{file: string, status: import('node:fs').Stats}} found
 * @param {IncomingMessage} request
 */
async function compressed(found, request) {
    const accepted = (request.headers['accept-encoding'] ?? '').split(',').map((each) => each.split(';'))
        .filter(([, weight]) => !/^\s*q=0(\.0*)?\s*$/.test(weight ?? '')).map(([name]) => name.trim());
    for (const { name, ending } of encodings) {
        const status = accepted.includes(name) && await stat(found.file + ending).catch(() => undefined);
        if (status && status.mtimeMs >= Math.floor(found.status.mtimeMs)) {
            return { file: found.file + ending, status, encoding: name };
        }
    }
    return { ...found, encoding: undefined };
}

/**
 * @param {string} folder
 * @param {IncomingMessage} request
 * @param {ServerResponse} response
 */
async function answer(folder, request, response) {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
        response.writeHead(405, { ...headers, Allow: 'GET, HEAD' }).end();
        return;
    }
    const found = await find(folder, request.url ?? '/');
    const policy = request.headers['sec-fetch-dest'] === 'iframe' ? isolatedInFrame : isolated;
    if (!found) {
        response.writeHead(404, { ...headers, ...policy, 'Content-Type': 'text/plain' }).end('Not found\n');
        return;
    }
    const { file, status, encoding } = await compressed(found, request);
    const etag = `"${status.size.toString(16)}-${Math.floor(status.mtimeMs).toString(16)}"`;
    const described = { ...headers, ...policy, ETag: etag, Vary: 'Accept-Encoding, Sec-Fetch-Dest' };
    if (request.headers['if-none-match'] === etag) {
        response.writeHead(304, described).end();
        return;
    }
    response.writeHead(200, {
        ...described,
        ...(encoding && { 'Content-Encoding': encoding }),
        'Content-Type': types[extname(found.file)] ?? 'application/octet-stream',
        'Content-Length': status.size,
        'Last-Modified': status.mtime.toUTCString(),
    });
    if (request.method === 'HEAD') {
        response.end();
    } else {
        createReadStream(file).on('error', () => response.destroy()).pipe(response);
    }
}

/**
 * Port 0 takes any free port. The result names the address and ends the server.
 *
 * @param {{folder: string, port?: number}} options
 */
export async function serve({ folder, port = 0 }) {
    const root = await realpath(folder);
    const server = createServer((request, response) => answer(root, request, response));
    await new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, '127.0.0.1', () => resolve(undefined));
    });
    const { port: taken } = /** @type {import('node:net').AddressInfo} */ (server.address());
    return {
        url: `http://127.0.0.1:${taken}/`,
        close: () => new Promise((resolve) => {
            server.close(resolve);
            server.closeAllConnections();
        }),
    };
}

if (process.argv[1] && (await realpath(process.argv[1])) === fileURLToPath(import.meta.url)) {
    const [folder, port = '8000'] = process.argv.slice(2);
    try {
        const { url } = await serve({ folder, port: Number(port) });
        console.log(`Open ${url.replace('127.0.0.1', 'localhost')}`);
    } catch (reason) {
        const { code = '', message } = /** @type {NodeJS.ErrnoException} */ (reason);
        /** @type {Record<string, string>} */
        const reasons = {
            EADDRINUSE: `port ${port} is in use; choose another: tools/serve --port N`,
            EACCES: `port ${port} needs more rights; choose one above 1023: tools/serve --port N`,
            ENOENT: `there is no folder ${folder}`,
        };
        console.error(`serve: ${reasons[code] ?? message}`);
        process.exitCode = 1;
    }
}
