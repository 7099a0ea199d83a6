// Normalizes a text before its tokens are found: implements the normalizers of a tokenizer.json like Hugging
// Face's tokenizers (Rust). Letters are lowercased one by one, regardless of their position in a word.

import { charsmapOf } from './charsmap.js';
import { inBytes } from './divide.js';

/**
 * @import { Compile, Pattern } from './divide.js'
 *
 * @typedef {(text: string) => string} Normalizer
 *
 * @typedef {object} NormalizerPart as a tokenizer.json describes it
 * @property {string} type
 * @property {NormalizerPart[]} [normalizers]
 * @property {boolean} [clean_text]
 * @property {boolean} [handle_chinese_chars]
 * @property {boolean | null} [strip_accents]
 * @property {boolean} [lowercase]
 * @property {boolean} [strip_left]
 * @property {boolean} [strip_right]
 * @property {Pattern} [pattern]
 * @property {string} [content]
 * @property {string} [prepend]
 * @property {string | null} [precompiled_charsmap]
 */

// The blocks of CJK unified ideographs that BERT separates, in all planes.
const ideographs = /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b820}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;
// Characters that BERT drops: control characters other than these three, and U+FFFD.
const dropped = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\ufffd]/gu;
// Characters that NMT drops, and those that it treats as a space.
const [nmtDropped, nmtSpaces] = [/(?![\0\t\n\f\r\u0080-\u008e\u0090-\u009e])\p{Cc}/gu, /[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]/gu];

/** @param {string} text */
const small = (text) => Array.from(text, (character) => character.toLowerCase()).join('');

/**
 * @param {NormalizerPart} part
 * @returns {Normalizer}
 */
function bert({ clean_text: clean = true, handle_chinese_chars: apart = true, strip_accents: strip, lowercase = true }) {
    return (text) => {
        let made = clean ? text.replace(dropped, '').replace(/\p{White_Space}/gu, ' ') : text;
        made = apart ? made.replace(ideographs, ' $& ') : made;
        made = strip ?? lowercase ? made.normalize('NFD').replace(/\p{Mn}/gu, '') : made;
        return lowercase ? small(made) : made;
    };
}

/**
 * @param {NormalizerPart} part
 * @param {Compile} compile
 * @returns {Normalizer}
 */
function replace({ pattern = {}, content = '' }, compile) {
    const { String: literal } = pattern;
    if (literal !== undefined) {
        return literal === '' ? (text) => text : (text) => text.replaceAll(literal, () => content);
    }
    const expression = compile(pattern);
    return (text) => text.replace(expression, () => content);
}

/** @type {Record<string, (part: NormalizerPart, compile: Compile) => Normalizer>} */
const normalizers = {
    BertNormalizer: bert,
    ByteLevel: () => inBytes,
    Lowercase: () => small,
    NFC: () => (text) => text.normalize('NFC'),
    NFD: () => (text) => text.normalize('NFD'),
    NFKC: () => (text) => text.normalize('NFKC'),
    NFKD: () => (text) => text.normalize('NFKD'),
    Nmt: () => (text) => text.replace(nmtDropped, '').replace(nmtSpaces, ' '),
    Precompiled: ({ precompiled_charsmap: map }) => (map ? charsmapOf(map) : (text) => text),
    Prepend: ({ prepend = '' }) => (text) => (text === '' ? '' : prepend + text),
    Replace: replace,
    Sequence: ({ normalizers: parts = [] }, compile) => {
        const all = parts.map((part) => normalizerOf(part, compile));
        return (text) => all.reduce((made, normalize) => normalize(made), text);
    },
    Strip: ({ strip_left: left, strip_right: right }) => (text) => {
        const begun = left ? text.replace(/^\p{White_Space}+/u, '') : text;
        return right ? begun.replace(/(?<!\p{White_Space})\p{White_Space}+$/u, '') : begun;
    },
    StripAccents: () => (text) => text.replace(/\p{M}/gu, ''),
};

/**
 * Throws an Error without a full stop if the normalizer is unknown here.
 *
 * @param {NormalizerPart | null} part
 * @param {Compile} compile
 * @returns {Normalizer}
 */
export function normalizerOf(part, compile) {
    if (!part) {
        return (text) => text;
    }
    if (!Object.hasOwn(normalizers, part.type)) {
        throw new Error(`tokenizer.json has the normalizer '${part.type}', which is not supported`);
    }
    return normalizers[part.type](part, compile);
}
