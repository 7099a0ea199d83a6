// Fetches the lessons of the site, and reads those that the user drops.

import { reasonOf } from './reason.js';
import { request } from './site_files.js';

/**
 * @import { Entry } from './file_chunks.js'
 * @import { Notices } from './notices.js'
 * @import { Program } from './program.js'
 */

const folder = 'lessons/', mostBytes = 200_000;

/** @param {Entry[]} entries */
export const isLesson = (entries) => entries.length === 1 && /\.(md|markdown)$/i.test(entries[0].path);

/** @param {string} path */
async function textAt(path) {
    const answer = await request(path);
    if (!answer.ok) {
        throw new Error(answer.status === 404 ? 'the site has no such file' : `the server answered ${answer.status}`);
    }
    const bytes = await answer.arrayBuffer();
    if (bytes.byteLength > mostBytes) {
        throw new Error('it has more than 200 kB');
    }
    return new TextDecoder().decode(bytes);
}

export class Lessons {
    #program;
    #notices;

    /** @param {{program: Program, notices: Notices}} parts */
    constructor({ program, notices }) {
        this.#program = program;
        this.#notices = notices;
    }

    // A site without a list has no lessons.
    async list() {
        try {
            this.#program.lessons(await textAt(`${folder}list.json`));
        } catch {
            this.#program.lessons('[]');
        }
    }

    /** @param {string} name */
    async fetch(name) {
        try {
            this.#program.lesson(name, await textAt(`${folder}${encodeURIComponent(name)}.md`));
        } catch (error) {
            this.#program.lessonFailed(name, `The lesson “${name}” could not be fetched: ${reasonOf(error)}.`);
        }
    }

    /** @param {Entry[]} entries */
    async open([{ path, file }]) {
        if (file.size > mostBytes) {
            this.#notices.error(`${path} has more than 200 kB: split the lesson into several.`);
            return;
        }
        this.#program.lessonFile(await file.text());
    }
}
