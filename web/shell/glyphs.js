// Draws characters that the page's own fonts lack with the system's fonts.

import { canvasReads } from './canvas_reads.js';
import { numberOf, numbersInPixels } from './number_pixels.js';

const canvas = document.createElement('canvas');
const family = 'system-ui, sans-serif';

/**
 * Draws white on a transparent background, or in the colours of an emoji. The text begins half a size from
 * the left; its baseline is one and a half below the top.
 *
 * @param {string} text
 * @param {number} size
 * @param {number} width
 * @param {number} height
 */
function draw(text, size, width, height, scale = 1) {
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext('2d', { willReadFrequently: true });
    if (!context) {
        return { advance: 0, pixels: new Uint8Array(4 * width * height) };
    }
    context.font = `${size * scale}px ${family}`;
    context.fillStyle = '#fff';
    context.textAlign = 'left';  // left in the picture, whichever way the text runs
    context.fillText(text, size / 2, size * 1.5);
    return {
        advance: context.measureText(text).width,
        pixels: new Uint8Array(context.getImageData(0, 0, width, height).data.buffer),
    };
}

/**
 * Unassigned characters, which no font has. Firefox writes the digits of such a character into a box, four of
 * them or six.
 */
const nobody = { few: ['\u0378', '\u0590', '\u2fe3', '\ud7ff', '\ufb07'], many: ['\u{4abcd}', '\u{5fe21}', '\u{93570}', '\u{c4e9f}'] };
const probed = { size: 32, width: 96, height: 64 };

/** @param {string} character */
function inkOf(character) {
    const { advance, pixels } = draw(character, probed.size, probed.width, probed.height);
    return { advance, ink: Array.from({ length: probed.width * probed.height }, (_, i) => i).filter((i) => pixels[4 * i + 3] > 64) };
}

/** @param {number[]} ink */
const boundsOf = (ink) => [...[ink.map((i) => i % probed.width), ink.map((i) => Math.floor(i / probed.width))]
    .flatMap((places) => [Math.min(...places), Math.max(...places)])].join();

/**
 * Finds how all characters that no font has are drawn: as an empty box, or as the frame of a box of digits.
 *
 * @param {string[]} characters
 */
function boxOf(characters) {
    const all = characters.map(inkOf);
    const common = all.slice(1).reduce((ink, other) => {
        const there = new Set(other.ink);
        return ink.filter((i) => there.has(i));
    }, all[0].ink);
    return { advance: all[0].advance, frame: new Set(common), bounds: boundsOf(all[0].ink) };
}

/** @type {Map<string, ReturnType<typeof boxOf>>} */
const boxes = new Map();
/** @type {Map<string, boolean>} */
const answers = new Map();

/**
 * Says whether a font of the system has a character, or the character is invisible.
 *
 * @param {string} character
 */
function isKnown(character) {
    const before = answers.get(character);
    if (before !== undefined) {
        return before;
    }
    const kind = Number(character.codePointAt(0)) < 0x10000 ? 'few' : 'many';
    const box = boxes.get(kind) ?? boxOf(nobody[kind]);
    boxes.set(kind, box);
    const { advance, ink } = inkOf(character);
    const framed = ink.filter((i) => box.frame.has(i)).length;
    const known = advance !== box.advance || ink.length === 0 !== (box.frame.size === 0) || boundsOf(ink) !== box.bounds || framed < 0.9 * box.frame.size;
    answers.set(character, known);
    return known;
}

/**
 * Returns the picture of a character or of a run of them, four bytes for each pixel, and the distance to the
 * next one. A character that no font has is written as its number; so are all characters if the browser does
 * not let its letters be read.
 *
 * @param {string} text
 * @param {number} size of the font, in pixels
 * @param {number} width of the picture
 * @param {number} height
 */
export function drawGlyph(text, size, width, height) {
    const characters = [...text];
    if (!canvasReads()) {
        return numbersInPixels(characters, size, width, height);
    }
    const known = characters.map(isKnown);
    if (known.every(Boolean)) {
        return draw(text, size, width, height);
    }
    const shown = characters.map((character, i) => (known[i] ? character : `${known[i - 1] ? ' ' : ''}${numberOf(character)} `));
    return draw(shown.join(''), size, width, height, 0.75);
}
