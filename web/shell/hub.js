// Knows the model hub: its addresses, and what it says about a repository. This needs no document.

import { Told } from './file_chunks.js';

/**
 * Where models are fetched from. It can be replaced by a mirror that answers like the hub; connect-src in
 * index.html must then name the mirror, and the hosts that it sends files from.
 */
export const hubAddress = 'https://huggingface.co';

/**
 * What the user asks for. Without a revision it is the main one; `file` is a .gguf file, or empty.
 *
 * @typedef {{repository: string, revision: string, file: string}} Place
 */

/**
 * A file as the hub lists it. Large files have `sha256`; smaller ones have Git's hash, SHA-1 over a header
 * and the bytes.
 *
 * @typedef {{path: string, size: number, sha256: string, sha1: string}} Listed
 */

/**
 * @typedef {object} Repository
 * @property {string} repository its present name
 * @property {string} commit
 * @property {string} licence empty if it names none
 * @property {boolean} gated
 * @property {Listed[]} files
 */

const prefix = 'hub:';
const hosts = ['huggingface.co', 'www.huggingface.co', 'hf.co', new URL(hubAddress).host];
const written = /^([\w.-]+(?:\/[\w.-]+)?)(?:@((?:refs\/(?:pr|convert)\/)?[^/\s]+|\S*[^/\s]))?(?:\/(\S+\.gguf))?$/;
export const isCommit = (/** @type {string} */ text) => /^[0-9a-f]{40}$/.test(text);

/** @param {string} text */
function decoded(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return text;
    }
}

/**
 * @param {string} repository
 * @param {string} revision
 * @param {string} file
 * @returns {Place | null}
 */
function place(repository, revision, file) {
    const dots = [...repository.split('/'), ...revision.split('/'), ...file.split('/')].some((part) => part === '.' || part === '..');
    return dots || !/^[\w.-]+(\/[\w.-]+)?$/.test(repository)
        ? null
        : { repository, revision: revision === 'main' ? '' : revision, file: file.endsWith('.gguf') ? file : '' };
}

/** @param {string} path */
function ofPage(path) {
    const parts = path.split(/[?#]/)[0].split('/').filter(Boolean).map(decoded);
    const views = ['tree', 'blob', 'resolve', 'raw', 'commit', 'commits', 'discussions', 'edit'];
    const named = parts.length > 1 && !views.includes(parts[1]) ? 2 : 1;
    const [view, revision = '', ...file] = parts.slice(named);
    const about = parts[0] === 'datasets' || parts[0] === 'spaces' || parts.length === 0;
    const dated = ['tree', 'blob', 'resolve', 'raw'].includes(view);
    return about ? null : place(parts.slice(0, named).join('/'), dated ? revision : '', dated ? file.join('/') : '');
}

/**
 * Reads a name, `org/name` or `org/name@revision`, or the address of a model's page or file. Throws an Error
 * of one sentence.
 *
 * @param {string} text
 * @returns {Place}
 */
export function placeOf(text) {
    const given = text.trim();
    const [, scheme = '', host, path = ''] = /^(https?:\/\/)?([^/@\s]+)(?:\/(.*))?$/i.exec(given) ?? [];
    if (host && hosts.includes(host.toLowerCase())) {
        const found = ofPage(path);
        if (found) {
            return found;
        }
        throw new Error(`${given} is no model’s address: paste one like ${hubAddress}/openai-community/gpt2.`);
    }
    if (scheme || given.includes('://')) {
        throw new Error(`${given} is not an address of ${new URL(hubAddress).host}: models are fetched from there alone.`);
    }
    const [, repository = '', revision = '', file = ''] = written.exec(given) ?? [];
    const found = place(repository, decoded(revision), file);
    if (!found) {
        throw new Error(`“${given}” is no name of a model: write it like openai-community/gpt2 or EleutherAI/pythia-70m@step1000.`);
    }
    return found;
}

/**
 * Returns how a link names the model.
 *
 * @param {Place} asked
 */
export function nameOf({ repository, revision, file }) {
    return repository + (revision && `@${revision.replaceAll('/', '%2F')}`) + (file && `/${file}`);
}

/**
 * Returns the name as users write it, and may type it.
 *
 * @param {Place} asked
 */
export const typedNameOf = ({ repository, revision, file }) => repository + (revision && `@${revision}`) + (file && `/${file}`);

/**
 * Returns the name as users read it: without a revision that is a commit, which says nothing to them.
 *
 * @param {Place} asked
 */
export const shownNameOf = (asked) => typedNameOf({ ...asked, revision: isCommit(asked.revision) ? '' : asked.revision });

/** @param {Place} asked */
export const linkOf = (asked) => prefix + nameOf(asked);

/**
 * Returns what a link names, or null if it is not a model of the hub.
 *
 * @param {string} link
 * @returns {Place | null}
 */
export function placeOfLink(link) {
    if (!link.startsWith(prefix)) {
        return null;
    }
    const [, repository = '', revision = '', file = ''] = written.exec(link.slice(prefix.length)) ?? [];
    return place(repository, decoded(revision), file);
}

/** A refusal by the hub, in one sentence. */
export class HubError extends Told {
    /**
     * @param {string} message
     * @param {{token?: boolean, passing?: boolean, wait?: number}} [kind] `token`: a token of the user's may
     *     help; `passing`: it may succeed later, after `wait` ms if the hub says so
     */
    constructor(message, { token = false, passing = false, wait } = {}) {
        super(message);
        this.token = token;
        this.passing = passing;
        this.wait = wait;
    }
}

/**
 * Returns the milliseconds that a Retry-After names, in seconds or as a date.
 *
 * @param {string | null} header
 */
function waitOf(header) {
    const seconds = Number(header);
    const wait = header && Number.isFinite(seconds) ? 1000 * seconds : Date.parse(header ?? '') - Date.now();
    return Number.isFinite(wait) ? Math.max(wait, 0) : undefined;
}

/** @param {number} wait ms */
const inWords = (wait) => (wait < 90e3 ? `${Math.ceil(wait / 1000)} seconds` : `${Math.ceil(wait / 60e3)} minutes`);

const pages = 50;  // pages of a listing, a thousand files each
const stalled = 20e3;  // ms without a byte after which a connection is given up

// Browsers that have this (Chrome 119, Firefox 121, Safari 17.4) drop Authorization if a redirect leads to
// another origin, as the Fetch Standard has required since 2022; some older ones pass it on.
const keepsSecrets = 'withResolvers' in Promise;

export class Hub {
    #base;
    #stall;
    #token = '';

    constructor(base = hubAddress, { stall = stalled } = {}) {
        this.#base = new URL(base);
        this.#stall = stall;
    }

    get host() {
        return this.#base.host;
    }

    /**
     * The user's own token, for models that not everybody may read. It is kept here and sent only to the
     * hub's own origin.
     *
     * @param {string} token
     */
    set token(token) {
        this.#token = token.trim();
    }

    /**
     * @param {URL} url
     * @param {{repository: string, revision?: string, path?: string}} what requested, for the sentence about
     *     what went wrong
     * @param {{from?: number, signal?: AbortSignal}} [options]
     */
    async #get(url, what, { from = 0, signal } = {}) {
        if (url.origin !== this.#base.origin) {
            throw new HubError(`${this.host} sends its listing on to another place, ${url.host}: try again later.`);
        }
        const headers = new Headers();
        if (from > 0) {
            headers.set('Range', `bytes=${from}-`);
        }
        if (this.#token) {
            if (!keepsSecrets) {
                throw new HubError('This browser is too old to keep a token secret: update it, then paste the token again.', { token: true });
            }
            headers.set('Authorization', `Bearer ${this.#token}`);
        }
        const connection = new AbortController();
        const end = () => connection.abort();
        signal?.addEventListener('abort', end);
        const response = await this.#inTime(fetch(url, { headers, signal: connection.signal, credentials: 'omit', referrerPolicy: 'no-referrer', cache: 'no-store' }), what, end)
            .catch((error) => {
                throw error instanceof HubError ? error : new HubError(`${this.host} could not be reached: check the connection, then try again.`, { passing: true });
            });
        if (!response.ok) {
            response.body?.cancel().catch(() => {});
            throw this.#refusal(response, what);
        }
        return response;
    }

    /**
     * Returns the promise's value, or throws a HubError if it takes too long.
     *
     * @template Value
     * @param {Promise<Value>} promise
     * @param {{repository: string, path?: string}} what awaited
     * @param {() => void} end gives up
     * @returns {Promise<Value>}
     */
    async #inTime(promise, { repository, path }, end) {
        /** @type {ReturnType<typeof setTimeout> | undefined} */
        let timer;
        const late = new Promise((_, reject) => {
            timer = setTimeout(() => {
                reject(new HubError(`${this.host} has sent nothing of ${path ?? repository} for ${inWords(this.#stall)}: check the connection, then try again.`, { passing: true }));
                end();
            }, this.#stall);
        });
        try {
            return /** @type {Value} */ (await Promise.race([promise, late]));
        } finally {
            clearTimeout(timer);
        }
    }

    /**
     * Yields the bytes of a response as they come. Throws a HubError if none come for long; other failures
     * are the browser's.
     *
     * @param {Response} response
     * @param {{repository: string, path?: string}} what requested
     */
    async* chunks(response, what) {
        const reader = response.body?.getReader();
        const end = () => { reader?.cancel().catch(() => {}); };  // it may have failed already
        try {
            for (;;) {
                const { done, value } = reader ? await this.#inTime(reader.read(), what, end) : { done: true, value: undefined };
                if (done || !value) {
                    return;
                }
                yield value;
            }
        } finally {
            end();
        }
    }

    /**
     * @param {Response} response
     * @param {{repository: string, path?: string}} what requested
     */
    async #whole(response, what) {
        try {
            /** @type {Uint8Array<ArrayBuffer>[]} */
            const all = [];
            for await (const bytes of this.chunks(response, what)) {
                all.push(bytes);
            }
            return await new Blob(all).arrayBuffer();
        } catch (error) {
            throw error instanceof HubError ? error : new HubError(`The connection to ${this.host} broke: check it, then try again.`, { passing: true });
        }
    }

    /**
     * @param {Response} response
     * @param {{repository: string, revision?: string, path?: string}} what
     */
    #refusal({ status, headers, url }, { repository, revision, path }) {
        const { host } = this;
        const code = headers.get('X-Error-Code');
        const denied = status === 401 || status === 403;
        const from = url ? new URL(url) : this.#base;
        if (denied && from.origin !== this.#base.origin) {
            // This host knows no terms and no tokens: its addresses are valid for some minutes, and the hub
            // gives new ones.
            return new HubError(`${from.host}, which keeps ${path} for ${host}, does not hand it out (${status}): try again later.`, { passing: true });
        }
        if (denied) {
            const gated = code === 'GatedRepo' || /\b(gated|restricted)\b/i.test(headers.get('X-Error-Message') ?? '');
            if (!gated && status === 403 && !code && !this.#token) {
                return new HubError(`${host} refuses ${path ?? repository} (403): try again later, or from another network.`, { passing: true });
            }
            if (!gated) {
                return new HubError(this.#token
                    ? `${host} shows no model ${repository} to this token: check the name, and what the token may read.`
                    : `${host} shows no model ${repository} to everybody: check the name, or paste a token that may read it.`, { token: true });
            }
            return new HubError(this.#token
                ? `${repository} is gated, and this token may not read it: accept the terms on its page with the token’s account, and let the token read gated repositories.`
                : `${repository} is gated: accept the terms on its page at ${host}, then paste a token of yours that may read it.`, { token: true });
        }
        if (status === 404) {
            return new HubError(path
                ? `${path} of ${repository} is no longer at ${host}: look the model up anew.`
                : code === 'RevisionNotFound' || (revision && code !== 'RepoNotFound')
                    ? `${repository} has no revision ${revision} at ${host}: choose one of those that its page lists.`
                    : `There is no model ${repository} at ${host}: check the name.`);
        }
        if (status === 416) {
            return new HubError(`${path} of ${repository} is shorter than ${host} lists: try again later, or another revision.`);
        }
        const wait = waitOf(headers.get('Retry-After'));
        if (status === 429) {
            return new HubError(`${host} has been asked too often: try again in ${wait === undefined ? 'a few minutes' : inWords(wait)}.`, { passing: true, wait });
        }
        return new HubError(`${host} answered ${status} for ${path ?? repository}: try again later.`, { passing: status >= 500 || status === 408, wait });
    }

    /**
     * @param {URL} url
     * @param {{repository: string, revision?: string}} what
     */
    async #json(url, what) {
        const response = await this.#get(url, what);
        const bytes = await this.#whole(response, what);
        try {
            const next = /<([^>]*)>;\s*rel="next"/.exec(response.headers.get('Link') ?? '')?.[1];
            return { json: JSON.parse(new TextDecoder().decode(bytes)), next: next === undefined ? undefined : new URL(next, this.#base) };
        } catch {
            throw this.#nonsense(what.repository);
        }
    }

    /** @param {string} repository */
    #nonsense(repository) {
        return new HubError(`What ${this.host} says of ${repository} cannot be read: try again later.`, { passing: true });
    }

    /**
     * Requests the state of a repository and the list of its files. Throws a HubError.
     *
     * @param {Place} asked
     * @returns {Promise<Repository>}
     */
    async lookUp({ repository: asked, revision }) {
        const what = { repository: asked, revision };
        const at = revision && `/revision/${encodeURIComponent(revision)}`;
        const { json: info } = await this.#json(new URL(`/api/models/${asked}${at}`, this.#base), what);
        if (typeof info !== 'object' || info === null || Array.isArray(info)) {
            throw this.#nonsense(asked);
        }
        const repository = typeof info.id === 'string' && /^[\w.-]+(\/[\w.-]+)?$/.test(info.id) ? info.id : asked;
        const commit = String(info.sha);
        if (!isCommit(commit)) {
            throw new HubError(`${this.host} does not say which commit of ${repository} this is: try again later.`, { passing: true });
        }
        /** @type {Listed[]} */
        const files = [];
        /** @type {URL | undefined} */
        let next = new URL(`/api/models/${repository}/tree/${commit}?recursive=true`, this.#base);
        for (let page = 0; next; ++page) {
            if (page === pages) {
                throw new HubError(`${repository} has too many files to be listed: name another repository.`);
            }
            const listing = await this.#json(next, what);
            if (!Array.isArray(listing.json)) {
                throw this.#nonsense(repository);
            }
            files.push(...listedIn(listing.json));
            ({ next } = listing);
        }
        return { repository, commit, licence: licenceOf(info), gated: Boolean(info.gated), files };
    }

    /**
     * Returns the response to a request for a file's bytes, from a position on.
     *
     * @param {{repository: string, commit: string}} of
     * @param {Listed} file
     * @param {{from?: number, signal?: AbortSignal}} [options]
     */
    get({ repository, commit }, { path }, options) {
        const url = new URL(`/${repository}/resolve/${commit}/${path.split('/').map(encodeURIComponent).join('/')}`, this.#base);
        return this.#get(url, { repository, path }, options);
    }

    /**
     * Returns all bytes of a small file.
     *
     * @param {{repository: string, commit: string}} of
     * @param {Listed} file
     */
    async bytesOf(of, file) {
        return this.#whole(await this.get(of, file), { repository: of.repository, path: file.path });
    }
}

/**
 * @param {any[]} json as received
 * @returns {Listed[]}
 */
function listedIn(json) {
    const hash = (/** @type {unknown} */ text, /** @type {number} */ digits) =>
        (typeof text === 'string' && text.length === digits && /^[0-9a-f]+$/.test(text) ? text : '');
    return json.filter((each) => each?.type === 'file' && typeof each.path === 'string' && Number.isSafeInteger(each.size) && each.size >= 0)
        .map(({ path, size, oid, lfs }) => ({ path, size, sha256: hash(lfs?.oid, 64), sha1: lfs ? '' : hash(oid, 40) }))
        .filter(({ sha256, sha1 }) => sha256 || sha1);
}

/** @param {any} info as received */
function licenceOf({ cardData, tags }) {
    const named = [cardData?.license].flat().filter((each) => typeof each === 'string');
    if (named.length === 1 && named[0] === 'other' && typeof cardData.license_name === 'string') {
        return cardData.license_name;
    }
    const tagged = (Array.isArray(tags) ? tags : []).filter((tag) => typeof tag === 'string' && tag.startsWith('license:')).map((tag) => tag.slice(8));
    return (named.length ? named : tagged).join(', ');
}
