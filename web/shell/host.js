// What the program may ask of the page: Module.shell of the contract in program.js. The program calls these inside
// its frames, so whatever calls back into it waits until the call has returned.

import { announce } from './live.js';

const soon = queueMicrotask;

let given = [];  // files on their way to being opened

export function createHost({ address, bar, box, second, clipboard, notices, canvas }) {
    const host = {
        // Set once the program runs.
        program: null,
        tokens: null,
        secondTokens: null,
        models: null,
        bundled: null,
        awaited: null,  // until the model of the address is open, or is not going to be
        tokenized: false,  // whether the sentence box holds a text for the open model

        // The tokens of what the box holds.
        hand() {
            if (host.tokenized) {
                host.tokens.hand(box.text);
            } else {
                box.fault(null);
            }
        },

        notice: (text, kind) => (kind === 'error' ? notices.error(text) : notices.info(text)),
        announce,
        setUrl: (fragment, push) => address.set(fragment, Boolean(push)),
        setSentence(text, enabled, tokenized, placeholder) {
            box.set(text, Boolean(enabled), placeholder);
            host.tokenized = Boolean(tokenized);
            soon(() => host.hand());
        },
        setSecondSentence(text) {
            if (text === null) {
                second.hide();
                host.secondTokens.forget();
                return;
            }
            second.set(text, true, 'Type a second sentence');
            soon(() => host.secondTokens.hand(second.text));
        },
        setTitle: (text) => bar.setTitle(text),
        setHistory: (canUndo, canRedo) => bar.setHistory(Boolean(canUndo), Boolean(canRedo)),
        idsToText: (ids) => host.tokens.pieces(ids),
        appendToken: (id) => soon(() => host.tokens.append(id)),
        copy: (text) => clipboard.write(text),
        download(name, at, size, mime) {
            const link = document.createElement('a');
            link.href = URL.createObjectURL(new Blob([host.program.read(at, size)], { type: mime }));
            link.download = name;
            link.click();
            setTimeout(() => URL.revokeObjectURL(link.href), 60000);
        },
        cursor(name) {
            canvas.style.cursor = name;
        },
        // Whether there is one of that name; if it cannot be opened, the program hears of it.
        openBundled(name) {
            const there = host.bundled.names.includes(name);
            if (there) {
                host.awaited = Promise.resolve().then(async () => await host.models.openBundled(name, true) || host.program.modelFailed());
            }
            return there;
        },
        chooseTensors: () => document.getElementById('tensors-input').click(),
        giveFile(path, at, size) {
            given.push({ path, file: new File([host.program.read(at, size)], path.split('/').at(-1)) });
        },
        openGiven(awaited) {
            const entries = given;
            given = [];
            soon(async () => await host.models.open(entries, { awaited: Boolean(awaited) }) || host.program.modelFailed());
        },
    };
    return host;
}
