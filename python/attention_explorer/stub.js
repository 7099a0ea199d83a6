// Shows the explorer in a cell by way of anywidget. The page, its files and the link come from the kernel in
// chunks; the frame's selection and link go back to it.

const pages = globalThis[Symbol.for('attention-explorer.pages')] ??= new Map();  // promises of texts, by the page's name
const patience = 20_000;  // ms between two chunks
const pause = 100;  // ms between two changes that the kernel hears of

// Resolves to the page if it is wanted, to the files, and to the link. Each chunk is acknowledged before the
// next one comes.
function fetched(model, { view, wanted, signal }) {
    return new Promise((resolve, reject) => {
        const parts = new Map();  // of the page under '', of files under their paths
        let timer, taken = 0;
        const end = () => {
            clearTimeout(timer);
            model.off('msg:custom', take);
        };
        const fail = (reason) => {
            end();
            reject(new Error(reason));
        };
        const wait = () => {
            clearTimeout(timer);
            timer = setTimeout(() => fail('The kernel does not answer: run this cell again.'), patience);
        };
        function take(message, buffers) {
            if (message.view !== view) {
                return;
            }
            wait();
            if (message.type === 'chunk' && message.number === taken) {
                const before = parts.get(message.path) ?? [];
                parts.set(message.path, [...before, ...buffers]);
                model.send({ type: 'taken', view, number: taken++ });
            } else if (message.type === 'whole') {
                end();
                const blobs = [...parts].map(([path, chunks]) => ({ path, bytes: new Blob(chunks) }));
                resolve({ page: blobs.find(({ path }) => path === '')?.bytes, files: blobs.filter(({ path }) => path), link: message.link });
            }
        }
        signal.addEventListener('abort', () => fail('The cell is gone.'), { once: true });
        model.on('msg:custom', take);
        wait();
        model.send({ type: 'fetch', view, page: wanted });
    });
}

// Resolves to the page's text and to what is shown in it. The browser's page asks for the text only once.
async function contents(model, view, signal) {
    const name = model.get('page');
    for (;;) {
        const held = pages.get(name);
        if (!held) {
            const all = fetched(model, { view, wanted: true, signal });
            const text = all.then(({ page }) => page.text());
            pages.set(name, text);
            text.catch(() => pages.delete(name));
            return { ...await all, text: await text };
        }
        const text = await held.catch(() => undefined);  // another cell was to fetch it and is gone
        if (text !== undefined) {
            return { ...await fetched(model, { view, wanted: false, signal }), text };
        }
        signal.throwIfAborted();
    }
}

// Tells the kernel of the latest selection and link, at most ten times a second.
function relay(model) {
    let timer, latest = {};
    return {
        changed(members) {
            Object.assign(latest, members);
            timer ??= setTimeout(() => {
                timer = undefined;
                for (const [member, value] of Object.entries(latest)) {
                    model.set(member, value);
                }
                latest = {};
                try {
                    model.save_changes();
                } catch {
                    // Without its kernel, the view goes on.
                }
            }, pause);
        },
        end: () => clearTimeout(timer),
    };
}

// Makes the frame and speaks with its page: docs/embedding.md.
function connect(model, frame, { text, files, link }, signal) {
    const told = relay(model);
    const origin = self.origin === 'null' ? '*' : self.origin;
    const send = (message) => frame.contentWindow?.postMessage({ explorer: 1, ...message }, origin);
    let shown = link, opening = true;
    const show = () => send({ type: 'state', link: shown });
    addEventListener('message', ({ source, data }) => {
        if (source !== frame.contentWindow || data?.explorer !== 1) {
            return;
        }
        const { explorer: _, type, ...members } = data;
        if (type === 'ready') {  // again if the notebook has moved the frame
            opening = true;
            show();
            send({ type: 'open', id: 'files', files });
        } else if ((type === 'done' || type === 'failed') && members.id === 'files') {
            opening = false;
            show();  // what was set belongs to the files
        } else if (type === 'state') {
            shown = opening ? shown : members.link;
            told.changed({ link: members.link });
        } else if (type === 'selection') {
            told.changed({ selection: members });
        }
    }, { signal });
    const ordered = ({ type, link: wanted }) => {
        if (type === 'state') {
            shown = wanted;
            if (!opening) {
                show();
            }
        }
    };
    model.on('msg:custom', ordered);
    signal.addEventListener('abort', () => {
        model.off('msg:custom', ordered);
        told.end();
    });
    frame.srcdoc = text;
}

export default {
    render({ model, el }) {
        const view = crypto.randomUUID?.() ?? String(Math.random());  // a page without https has no randomUUID
        const cell = new AbortController();
        const note = document.createElement('p');
        note.textContent = 'The explorer is coming from the kernel …';
        note.setAttribute('role', 'status');
        const frame = document.createElement('iframe');
        frame.title = 'Attention Explorer';
        frame.allow = 'clipboard-write';
        Object.assign(frame.style, { display: 'block', width: '100%', height: `${model.get('height')}px`, border: '0' });
        el.append(note);
        contents(model, view, cell.signal).then((all) => {
            cell.signal.throwIfAborted();
            connect(model, frame, all, cell.signal);
            note.replaceWith(frame);
        }).catch(({ message }) => { note.textContent = message; });
        return () => {
            cell.abort();
            note.remove();
            frame.remove();
            model.send({ type: 'gone', view });
        };
    },
};
