// Takes files that are dropped anywhere on the page, or chosen in a file box.

/** @import { Entry } from './file_chunks.js' */

const most = 2000;

/**
 * @param {FileSystemEntry} entry
 * @param {string} path
 * @returns {AsyncGenerator<Entry>}
 */
async function* walk(entry, path) {
    if (entry.isFile) {
        const source = /** @type {FileSystemFileEntry} */ (entry);
        yield { path, file: await new Promise((resolve, reject) => { source.file(resolve, reject); }) };
        return;
    }
    const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
    for (;;) {
        /** @type {FileSystemEntry[]} */
        const batch = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
        if (batch.length === 0) {
            return;
        }
        for (const child of batch.filter(({ name }) => !name.startsWith('.'))) {
            yield* walk(child, `${path}/${child.name}`);
        }
    }
}

/** @param {FileSystemEntry[]} roots */
async function collect(roots) {
    const found = [];
    for (const root of roots) {
        for await (const each of walk(root, root.name)) {
            found.push(each);
            if (found.length > most) {
                throw new Error(`There are more than ${most} files in what was dropped: drop the model's own folder.`);
            }
        }
    }
    return found;
}

/**
 * The `overlay` is shown while files hover over the page.
 *
 * @param {{overlay: HTMLElement, onFiles: (entries: Entry[]) => void, onError: (reason: unknown) => void}}
 *     page
 */
export function attachDrop({ overlay, onFiles, onError }) {
    const hasFiles = (/** @type {DragEvent} */ event) => event.dataTransfer?.types.includes('Files');
    let depth = 0;
    const hover = (/** @type {number} */ change) => (/** @type {DragEvent} */ event) => {
        if (hasFiles(event)) {
            event.preventDefault();
            depth = Math.max(0, depth + change);
            overlay.hidden = depth === 0;
        }
    };
    window.addEventListener('dragenter', hover(1));
    window.addEventListener('dragleave', hover(-1));
    window.addEventListener('dragover', hover(0));
    window.addEventListener('drop', async (event) => {
        if (!event.dataTransfer || !hasFiles(event)) {
            return;
        }
        event.preventDefault();
        depth = 0;
        overlay.hidden = true;
        // Entries must be taken before the first await.
        const roots = [...event.dataTransfer.items].flatMap((item) => item.webkitGetAsEntry?.() ?? []);
        const loose = [...event.dataTransfer.files].map((file) => ({ path: file.name, file }));
        try {
            onFiles(roots.length ? await collect(roots) : loose);
        } catch (error) {
            onError(error);
        }
    });
}

/**
 * A file box is also a source of files.
 *
 * @param {HTMLInputElement} input
 * @param {(entries: Entry[]) => void} onFiles
 */
export function attachChooser(input, onFiles) {
    input.addEventListener('change', () => {
        const files = [...input.files ?? []].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
        input.value = '';
        if (files.length) {
            onFiles(files);
        }
    });
}
