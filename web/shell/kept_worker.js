// Writes the arriving files of a model into the browser's private file system and checks them. Only a worker
// may write there in place, so that nothing is lost when the page ends.

import { checkOf } from './sha.js';

/** @import { Listed } from './hub.js' */

const step = 2 ** 20;  // bytes of a file read at once

/**
 * The file being written: how many bytes it has, and whether they have been checked already.
 *
 * @type {{handle: FileSystemSyncAccessHandle, file: Listed, at: number, check: ReturnType<typeof checkOf>,
 *     checked: boolean} | null}
 */
let writing = null;

/**
 * @param {string[]} path the folder and the file
 */
async function handleOf([folder, name]) {
    const root = await navigator.storage.getDirectory();
    const hub = await root.getDirectoryHandle('hub', { create: true });
    const file = await (await hub.getDirectoryHandle(folder, { create: true })).getFileHandle(name, { create: true });
    return file.createSyncAccessHandle();
}

/**
 * A full disk shows in the returned byte count, which can then be any number: Chromium returns an error's.
 *
 * @param {FileSystemSyncAccessHandle} handle
 * @param {Uint8Array} bytes
 * @param {number} at
 */
function write(handle, bytes, at) {
    if (handle.write(bytes, { at }) !== bytes.length) {
        throw new DOMException('there is no room', 'QuotaExceededError');
    }
}

const deeds = {
    async able() {
        await navigator.storage.getDirectory();
        return 'createSyncAccessHandle' in FileSystemFileHandle.prototype;
    },

    /**
     * An identical text stays untouched: on a full disk it could not be written again.
     *
     * @param {{path: string[], text: string}} what
     */
    async note({ path, text }) {
        const handle = await handleOf(path);
        try {
            const before = new Uint8Array(handle.getSize());
            handle.read(before, { at: 0 });
            if (new TextDecoder().decode(before) === text) {
                return;
            }
            handle.truncate(0);
            write(handle, new TextEncoder().encode(text), 0);
            handle.flush();
        } finally {
            handle.close();
        }
    },

    /**
     * Opens a file to continue it. Returns how many bytes are here; a complete file that differs from the
     * listing starts again.
     *
     * @param {{path: string[], file: Listed}} what
     */
    async open({ path, file }) {
        const handle = await handleOf(path);
        const check = checkOf(file);
        writing = { handle, file, at: 0, check, checked: false };
        const here = handle.getSize();
        const buffer = new Uint8Array(step);
        while (here <= file.size && writing.at < here) {
            const read = handle.read(buffer, { at: writing.at });
            check.update(buffer.subarray(0, read));
            writing.at += read;
        }
        writing.checked = here === file.size && check.holds();
        if (here > file.size || (here === file.size && !writing.checked)) {
            handle.truncate(0);
            Object.assign(writing, { at: 0, check: checkOf(file), checked: false });
        }
        return writing.at;
    },

    /**
     * After a failed write, the pending ones do not follow its bytes, so they fail as well.
     *
     * @param {{bytes: Uint8Array, at: number}} what
     */
    add({ bytes, at }) {
        if (!writing) {
            return;
        }
        if (at !== writing.at) {
            throw new DOMException('there is no room', 'QuotaExceededError');
        }
        try {
            write(writing.handle, bytes, at);
        } catch (error) {
            writing.handle.truncate(at);  // some of them may be there
            throw error;
        }
        writing.at += bytes.length;
        writing.check.update(bytes);
    },

    /** Returns whether the file matches the listing; if not, its bytes are deleted. */
    close() {
        if (!writing) {
            return false;
        }
        const { handle, file, at, check, checked } = writing;
        const holds = checked || (at === file.size && check.holds());
        if (!holds) {
            handle.truncate(0);
        }
        deeds.release();
        return holds;
    },

    /** The written bytes stay, so that the file can be continued. Returns how many there are. */
    release() {
        const at = writing?.at ?? 0;
        writing?.handle.flush();
        writing?.handle.close();
        writing = null;
        return at;
    },
};

/** @type {Promise<void>} */
let last = Promise.resolve();

/** @param {MessageEvent<{deed: keyof typeof deeds, what: any}>} message */
self.onmessage = ({ data: { deed, what }, ports: [port] }) => {
    last = last.then(async () => {
        try {
            port.postMessage({ answer: await deeds[deed](what) });
        } catch (error) {
            const { name, message } = /** @type {Error} */ (error);
            port.postMessage({ failed: { name, message } });
        }
    });
};
