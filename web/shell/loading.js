// Fetches the program and its fonts, counting bytes against the sizes in manifest.json.

import { importFile, request } from './site_files.js';

/** @import { Module } from './contract.d.ts' */

/** A failure whose message is already a sentence for users. */
export class LoadError extends Error {}

/**
 * The sizes in bytes of the site's files.
 *
 * @typedef {Record<string, number>} Manifest
 */

/**
 * The compiled first part of the program, and the function that makes a module of it.
 *
 * @typedef {{wasm: WebAssembly.Module, create: (options: object) => Promise<Module>}} Compiled
 */

/**
 * @param {string} path
 * @param {RequestInit} [options]
 */
export async function get(path, options) {
    let response;
    try {
        response = await request(path, options);
    } catch {
        throw new LoadError(`${path} could not be fetched: check the connection, then reload.`);
    }
    if (!response.ok) {
        throw new LoadError(`${path} could not be fetched: the server answered ${response.status}.`);
    }
    return response;
}

/** @returns {Promise<Manifest>} */
export async function fetchManifest() {
    try {
        return await (await get('manifest.json')).json();
    } catch (error) {
        throw error instanceof LoadError ? error : new LoadError('manifest.json could not be read.');
    }
}

/**
 * Passes bytes on and tells how many come.
 *
 * @param {(bytes: number) => void} came
 * @param {QueuingStrategy<Uint8Array<ArrayBuffer>>} [kept] how many may wait for their reader
 * @returns {TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>}
 */
export function counter(came, kept) {
    return new TransformStream({
        transform(chunk, controller) {
            came(chunk.byteLength);
            controller.enqueue(chunk);
        },
    }, undefined, kept);
}

/** Counts the received bytes of some files. */
export class Progress {
    #arrived = 0;
    #total = 0;
    /** @type {() => void} */
    #finish = () => {};
    /** Resolves when all of them have arrived. */
    complete;

    /**
     * @param {Manifest} manifest
     * @param {string[]} paths
     * @param {(bytes: number, total: number) => void} report called as they come
     */
    constructor(manifest, paths, report) {
        this.#total = paths.reduce((sum, path) => sum + (manifest[path] ?? 0), 0);
        this.report = report;
        /** @type {Promise<void>} */
        this.complete = new Promise((resolve) => { this.#finish = resolve; });
        report(0, this.#total);
    }

    /** @param {number} bytes */
    count(bytes) {
        this.#arrived += bytes;
        this.report(Math.min(this.#arrived, this.#total), this.#total);
        if (this.#arrived >= this.#total) {
            this.#finish();
        }
    }

    /**
     * Returns the same response, counted on its way.
     *
     * @param {Response} response
     */
    through(response) {
        const counted = response.body?.pipeThrough(counter((bytes) => this.count(bytes)));
        return new Response(counted, { headers: { 'Content-Type': 'application/wasm' } });
    }
}

/**
 * @param {string} path
 * @param {Progress} [progress]
 */
export async function fetchBytes(path, progress) {
    const response = await get(path);
    return new Uint8Array(await (progress ? progress.through(response) : response).arrayBuffer());
}

/**
 * @param {string} path
 * @param {Progress} [progress]
 */
async function compile(path, progress) {
    const fetched = await get(path), response = progress ? progress.through(fetched) : fetched;
    try {
        return WebAssembly.compileStreaming
            ? await WebAssembly.compileStreaming(response)
            : await WebAssembly.compile(await response.arrayBuffer());
    } catch (error) {
        throw new LoadError(error instanceof WebAssembly.CompileError
            ? `${path} could not be compiled by this browser: ${error.message}`
            : `${path} did not arrive whole: check the connection, then reload.`);
    }
}

/**
 * The files of the program: its first part, with what a page opens with, and the rest.
 *
 * @param {string} variant
 */
export const filesOf = (variant) => ({ first: `explorer-${variant}.wasm`, script: `explorer-${variant}.mjs`, rest: `explorer-${variant}.rest.wasm` });

/**
 * @param {string} variant
 * @param {Progress} [progress]
 */
export const fetchRest = (variant, progress) => compile(filesOf(variant).rest, progress);

/**
 * @param {string} variant
 * @param {Manifest} manifest
 * @param {Progress} progress
 * @returns {Promise<Compiled>}
 */
export async function fetchProgram(variant, manifest, progress) {
    const { first, script } = filesOf(variant);
    const [wasm, { default: create }] = await Promise.all([
        compile(first, progress),
        importFile(script).catch(() => {
            throw new LoadError(`${script} could not be fetched: check the connection, then reload.`);
        }),
    ]);
    progress.count(manifest[script] ?? 0);
    return { wasm, create };
}

/**
 * @param {Compiled} compiled
 * @param {object} options become part of the module
 * @returns {Promise<Module>}
 */
export function instantiate({ wasm, create }, options) {
    return new Promise((resolve, reject) => {
        create({
            ...options,
            /**
             * @param {WebAssembly.Imports} imports
             * @param {(instance: WebAssembly.Instance, wasm: WebAssembly.Module) => void} done
             */
            instantiateWasm(imports, done) {
                WebAssembly.instantiate(wasm, imports).then((instance) => done(instance, wasm), reject);
                return {};
            },
        }).then(resolve, reject);
    });
}
