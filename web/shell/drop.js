// Files dropped anywhere on the page, or chosen in a file box, as [{path, file}].

const most = 2000;

async function* walk(entry, path) {
    if (entry.isFile) {
        yield { path, file: await new Promise((resolve, reject) => { entry.file(resolve, reject); }) };
        return;
    }
    const reader = entry.createReader();
    for (;;) {
        const batch = await new Promise((resolve, reject) => { reader.readEntries(resolve, reject); });
        if (batch.length === 0) {
            return;
        }
        for (const child of batch.filter(({ name }) => !name.startsWith('.'))) {
            yield* walk(child, `${path}/${child.name}`);
        }
    }
}

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

// onFiles(entries) and onError(error); `overlay` is shown while files hover over the page.
export function attachDrop({ overlay, onFiles, onError }) {
    const hasFiles = (event) => event.dataTransfer?.types.includes('Files');
    let depth = 0;
    const hover = (change) => (event) => {
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
        if (!hasFiles(event)) {
            return;
        }
        event.preventDefault();
        depth = 0;
        overlay.hidden = true;
        // Entries must be taken before the first await.
        const roots = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
        const loose = [...event.dataTransfer.files].map((file) => ({ path: file.name, file }));
        try {
            onFiles(roots.length ? await collect(roots) : loose);
        } catch (error) {
            onError(error);
        }
    });
}

// A file box as a source of files.
export function attachChooser(input, onFiles) {
    input.addEventListener('change', () => {
        const files = [...input.files].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
        input.value = '';
        if (files.length) {
            onFiles(files);
        }
    });
}
