// Starts the page: picks a build of the program, loads it, and connects the two.

import { Address } from './address.js';
import { Bar } from './bar.js';
import { Clipboard } from './clipboard.js';
import { curtain } from './curtain.js';
import { attachChooser, attachDrop } from './drop.js';
import { files } from './early.js';
import { createHost } from './host.js';
import { attachKeys } from './keys.js';
import { LoadError, fetchBytes, instantiate } from './loading.js';
import { Models } from './models.js';
import { notices } from './notices.js';
import { Program } from './program.js';
import { SentenceBox } from './sentence.js';
import { hasWebGL2 } from './support.js';
import { attachTable } from './table.js';
import { Tensors, areTensors } from './tensors.js';
import { Theme } from './theme.js';
import { Tokens } from './tokens.js';
import { attachWakers } from './wake.js';

const element = (id) => document.getElementById(id);
const stage = element('stage');
const canvas = element('canvas');

const patience = 200;  // ms; a model that is here by then comes with the first picture, which is the slowest

let program = null;
let secondTokens = null;
let models = null;
let tensors = null;

const theme = new Theme(() => program?.theme(theme.dark));
const address = new Address((fragment) => program?.fragment(fragment));
const clipboard = new Clipboard({ stage, notices });
const box = new SentenceBox(element('first'), (text) => {
    program?.sentence(text);
    host.hand();
});
const second = new SentenceBox(element('second'), (text) => {
    program?.secondSentence(text);
    secondTokens?.hand(text);
});
const bar = new Bar({
    onUndo: () => program?.undo(),
    onRedo: () => program?.redo(),
    onLink() {
        const { link } = address;
        const long = link.length > 2000 ? ` It has ${link.length.toLocaleString('en')} characters; some programs cut long links.` : '';
        clipboard.write(link, `The link is copied.${long}`);
    },
});
const host = createHost({ address, bar, box, second, clipboard, notices, canvas });
attachKeys({
    stage,
    undo: () => program?.undo(),
    redo: () => program?.redo(),
    enter() {
        box.settle();
        second.settle();
    },
    escape: () => bar.escape(),
});

// Of what was dropped, what it is says who opens it.
function open(entries, opener = areTensors(entries) ? tensors : models) {
    if (opener) {
        opener.open(entries);
    } else {
        notices.info('The program is still loading: drop the files again in a moment.');
    }
}

attachDrop({ overlay: element('drop'), onFiles: (entries) => open(entries), onError: (error) => notices.error(error.message) });
attachChooser(element('folder-input'), (entries) => open(entries));
attachChooser(element('files-input'), (entries) => open(entries));
attachChooser(element('tensors-input'), (entries) => open(entries, tensors));

function stopped(reason) {
    document.querySelector('header').inert = true;
    curtain.fail('The program has stopped', `${reason} Reload the page to go on: the address keeps your place, `
        + 'a model has to be opened again.');
}

window.addEventListener('error', ({ error }) => {
    if (error instanceof WebAssembly.RuntimeError) {
        stopped(`It reported: ${error.message}.`);
    }
});
window.addEventListener('unhandledrejection', ({ reason }) => {
    if (reason instanceof WebAssembly.RuntimeError) {
        stopped(`It reported: ${reason.message}.`);
    }
});

// How the bare address opens, or null: with the worked example.
async function openingOf({ opening }) {
    try {
        return await opening;
    } catch (error) {
        if (!address.fragment) {
            notices.error(error.message);
        }
        return null;
    }
}

function useFonts([regular, semibold, mono]) {
    [['Inter', regular, '400'], ['Inter', semibold, '600'], ['JetBrains Mono', mono, '400']]
        .forEach(([family, bytes, weight]) => document.fonts.add(new FontFace(family, bytes, { weight })));
}

async function addFallbackFont(path) {
    try {
        program.font(3, await fetchBytes(path));
        program.wake();
    } catch {
        notices.info('Some characters will show as boxes: their font could not be fetched.');
    }
}

function cannotDraw() {
    curtain.fail('This browser does not draw WebGL2', 'The page draws with WebGL2, which is absent or switched off here. '
        + 'Switch hardware acceleration on, or use another browser.', { reload: false });
}

async function start() {
    if (!files) {
        curtain.fail('This browser cannot run the page', 'It needs WebAssembly with SIMD: Chrome or Edge 91, Firefox 89, '
            + 'Safari 16.4, or newer.', { reload: false });
        return;
    }
    if (!hasWebGL2()) {
        cannotDraw();
        return;
    }
    const { bundled, fallback, ...coming } = await files;
    const [home, fonts, compiled] = await Promise.all([openingOf(coming), coming.fonts, coming.program]);
    const module = await instantiate(compiled, {
        canvas,
        shell: host,
        onAbort: (what) => stopped(`It reported: ${String(what || 'abort')}.`),
    });
    globalThis.explorer = module;  // for the browser tests' probe
    host.program = program = new Program(module);
    const tokens = host.tokens = new Tokens(box, (...given) => program.tokens(...given));
    host.secondTokens = secondTokens = new Tokens(second, (...given) => program.secondTokens(...given));
    host.bundled = bundled;
    tensors = new Tensors({ program, notices });
    host.models = models = new Models({ program, tokens: [tokens, secondTokens], notices, bundled });
    useFonts(fonts);
    fonts.forEach((bytes, kind) => program.font(kind, bytes));
    if (home) {
        program.home(home);
    }
    if (!program.started(address.fragment, theme.dark, matchMedia('(prefers-reduced-motion: reduce)').matches)) {
        cannotDraw();
        return;
    }
    await Promise.race([host.awaited, new Promise((resolve) => { setTimeout(resolve, host.awaited ? patience : 0); })]);
    program.draw();

    curtain.lift();
    bar.enable();
    bar.offer(bundled.names, (name) => models.openBundled(name));
    clipboard.attach(program);
    attachTable({ program, clipboard, notices });
    attachWakers({ program, stage, canvas, notices });
    addFallbackFont(fallback);
}

start().catch((error) => {
    curtain.fail('The page could not start', error instanceof LoadError ? error.message : `It reported: ${error.message}.`);
    if (!(error instanceof LoadError)) {
        throw error;
    }
});
