// Runs a model hub of our own that behaves like the hub: listings in pages, small files compressed, weights
// redirected to another origin, ranges, refusals. A browser reaches it under the hub's own names through a
// proxy, with real TLS.
import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { certificateFor } from './certificate.mjs';

/** @import { IncomingMessage, ServerResponse } from 'node:http' */

/**
 * A request: for the state of a repository, a page of its listing, a file at the hub, or its bytes elsewhere.
 *
 * @typedef {{kind: 'info' | 'tree' | 'file' | 'bytes', repository: string, path: string, from: number}}
 *     Request
 */

/**
 * How the hub fails: with a status; with other bytes, or another answer to a look-up; it cuts the connection
 * after some bytes of the answer, or stops sending; it does not support ranges.
 *
 * @typedef {object} Fault
 * @property {number} [status]
 * @property {Record<string, string>} [headers]
 * @property {Buffer} [bytes]
 * @property {string} [body]
 * @property {number} [cut]
 * @property {number} [hold]
 * @property {boolean} [whole]
 */

/**
 * `token` gives access to a gated repository.
 *
 * @typedef {object} Stored
 * @property {Record<string, Buffer>} files
 * @property {string} commit
 * @property {string[]} revisions
 * @property {object} info
 * @property {string} token
 * @property {Record<string, object>} listed what else the listing says about a file
 */

export const hubHost = 'huggingface.co', bytesHost = 'cdn-lfs.hf.co';

const sha = (kind, ...parts) => parts.reduce((hash, part) => hash.update(part), createHash(kind)).digest('hex');
const isLarge = (path) => /\.(safetensors|gguf|bin)$/.test(path);
const perPage = 3;

export class TestHub {
    /** @type {Map<string, Stored>} */
    #stored = new Map();
    /** Every request received, including whatever a second origin must not see. */
    log = [];
    /** @type {Set<string>} The hosts that a browser has tried to reach. */
    reached = new Set();
    /** @type {(request: Request) => Fault | undefined} */
    fault = () => undefined;
    offline = false;
    /** @type {Set<import('node:net').Socket>} */
    #sockets = new Set();

    /**
     * Stores a repository: {path: bytes}.
     *
     * @param {string} name
     * @param {Record<string, Buffer>} files
     * @param {Partial<Stored>} [more]
     */
    put(name, files, { revisions = ['main'], info = {}, token = '', listed = {} } = {}) {
        const commit = sha('sha1', name, ...Object.entries(files).flat());
        this.#stored.set(`${name}@${revisions[0]}`, { files, commit, revisions, info, token, listed });
        return commit;
    }

    #find(name, revision) {
        return [...this.#stored].find(([key, { commit, revisions }]) => key.startsWith(`${name}@`) && [commit, ...revisions].includes(revision))?.[1];
    }

    #exists(name) {
        return [...this.#stored.keys()].some((key) => key.startsWith(`${name}@`));
    }

    /**
     * @param {string} host
     * @param {IncomingMessage} request
     * @param {ServerResponse} response
     */
    answer(host, request, response) {
        const url = new URL(request.url ?? '/', `http://${host}`);
        const { origin, authorization = '', range = '' } = request.headers;
        const elsewhere = url.host === this.bytesHost;
        this.log.push({ host: url.host, method: request.method, path: decodeURIComponent(url.pathname), range, authorization, referrer: request.headers.referer ?? '', cookie: request.headers.cookie ?? '', asks: request.headers['access-control-request-headers'] ?? '' });
        response.setHeader('Access-Control-Allow-Origin', elsewhere ? '*' : origin ?? '*');
        response.setHeader('Access-Control-Expose-Headers', 'X-Repo-Commit,X-Error-Code,X-Error-Message,ETag,Link,Accept-Ranges,Content-Range,Retry-After');
        if (request.method === 'OPTIONS') {
            response.setHeader('Access-Control-Allow-Headers', 'authorization, range');
            response.writeHead(204).end();
            return;
        }
        const [, info, tree, treeAt, infoAt] = /^\/api\/models\/((?:[\w.-]+\/)?[\w.-]+?)(?:(\/tree\/)([^/]+)|\/revision\/([^/]+))?$/.exec(decodeURI(url.pathname)) ?? [];
        const [, repository, commit, path] = /^\/((?:[\w.-]+\/)?[\w.-]+)\/resolve\/([^/]+)\/(.+)$/.exec(url.pathname) ?? [];
        const from = Number(/^bytes=(\d+)-$/.exec(range)?.[1] ?? 0);
        /** @type {Request} */
        const what = { kind: elsewhere ? 'bytes' : info ? tree ? 'tree' : 'info' : 'file', repository: info ?? repository, path: path && decodeURIComponent(path), from };
        const fault = this.fault(what) ?? {};
        if (fault.status) {
            response.writeHead(fault.status, fault.headers).end('refused');
        } else if (fault.body !== undefined) {
            response.writeHead(200).end(fault.body);
        } else if (info) {
            this.#listing(info, decodeURIComponent(treeAt ?? infoAt ?? 'main'), tree ? url : null, response);
        } else if (repository) {
            this.#file(what, decodeURIComponent(commit), { elsewhere, authorization, range, fault }, request, response);
        } else {
            response.writeHead(404).end();
        }
    }

    #refuse(response, status, code) {
        response.writeHead(status, { 'X-Error-Code': code, 'Content-Type': 'application/json' }).end('{"error":"refused"}');
    }

    #listing(name, revision, tree, response) {
        const stored = this.#find(name, revision);
        if (!stored) {
            this.#refuse(response, this.#exists(name) ? 404 : 401, this.#exists(name) ? 'RevisionNotFound' : 'RepoNotFound');
            return;
        }
        const { files, commit, info, token, listed } = stored;
        if (!tree) {
            const body = { id: name, sha: commit, gated: token ? 'manual' : false, tags: ['license:mit'], ...info };
            response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
            return;
        }
        const at = Number(tree.searchParams.get('cursor') ?? 0), all = Object.entries(files);
        const page = all.slice(at, at + perPage).map(([path, bytes]) => ({
            type: 'file', path, size: bytes.length, oid: sha('sha1', `blob ${bytes.length}\0`, bytes),
            ...isLarge(path) ? { lfs: { oid: sha('sha256', bytes), size: bytes.length, pointerSize: 134 } } : {}, ...listed[path],
        }));
        if (at + perPage < all.length) {
            tree.searchParams.set('cursor', String(at + perPage));
            response.setHeader('Link', `<${this.address}${tree.pathname}${tree.search}>; rel="next"`);
        }
        response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify([{ type: 'directory', path: 'onnx', size: 0, oid: '' }, ...page]));
    }

    #file({ repository, path, from }, commit, { elsewhere, authorization, range, fault }, request, response) {
        const stored = this.#find(repository, commit);
        const listed = stored?.files[path];
        if (!stored || !listed) {
            this.#refuse(response, 404, 'EntryNotFound');
            return;
        }
        if (stored.token && !elsewhere && authorization !== `Bearer ${stored.token}`) {
            this.#refuse(response, authorization ? 403 : 401, 'GatedRepo');
            return;
        }
        if (isLarge(path) && !elsewhere) {
            response.writeHead(302, { Location: `${this.bytesAddress}/${repository}/resolve/${commit}/${encodeURIComponent(path)}?signature=1` }).end();
            return;
        }
        const bytes = fault.bytes ?? listed;
        if (range && !fault.whole) {
            if (from >= bytes.length) {
                response.writeHead(416, { 'Content-Range': `bytes */${bytes.length}` }).end();
                return;
            }
            response.writeHead(206, { 'Content-Range': `bytes ${from}-${bytes.length - 1}/${bytes.length}`, 'Content-Length': bytes.length - from });
            this.#send(bytes.subarray(from), fault, response);
        } else if (!isLarge(path) && /\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) {
            const packed = gzipSync(bytes);
            response.writeHead(200, { 'Content-Encoding': 'gzip', 'Content-Length': packed.length });
            this.#send(packed, fault, response);
        } else {
            response.writeHead(200, { 'Content-Length': bytes.length });
            this.#send(bytes, fault, response);
        }
    }

    #send(bytes, { cut, hold }, response) {
        const first = cut ?? hold;
        if (first === undefined || first >= bytes.length) {
            response.end(bytes);
            return;
        }
        const then = () => { if (cut !== undefined) { setTimeout(() => response.destroy(), 5); } };
        if (first > 0) {
            response.write(bytes.subarray(0, first), then);
        } else {
            response.flushHeaders();
            then();
        }
    }

    async #listen(server) {
        server.on('connection', (socket) => {
            this.#sockets.add(socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket)));
        });
        await new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(undefined)); });
        server.unref();
        return server.address().port;
    }

    /** For programs: two origins without TLS. */
    async open() {
        const serve = async () => `127.0.0.1:${await this.#listen(createServer((request, response) => this.answer(request.headers.host ?? '', request, response)))}`;
        this.bytesHost = await serve();
        this.address = `http://${await serve()}`;
        this.bytesAddress = `http://${this.bytesHost}`;
        return this;
    }

    /**
     * For a browser: the hub's names, through a proxy that knows no others. Returns the options for its
     * context.
     */
    async openForBrowser() {
        this.bytesHost = bytesHost;
        this.address = `https://${hubHost}`;
        this.bytesAddress = `https://${bytesHost}`;
        const secure = await this.#listen(createSecureServer(certificateFor([hubHost, '*.hf.co']), (request, response) => this.answer(request.headers.host ?? '', request, response)));
        const proxy = createServer((_, response) => { response.writeHead(403).end(); });
        proxy.on('connect', (request, socket) => {
            const [host] = (request.url ?? '').split(':');
            this.reached.add(host);
            if (this.offline || (host !== hubHost && host !== bytesHost)) {
                socket.destroy();
                return;
            }
            const there = connect(secure, '127.0.0.1', () => {
                socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
                there.pipe(socket).pipe(there);
            });
            const end = () => { there.destroy(); socket.destroy(); };
            there.on('error', end).on('close', end);
            socket.on('error', end).on('close', end);
        });
        return { ignoreHTTPSErrors: true, proxy: { server: `http://127.0.0.1:${await this.#listen(proxy)}`, bypass: '127.0.0.1' } };
    }

    /** Ends all connections and refuses new ones. */
    unplug() {
        this.offline = true;
        this.#sockets.forEach((socket) => socket.destroy());
    }

    plugIn() {
        this.offline = false;
    }
}

/** The files of a folder, in a repository's form. */
export const filesOf = (folder) => Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name))]));
