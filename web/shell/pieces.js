// A token is shown to people with spaces as '·', line breaks as '↵', bytes that are no whole character as '\xE2', and
// invisible characters as '\u200D'. The true text is the tokenizer's decode.

/** @type {Record<string, string>} */
const named = { ' ': '·', '\n': '↵', '\t': '⇥' };

/** @param {string} text */
function visible(text) {
    return text.replace(/[ \n\t\p{C}\p{Z}]/gu, (c) => {
        const code = Number(c.codePointAt(0)).toString(16).toUpperCase();
        return named[c] ?? (code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`);
    });
}

const hexByte = (/** @type {number} */ byte) => `\\x${byte.toString(16).toUpperCase().padStart(2, '0')}`;

/** Byte-level vocabularies write each of the 256 bytes as a printable character, in the order that GPT-2 assigned them. */
export const byteOfCharacter = (() => {
    const printable = (/** @type {number} */ b) => (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    /** @type {Map<string, number>} */
    const bytes = new Map();
    let next = 0x100;
    for (let b = 0; b < 256; b++) {
        bytes.set(String.fromCodePoint(printable(b) ? b : next++), b);
    }
    return bytes;
})();

/**
 * The length of the whole character that starts at `at`, or 0.
 *
 * @param {Uint8Array} bytes
 * @param {number} at
 */
function characterLength(bytes, at) {
    const first = bytes[at];
    const length = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
    if (length === 0 || at + length > bytes.length) {
        return 0;
    }
    try {
        new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(at, at + length));
        return length;
    } catch {
        return 0;
    }
}

/** @param {Uint8Array} bytes */
export function showBytes(bytes) {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    let shown = '';
    for (let at = 0; at < bytes.length;) {
        const length = characterLength(bytes, at);
        shown += length ? visible(decoder.decode(bytes.subarray(at, at + length))) : hexByte(bytes[at]);
        at += length || 1;
    }
    return shown;
}

/** @param {string} token */
export function showByteLevel(token) {
    const bytes = Array.from(token, (c) => byteOfCharacter.get(c) ?? -1);
    return bytes.includes(-1) ? visible(token) : showBytes(Uint8Array.from(bytes));
}

/**
 * In SentencePiece's spelling '▁' is a space and '<0xE2>' a byte.
 *
 * @param {string} token
 */
export function showMetaspace(token) {
    const byte = /^<0x([0-9A-Fa-f]{2})>$/.exec(token);
    return byte ? showBytes(Uint8Array.of(parseInt(byte[1], 16))) : visible(token.replaceAll('▁', ' '));
}

export const showPlain = visible;
