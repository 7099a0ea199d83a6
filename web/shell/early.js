// Requests the program, its fonts and the address's model before the page's other modules do anything.

import { Bundled } from './bundled.js';
import { curtain } from './curtain.js';
import { framed } from './framed.js';
import { LoadError, Progress, fetchBytes, fetchManifest, fetchProgram, fetchRest, filesOf } from './loading.js';
import { importFile, isOneFile } from './site_files.js';
import { chooseVariant, runsSimd } from './support.js';

/** @import { Compiled } from './loading.js' */

/** The bare address opens with the first part of the program; what a link opens with may need all of it. */
export const opensWithFirst = location.hash.length <= 1 && !framed && !isOneFile();

/** @typedef {Uint8Array<ArrayBuffer>} Font */

/**
 * The page opens with a head of a model.
 *
 * @typedef {{model: string, layer: number, head: number}} Opening
 */

/**
 * @typedef {object} Files
 * @property {Promise<Compiled>} program its first part
 * @property {() => Promise<WebAssembly.Module>} rest asks for its other part, unless it is on its way
 * @property {Promise<Font[]>} fonts
 * @property {Promise<Opening | null>} opening
 * @property {string} fallback
 * @property {Bundled} bundled
 */

/**
 * Code that awaits it learns of its failure.
 *
 * @template {Promise<unknown>} Answer
 * @param {Answer} promise
 */
function asked(promise) {
    promise.catch(() => {});
    return promise;
}

/** @returns {Promise<Files>} */
async function ask() {
    const manifest = await fetchManifest();
    const variant = chooseVariant(manifest, new URLSearchParams(location.search).get('variant'));
    if (!variant) {
        throw new LoadError('The site holds no build of the program that this browser runs.');
    }
    const font = (/** @type {string} */ name) => Object.keys(manifest).find((path) => path.startsWith(`fonts/${name}.`)) ?? `fonts/${name}`;
    const fonts = ['Inter-Regular', 'Inter-SemiBold', 'JetBrainsMono-Regular'].map(font);
    const { first, script, rest: file } = filesOf(variant);
    const progress = new Progress(manifest, [first, script, ...opensWithFirst ? [] : [file], ...fonts], curtain.progress);
    const program = asked(fetchProgram(variant, manifest, progress));
    const early = opensWithFirst ? null : asked(fetchRest(variant, progress));
    const rest = () => early ?? fetchRest(variant);
    const fetched = asked(Promise.all(fonts.map((path) => fetchBytes(path, progress))));
    const bundled = new Bundled(manifest);
    const model = location.hash.length > 1 ? new URLSearchParams(location.hash.slice(1)).get('model') : bundled.first;
    if (model && bundled.names.includes(model)) {
        // On a slow connection the model would keep the program, and so the first picture, waiting.
        progress.complete.then(() => {
            bundled.prefetch(model);
            asked(importFile('tokenizers.min.mjs'));
        });
    }
    return { program, rest, fonts: fetched, opening: asked(bundled.opening()), fallback: font('DejaVuSans'), bundled };
}

/** Null if the program cannot run. */
export const files = runsSimd() ? asked(ask()) : null;
