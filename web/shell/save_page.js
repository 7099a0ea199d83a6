// Saves what is on screen, with its model or its tensors, as one file that opens without a server.

import { placeOfLink } from './hub.js';
import { fetchManifest, get } from './loading.js';
import { bytes } from './model_files.js';
import { isNeeded, mostOwn, oneFile } from './one_file.js';
import { reasonOf } from './reason.js';
import { save } from './save.js';

/**
 * @import { Bundled } from './bundled.js'
 * @import { Models } from './models.js'
 * @import { Notices } from './notices.js'
 * @import { Tensors } from './tensors.js'
 */

/** @param {string} fragment */
function subjectOf(fragment) {
    const given = new URLSearchParams(fragment);
    return fragment === '' ? 'sentence' : given.get('subject') ?? 'worked';
}

/**
 * What the user looks at, if they have opened it themselves: models of the site and of the hub have links.
 *
 * @param {{models: Models, tensors: Tensors, bundled: Bundled}} opened
 * @param {string} fragment
 */
export function ownFiles({ models, tensors, bundled }, fragment) {
    const subject = subjectOf(fragment), model = new URLSearchParams(fragment).get('model');
    const linked = fragment === '' || (model !== null && (bundled.names.includes(model) || placeOfLink(model) !== null));
    return [linked ? null : models.opened, tensors.opened].find((each) => each?.subject === subject);
}

export class PageSaver {
    #models;
    #tensors;
    #notices;
    #saving = false;

    /** @param {{models: Models, tensors: Tensors, notices: Notices}} parts */
    constructor({ models, tensors, notices }) {
        this.#models = models;
        this.#tensors = tensors;
        this.#notices = notices;
    }

    /** @param {string} fragment what is on screen, as its link says */
    async save(fragment) {
        if (this.#saving) {
            return;
        }
        this.#saving = true;
        this.#notices.renew();
        this.#notices.pending('page', 'The page is being packed …');
        try {
            await this.#save(fragment);
        } catch (error) {
            this.#notices.error(`The page could not be saved: ${reasonOf(error)}`);
        } finally {
            this.#notices.pending('page', null);
            this.#saving = false;
        }
    }

    /** @param {string} fragment */
    async #save(fragment) {
        const manifest = await fetchManifest();
        const subject = subjectOf(fragment);
        const own = [this.#models.opened, this.#tensors.opened].filter((each) => each !== null);
        const [shown] = own.filter(({ subject: of }) => of === subject);
        if (shown && shown.size > mostOwn) {
            this.#notices.error(`${shown.name} has ${bytes(shown.size)}: a page takes up to ${bytes(mostOwn)}. Send the link instead, or open something smaller.`);
            return;
        }
        const paths = Object.keys(manifest).filter(isNeeded);
        const parts = await Promise.all([
            ...paths.map(async (path) => ({ path, bytes: await (await get(path)).blob() })),
            ...own.flatMap(({ files }) => files.map(async ({ path, file }) => ({ path, bytes: await new Response(await file.stream()).blob() }))),
        ]);
        const page = await oneFile(parts, fragment);
        save('attention-explorer.html', page);
        const left = own.filter(({ size }) => size > mostOwn).map(({ name }) => ` ${name} is not in it: it is too large.`);
        this.#notices.info(`The page is saved, ${bytes(page.size)}: it opens without a network, and every number in it can be changed.${left.join('')}`);
    }
}
