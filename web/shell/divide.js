// Divides a text into the pieces within which a model finds tokens: implements the pre-tokenizers of a
// tokenizer.json like Hugging Face's tokenizers (Rust). Spaces are Unicode's White_Space, numbers \p{N},
// punctuation \p{P} and ASCII's.

import { characterOfByte } from './pieces.js';

/**
 * `first`: it is where the text begins.
 *
 * @typedef {{text: string, first: boolean}} Piece
 * @typedef {(piece: Piece) => Piece[]} Divider
 * @typedef {{String?: string, Regex?: string}} Pattern
 * @typedef {(pattern: Pattern) => RegExp} Compile makes the expression of a pattern, with the flags `gu`
 *
 * @typedef {object} PreTokenizer as a tokenizer.json describes it
 * @property {string} type
 * @property {PreTokenizer[]} [pretokenizers]
 * @property {Pattern} [pattern]
 * @property {string} [behavior]
 * @property {boolean} [invert]
 * @property {boolean} [individual_digits]
 * @property {boolean | null} [add_prefix_space]
 * @property {boolean} [use_regex]
 * @property {string} [replacement]
 * @property {string} [prepend_scheme]
 * @property {boolean | null} [split]
 * @property {string} [delimiter]
 * @property {number} [length]
 */

/** @typedef {{from: number, to: number, match: boolean}} Part */

/**
 * Returns the matches in a text and the text between them.
 *
 * @param {string} text
 * @param {RegExp} expression
 */
function partsOf(text, expression) {
    /** @type {Part[]} */
    const parts = [];
    let at = 0, matched = false;
    for (const { 0: found, index } of text.matchAll(expression)) {
        if (found === '' && matched && index === at) {
            continue;  // an empty match directly after another does not count
        }
        if (index > at) {
            parts.push({ from: at, to: index, match: false });
        }
        at = index + found.length;
        parts.push({ from: index, to: at, match: true });
        matched = true;
    }
    if (at < text.length) {
        parts.push({ from: at, to: text.length, match: false });
    }
    return parts;
}

/**
 * Joins a part to the previous one if `joined` says so.
 *
 * @param {Part[]} parts
 * @param {(match: boolean, before: boolean) => boolean} joined
 */
function join(parts, joined) {
    /** @type {Part[]} */
    const all = [];
    let before = false;
    for (const { from, to, match } of parts) {
        const last = all.at(-1);
        if (last && joined(match, before)) {
            last.from = Math.min(last.from, from);
            last.to = Math.max(last.to, to);
        } else {
            all.push({ from, to, match });
        }
        before = match;
    }
    return all;
}

/** @type {Record<string, (parts: Part[]) => Part[]>} */
const behaviours = {
    Removed: (parts) => parts.filter(({ match }) => !match),
    Isolated: (parts) => parts,
    Contiguous: (parts) => join(parts, (match, before) => match === before),
    MergedWithPrevious: (parts) => join(parts, (match, before) => match && !before),
    MergedWithNext: (parts) => join([...parts].reverse(), (match, before) => match && !before).reverse(),
};

/** @param {string | undefined} name */
function behaviourOf(name) {
    if (name === undefined || !Object.hasOwn(behaviours, name)) {
        throw new Error(`tokenizer.json divides texts by the behaviour '${name}', which is not known here`);
    }
    return behaviours[name];
}

/**
 * @param {RegExp} expression
 * @param {string} behaviour
 * @returns {Divider}
 */
function splitter(expression, behaviour, invert = false) {
    const arranged = behaviourOf(behaviour);
    return ({ text, first }) => {
        const parts = partsOf(text, expression).map((part) => ({ ...part, match: part.match !== invert }));
        return arranged(parts).map(({ from, to }) => ({ text: text.slice(from, to), first: first && from === 0 }));
    };
}

/** @param {string} text */
const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

const words = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d\p{White_Space}]+/gu;
const marks = /[\p{P}$+<=>^`|~]/gu;
const gpt2 = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

const utf8 = new TextEncoder();

/** @param {string} text */
export const inBytes = (text) => Array.from(utf8.encode(text), (byte) => characterOfByte[byte]).join('');

/**
 * @param {PreTokenizer} part
 * @returns {Divider}
 */
function byteLevel({ add_prefix_space: spaced, use_regex: divided = true }) {
    const divide = divided ? splitter(gpt2, 'Isolated') : (/** @type {Piece} */ piece) => [piece];
    return ({ text, first }) => divide({ text: spaced && !text.startsWith(' ') ? ` ${text}` : text, first })
        .map((piece) => ({ text: inBytes(piece.text), first: piece.first }));
}

/**
 * @param {PreTokenizer} part
 * @returns {Divider}
 */
function metaspace({ replacement = '▁', add_prefix_space: spaced, prepend_scheme: scheme = 'always', split }) {
    const prepends = spaced === false ? 'never' : scheme;
    if (!['always', 'first', 'never'].includes(prepends)) {
        throw new Error(`tokenizer.json puts a blank before texts by the scheme '${prepends}', which is not known here`);
    }
    const divide = split ?? true ? splitter(new RegExp(escaped(replacement), 'gu'), 'MergedWithNext') : (/** @type {Piece} */ piece) => [piece];
    return ({ text, first }) => {
        const marked = text.replaceAll(' ', () => replacement);
        const begins = !marked.startsWith(replacement) && (prepends === 'always' || (prepends === 'first' && first));
        return divide({ text: begins ? replacement + marked : marked, first });
    };
}

/**
 * @param {PreTokenizer} part
 * @returns {Divider}
 */
function fixedLength({ length = 5 }) {
    if (!(Number.isInteger(length) && length > 0)) {
        throw new Error(`tokenizer.json divides texts into pieces of ${length} characters (FixedLength)`);
    }
    return splitter(new RegExp(`[^]{1,${length}}`, 'gu'), 'Isolated');
}

/** @type {Record<string, (part: PreTokenizer, compile: Compile) => Divider>} */
const dividers = {
    BertPreTokenizer: () => inTurn([splitter(/\p{White_Space}/gu, 'Removed'), splitter(marks, 'Isolated')]),
    ByteLevel: byteLevel,
    CharDelimiterSplit: ({ delimiter = '' }) => splitter(new RegExp(escaped(delimiter), 'gu'), 'Removed'),
    Digits: ({ individual_digits: alone }) => splitter(/\p{N}/gu, alone ? 'Isolated' : 'Contiguous'),
    FixedLength: fixedLength,
    Metaspace: metaspace,
    Punctuation: ({ behavior = 'Isolated' }) => splitter(marks, behavior),
    Sequence: ({ pretokenizers = [] }, compile) => inTurn(pretokenizers.map((part) => dividerOf(part, compile))),
    Split: ({ pattern = {}, behavior, invert = false }, compile) => {
        behaviourOf(behavior);
        const expression = pattern.String === undefined ? compile(pattern) : new RegExp(escaped(pattern.String), 'gu');
        return splitter(expression, String(behavior), invert);
    },
    Whitespace: () => splitter(words, 'Removed', true),
    WhitespaceSplit: () => splitter(/\p{White_Space}/gu, 'Removed'),
};

/**
 * @param {Divider[]} all
 * @returns {Divider}
 */
const inTurn = (all) => (piece) => all.reduce((pieces, divide) => pieces.flatMap(divide).filter(({ text }) => text !== ''), [piece]);

/**
 * Throws an Error without a full stop if the pre-tokenizer, or a value of its keys, is unknown here.
 *
 * @param {PreTokenizer | null} part
 * @param {Compile} compile
 * @returns {Divider}
 */
export function dividerOf(part, compile) {
    if (!part) {
        return (piece) => [piece];
    }
    if (!Object.hasOwn(dividers, part.type)) {
        throw new Error(`tokenizer.json has the pre-tokenizer '${part.type}', which is not supported`);
    }
    return inTurn([dividers[part.type](part, compile)]);
}
