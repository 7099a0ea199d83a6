/* global site */
// Keeps the site on this machine, so that it opens without a network, and isolates the page, so that it has threads on hosts
// that send no headers. Every build has a worker of its own with the hashes of its files, all or none of which it keeps; the
// next one takes over once no page of this one is open. Nothing here reloads a page.

import { canUse } from './support.js';

const worker = /** @type {ServiceWorkerGlobalScope} */ (/** @type {unknown} */ (self));
const { scope } = worker.registration;
const prefix = `site ${new URL(scope).pathname} `;
const name = prefix + site.build;

const urlOf = (/** @type {string} */ path) => new URL(path, scope).href;

// The builds of the program that this browser does not run are not kept.
const paths = Object.keys(site.files).filter((path) => {
    const [, variant] = /^explorer-([^.]*)\./.exec(path) ?? [];
    return variant === undefined || canUse(variant);
});

/** @param {ArrayBuffer} bytes */
async function hashOf(bytes) {
    const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
    return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** The server has another build. */
class OtherBuild extends Error {}

/**
 * Fetches a file of this build.
 *
 * @param {string} path
 */
async function fetched(path) {
    const response = await fetch(urlOf(path), { cache: 'no-cache' });
    const bytes = await response.arrayBuffer();
    if (response.status >= 500) {
        throw new Error(`the server answered ${response.status}`);  // it may have this build another time
    }
    if (!response.ok || await hashOf(bytes) !== site.files[path]) {
        throw new OtherBuild(path);
    }
    return new Response(bytes, { headers: { 'Content-Type': response.headers.get('Content-Type') ?? 'application/octet-stream' } });
}

async function keepAll() {
    const cache = await caches.open(name);
    try {
        for (const path of paths) {
            await cache.put(urlOf(path), await fetched(path));
        }
    } catch (error) {
        await caches.delete(name);
        throw error;
    }
}

async function dropOlder() {
    const old = (await caches.keys()).filter((each) => each.startsWith(prefix) && each !== name);
    await Promise.all(old.map((each) => caches.delete(each)));
}

/**
 * Fetches again what the browser has dropped. Where the server has gone on to another build, this one cannot be whole again: it
 * is given up, and the next start is the server's.
 *
 * @param {string} path
 * @param {Cache} cache
 */
async function mended(path, cache) {
    try {
        const response = await fetched(path);
        await cache.put(urlOf(path), response.clone());
        return response;
    } catch (error) {
        if (error instanceof OtherBuild) {
            await caches.delete(name);
            await worker.registration.update().catch(() => {});
        }
        return Response.error();
    }
}

/**
 * A page that another one frames is isolated by itself, where the browser knows how; a page of its own and the scripts of threads
 * also in the older way.
 *
 * @param {Response} response
 * @param {Request} request
 */
function isolated({ body, status, headers: given }, { mode, destination, url }) {
    const headers = new Headers(given);
    headers.set('Cross-Origin-Resource-Policy', 'same-origin');
    const framed = destination === 'iframe' || new URL(url).searchParams.has('embed');
    if (mode === 'navigate') {
        headers.set('Document-Isolation-Policy', 'isolate-and-require-corp');
    }
    if (!framed) {
        headers.set('Cross-Origin-Opener-Policy', 'same-origin');
        headers.set('Cross-Origin-Embedder-Policy', 'require-corp');
    }
    return new Response(body, { status, headers });
}

/**
 * A page starts with everything that the browser has kept, or with nothing of it.
 *
 * @param {Cache} cache
 */
async function mendAll(cache) {
    const here = new Set((await cache.keys()).map(({ url }) => url));
    for (const path of paths.filter((each) => !here.has(urlOf(each)))) {
        await mended(path, cache);
        if (!await caches.has(name)) {
            return;
        }
    }
}

/**
 * @param {string} path
 * @param {Request} request
 */
async function answer(path, request) {
    const cache = await caches.has(name) ? await caches.open(name) : null;
    if (cache && request.mode === 'navigate') {
        await mendAll(cache);
    }
    if (!cache || !await caches.has(name)) {  // it was given up
        return isolated(await fetch(request), request);
    }
    const response = await cache.match(urlOf(path)) ?? await mended(path, cache);
    return response.type === 'error' ? response : isolated(response, request);
}

worker.addEventListener('install', (event) => event.waitUntil(keepAll()));
worker.addEventListener('activate', (event) => event.waitUntil(dropOlder()));
worker.addEventListener('fetch', (event) => {
    const { request } = event;
    const [address] = request.url.split(/[?#]/);
    const path = address === scope ? 'index.html' : address.slice(scope.length);
    if (request.method === 'GET' && address.startsWith(scope) && paths.includes(path)) {
        event.respondWith(answer(path, request));
    }
});
