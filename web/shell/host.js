// The host does what the program asks of the page. The program calls it inside its frames, so anything that
// calls back into the program waits until the call has returned.

import { canvasReads } from './canvas_reads.js';
import { drawGlyph } from './glyphs.js';
import { placeOfLink } from './hub.js';
import { announce } from './live.js';
import { remember } from './memory.js';
import { save } from './save.js';
import { areTensors } from './tensors.js';

/**
 * @import { Address } from './address.js'
 * @import { Bar } from './bar.js'
 * @import { Bundled } from './bundled.js'
 * @import { Clipboard } from './clipboard.js'
 * @import { Shell } from './contract.d.ts'
 * @import { Fields } from './field.js'
 * @import { Entry } from './file_chunks.js'
 * @import { HubDialog } from './hub_dialog.js'
 * @import { Lessons } from './lessons.js'
 * @import { Models } from './models.js'
 * @import { Notices } from './notices.js'
 * @import { Program } from './program.js'
 * @import { Semantics } from './semantics.js'
 * @import { SentenceBox } from './sentence.js'
 * @import { attachTable } from './table.js'
 * @import { Tensors } from './tensors.js'
 * @import { TextSize } from './text_size.js'
 * @import { Tokens } from './tokens.js'
 */

/**
 * @typedef {object} Parts
 * @property {Program} program
 * @property {Tokens[]} tokens of each box
 * @property {Models} models
 * @property {Tensors} tensors
 * @property {Bundled} bundled
 * @property {HubDialog} hub
 * @property {Lessons} lessons
 * @property {Address} address
 * @property {Bar} bar
 * @property {SentenceBox[]} boxes the sentence box and those below it
 * @property {Clipboard} clipboard
 * @property {Notices} notices
 * @property {HTMLElement} canvas
 * @property {Fields} fields
 * @property {Semantics} semantics
 * @property {TextSize} textSize
 * @property {ReturnType<typeof attachTable>} table
 * @property {() => void} savePage
 * @property {(caption: string) => void} askFigure
 * @property {() => void} showEmbed
 * @property {() => void} onChange called when what is on screen has changed
 */

/**
 * The page asks two more things of the host: `hand` gives the program the tokens of the text in the sentence
 * box; `awaited` settles once the model of the address is open, or will not be opened.
 *
 * @typedef {{hand: () => void, awaited: Promise<void> | null}} Waiting
 */

const soon = queueMicrotask;

/** @param {Parts} parts */
export function createHost({ program, tokens: all, models, tensors, bundled, hub, lessons, address, bar, boxes, clipboard, notices, canvas, fields, semantics, textSize, table, savePage, askFigure, showEmbed, onChange }) {
    const [box] = boxes, [tokens] = all;
    /**
     * With a second box below it, each has a name. A box whose text a model continues is called “written”.
     */
    const nameBoxes = () => {
        const several = boxes.slice(1).some((each) => each.shown);
        const second = boxes.some((each, which) => which > 0 && each.shown && !all[which].continued);
        boxes.forEach((each, which) => each.name(!several ? '' : all[which].continued ? 'written' : which > 0 ? 'second' : second ? 'first' : 'read'));
    };
    let tokenWanted = false;  // whether the sentence box holds a text for the open model
    /** @type {Entry[]} */
    let given = [];  // files about to be opened

    /** @param {Promise<boolean>} opening */
    const opened = async (opening) => {
        if (!await opening) {
            program.modelFailed();
        }
    };

    /** @type {Shell & Waiting} */
    const host = {
        awaited: null,

        hand() {
            if (tokenWanted) {
                tokens.hand(box.text);
            } else {
                box.fault(null);
            }
        },

        notice: (text, kind) => notices[kind](text),
        announce,
        setUrl(fragment, push) {
            address.set(fragment, push);
            notices.over();
            onChange();
        },
        setSentence(text, enabled, tokenized, placeholder) {
            box.set(text, enabled, placeholder);
            tokenWanted = tokenized;
            soon(() => host.hand());
        },
        hideSentence() {
            box.hide();
            tokenWanted = false;
        },
        setLowerBox(which, text, placeholder, continued) {
            boxes[which].set(text, true, placeholder);
            all[which].continued = continued;
            nameBoxes();
            soon(() => all[which].hand(boxes[which].text));
        },
        hideLowerBox(which) {
            boxes[which].hide();
            all[which].forget();
            nameBoxes();
        },
        setTitle: (text) => bar.setTitle(text),
        setHistory: (canUndo, canRedo) => bar.setHistory(canUndo, canRedo),
        idsToText: (ids) => tokens.pieces(ids),
        textToIds: (text) => tokens.split(text),
        appendToken: (which, id) => soon(() => all[which].append(id)),
        writeTokens: (...how) => soon(() => tokens.write(...how)),
        specialTokens: () => JSON.stringify(tokens.special),
        copy(text) {
            clipboard.write(text);
        },
        copyLink(fragment) {
            clipboard.write(`${location.href.split('#')[0]}#${fragment}`, 'The link is copied.');
        },
        askFigure: (caption) => soon(() => askFigure(caption)),
        showEmbed: () => soon(showEmbed),
        openWhole() {
            const whole = new URL(address.link);
            whole.search = '?full';  // it goes on, without the newcomers' lesson
            window.open(whole, '_blank', 'noopener');
        },
        savePage: () => soon(savePage),
        semanticsChanged() {
            semantics.changed();
            onChange();
        },
        remember: (...what) => remember(...what),
        setTextSize: (percent) => textSize.choose(percent),
        download(name, at, size, mime) {
            save(name, new Blob([program.read(at, size)], { type: mime }));
        },
        cursor(name) {
            canvas.style.cursor = name;
        },
        openNamed(name) {
            const isHere = bundled.names.includes(name), place = isHere ? null : placeOfLink(name);
            if (isHere || place) {
                host.awaited = Promise.resolve().then(() => opened(place ? hub.openLink(name, place) : models.openBundled(name, true)));
            }
            return isHere || place !== null;
        },
        setField: (...place) => fields.set(...place),
        hideField: (key) => soon(() => fields.hide(key)),
        drawGlyph(text, size, at, width, height) {
            const { advance, pixels } = drawGlyph(text, size, width, height);
            program.write(at, pixels);
            return advance;
        },
        canvasReads,
        fetchLesson: (name) => soon(() => lessons.fetch(name)),
        // The second press of a double click lacks the permission to open a dialog.
        chooseTensors() {
            if (navigator.userActivation?.isActive ?? true) {
                document.getElementById('tensors-input').click();
            }
        },
        showTable: (title) => soon(() => table.open(title)),
        giveFile(path, at, size) {
            given.push({ path, file: new File([program.read(at, size)], path.split('/').at(-1) ?? path) });
        },
        openGiven(awaited) {
            const entries = given;
            given = [];
            soon(() => (!awaited && areTensors(entries) ? tensors.open(entries) : opened(models.open(entries, { awaited }))));
        },
    };
    return host;
}
