// Starts the page: picks a build of the program, loads it, and connects the two.

import { Address } from './address.js';
import { Archives, isArchive } from './archives.js';
import { Bar } from './bar.js';
import { canvasReads } from './canvas_reads.js';
import { Clipboard } from './clipboard.js';
import { curtain } from './curtain.js';
import { attachChooser, attachDrop } from './drop.js';
import { files, opensWithFirst } from './early.js';
import { Fields, touch } from './field.js';
import { attachEmbed } from './embed.js';
import { attachFigure } from './figure.js';
import { alone, framed, only } from './framed.js';
import { createHost } from './host.js';
import { HubDialog } from './hub_dialog.js';
import { attachKeys } from './keys.js';
import { Lessons, isLesson } from './lessons.js';
import { LoadError, fetchBytes, instantiate } from './loading.js';
import { remembered } from './memory.js';
import { Messages } from './messages.js';
import { Models } from './models.js';
import { notices } from './notices.js';
import { keepOffline } from './offline.js';
import { Program } from './program.js';
import { reasonOf } from './reason.js';
import { PageSaver } from './save_page.js';
import { Semantics } from './semantics.js';
import { SentenceBox } from './sentence.js';
import { Sleeper, firstSeen } from './sleep.js';
import { attachTable } from './table.js';
import { Tensors, areTensors } from './tensors.js';
import { TextSize } from './text_size.js';
import { Theme } from './theme.js';
import { Tokens } from './tokens.js';
import { attachWakers, watchContext } from './wake.js';

/**
 * @import { Files, Font, Opening } from './early.js'
 * @import { Module } from './contract.d.ts'
 * @import { Entry } from './file_chunks.js'
 */

/**
 * @template {keyof PageElements} Id
 * @param {Id} id
 */
const element = (id) => document.getElementById(id);
const stage = element('stage');
const canvas = element('canvas');

const patience = 200;  // ms; a model whose bytes are here by then is in the first picture, which is the slowest

/** @type {Program | undefined} */
let program;
/** @type {ReturnType<typeof createHost> | undefined} */
let host;
/** @type {Tokens[]} for each box */
let tokens = [];
/** @type {Models | undefined} */
let models;
/** @type {HubDialog | undefined} */
let hub;
/** @type {Tensors | undefined} */
let tensors;
/** @type {Archives | undefined} */
let archives;
/** @type {PageSaver | undefined} */
let saver;
/** @type {Lessons | undefined} */
let lessons;
/** @type {Messages | undefined} */
let messages;
/** @type {Sleeper | undefined} */
let sleeper;
/** @type {(() => void) | undefined} */
let showEmbed;

const theme = new Theme((look) => program?.theme(look));
const textSize = new TextSize((scale) => program?.scale(scale));
const address = new Address((fragment) => program?.fragment(fragment));
const clipboard = new Clipboard({ stage, notices });
const boxes = [element('first'), element('second'), element('third'), element('fourth')].map((root, which) => new SentenceBox(root, (text) => {
    program?.sentence(which, text);
    if (which === 0) {
        host?.hand();
    } else {
        tokens[which]?.hand(text);
    }
}));
const bar = new Bar({
    onFind: find,
    onUndo: () => program?.undo(),
    onRedo: () => program?.redo(),
    onHub: () => hub?.show(),
    onSave: () => savePage(),
    onEmbed: () => showEmbed?.(),
    onLink() {
        const { link } = address;
        const long = link.length > 2000 ? ` It has ${link.length.toLocaleString('en')} characters; some programs cut long links.` : '';
        const whole = program?.linkLeavesOut() ? ' A text of more than 32,000 characters is not in it.' : '';
        clipboard.write(link, `The link is copied.${whole}${long}`);
    },
});
const fields = new Fields(element('field'), stage, (...typed) => program?.field(...typed));
const semantics = new Semantics(element('semantics'), stage, fields);

// The palette takes what is typed next. A phone opens its keyboard only while the palette's button is
// pressed.
function find() {
    semantics.leave();
    if (touch) {
        fields.find();
    } else {
        stage.focus();
    }
    program?.palette();
}

// Says whether a sentence box had the focus.
function leaveBox() {
    const box = boxes.find((each) => each.close());
    if (box) {
        stage.focus();
    }
    return Boolean(box);
}

attachKeys({
    stage,
    semantics,
    undo: () => program?.undo(),
    redo: () => program?.redo(),
    find,
    enter() {
        leaveBox();
        fields.enter();
    },
    escape: () => bar.escape() || leaveBox(),
    resize: (by) => textSize.step(by),
    help: () => element('keys-dialog').showModal(),
});

const savePage = () => saver?.save(address.link.split('#')[1] ?? '');

/**
 * Dropped files may be a model, tensors, a .zip of either, or a lesson.
 *
 * @param {Entry[]} entries
 */
function open(entries, opener = isLesson(entries) ? lessons : isArchive(entries) ? archives : areTensors(entries) ? tensors : models) {
    if (!opener) {
        notices.info('The program is still loading: open the files again in a moment.');
    }
    return opener?.open(entries);
}

element('bar').addEventListener('pointerdown', () => program?.pressedElsewhere());
element('keys-close').addEventListener('click', () => element('keys-dialog').close());

attachDrop({ overlay: element('drop'), onFiles: (entries) => open(entries), onError: (reason) => notices.error(reasonOf(reason)) });
attachChooser(element('folder-input'), (entries) => open(entries));
attachChooser(element('files-input'), (entries) => open(entries));
attachChooser(element('tensors-input'), (entries) => open(entries, tensors));

/** @param {string} reason */
function stopped(reason) {
    element('bar').inert = true;
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

/**
 * Resolves to what the bare address opens with, or null for the worked example.
 *
 * @param {Promise<Opening | null>} opening
 */
async function openingOf(opening) {
    try {
        return await opening;
    } catch (error) {
        if (!address.fragment) {
            notices.error(reasonOf(error));
        }
        return null;
    }
}

/** @param {Font[]} fonts */
function useFonts([regular, semibold, mono]) {
    document.fonts.add(new FontFace('Inter', regular, { weight: '400' }));
    document.fonts.add(new FontFace('Inter', semibold, { weight: '600' }));
    document.fonts.add(new FontFace('JetBrains Mono', mono, { weight: '400' }));
}

/**
 * @param {Program} running
 * @param {string} path
 */
async function addFallbackFont(running, path) {
    try {
        running.font(3, await fetchBytes(path));
        running.wake();
    } catch {
        notices.info('Some characters will show as boxes: their font could not be fetched.');
    }
}

/**
 * Resolves once the browser has shown some pictures.
 *
 * @param {number} count
 */
async function pictures(count) {
    for (let shown = 0; shown < count; ++shown) {
        await new Promise(requestAnimationFrame);
    }
}

/**
 * Adds the rest of the program, and says so if it is long in coming.
 *
 * @param {Module} module
 * @param {Program} running
 * @param {Files['rest']} rest
 */
async function complete(module, running, rest) {
    const matter = 'rest', late = setTimeout(() => {
        notices.pending(matter, 'The rest of the program is still loading: some clicks will wait for it.');
    }, 1000);
    try {
        await module.addRest(await rest());
    } finally {
        clearTimeout(late);
        notices.pending(matter, null);
    }
    running.useThreads();
}

async function start() {
    if (!files) {
        curtain.fail('This browser cannot run the page', 'It needs WebAssembly with SIMD: Chrome or Edge 91, Firefox 89, '
            + 'Safari 16.4, or newer.', { reload: false });
        return;
    }
    if (framed) {
        await firstSeen(stage);
    }
    const { bundled, fallback, rest, ...coming } = await files;
    const [home, fonts, compiled] = await Promise.all([openingOf(coming.opening), coming.fonts, coming.program, opensWithFirst || rest()]);
    const module = await instantiate(compiled, {
        canvas,
        onAbort: (/** @type {unknown} */ what) => stopped(`It reported: ${String(what || 'abort')}.`),
    });
    globalThis.explorer = module;  // for the browser tests' probe
    const running = program = new Program(module);
    if (!opensWithFirst) {
        await complete(module, running, rest);
    }
    tokens = boxes.map((each, which) => new Tokens(each, (...given) => running.tokens(which, ...given)));
    const own = tensors = new Tensors({ program, notices });
    archives = new Archives({ program, notices });
    const teaching = lessons = new Lessons({ program, notices });
    const opener = models = new Models({ program, tokens, notices, bundled });
    const dialog = hub = new HubDialog({ program, models, notices });
    saver = new PageSaver({ models: opener, tensors: own, notices });
    const table = attachTable({ program, clipboard, notices });
    showEmbed = attachEmbed({ program, address, clipboard, models: opener, tensors: own, bundled });
    const onChange = () => messages?.changed();
    host = createHost({ program, tokens, models, tensors: own, bundled, hub: dialog, lessons: teaching, address, bar, boxes, clipboard, notices, canvas, fields, semantics, textSize, table, savePage, askFigure: attachFigure({ program, address }), showEmbed, onChange });
    module.shell = host;
    useFonts(fonts);
    fonts.forEach((bytes, kind) => running.font(kind, bytes));
    if (home) {
        program.home(home);
    }
    if (alone) {
        program.embed(only);
    }
    program.keptLessons(remembered('lessons') ?? '', remembered('lesson-draft') ?? '');
    program.fold(remembered('lenses') === 'folded', remembered('explanations') === 'folded', Number(remembered('groups') ?? -1));
    program.scale(textSize.scale);
    watchContext({ program, canvas, notices, given: () => sleeper?.asleep ?? false });
    const device = { ...theme.look, reducedMotion: matchMedia('(prefers-reduced-motion: reduce)').matches, touch };
    if (!program.started(address.fragment, device)) {
        curtain.fail('This browser does not draw WebGL2', 'The page draws with WebGL2, which is absent or switched off here. '
            + 'Switch hardware acceleration on, or use another browser.', { reload: false });
        return;
    }
    if (!remembered('start') && !framed && !new URLSearchParams(location.search).has('full')) {
        program.greet();
    }
    const { awaited } = host;
    await Promise.race([awaited, new Promise((resolve) => { setTimeout(resolve, awaited ? patience : 0); })]);
    if (home && awaited) {
        if (bundled.share(home.model) === 1) {
            await awaited;
        } else {
            program.meanwhile();  // without its model the picture would be empty
        }
    }
    program.draw();

    curtain.lift();
    semantics.attach(program);
    bar.enable();
    bar.offer(bundled.names, (name) => opener.openBundled(name));
    clipboard.attach(program);
    attachWakers({ program, stage, canvas });
    if (!canvasReads()) {
        addFallbackFont(program, fallback);
    }
    teaching.list();
    keepOffline();
    const view = address.fragment;
    if (bundled.tensors.length) {
        await own.open(bundled.tensors);
        if (view) {
            running.fragment(view);  // what was set belongs to them
        }
    }
    if (opensWithFirst) {
        await pictures(6);  // until what the page opens with is there and still
        await complete(module, running, rest);
    }
    if (framed) {
        const light = sleeper = new Sleeper({ program, stage, canvas });
        messages = new Messages({ program, address, notices, open: async (entries) => open(entries), wake: () => light.wake() });
    }
}

start().catch((error) => {
    curtain.fail('The page could not start', error instanceof LoadError ? error.message : `It reported: ${reasonOf(error)}.`);
    if (!(error instanceof LoadError)) {
        throw error;
    }
});
