// Shows a token to users with spaces as '·', line breaks as '↵', and invisible characters as '\u200D'. A
// character that is spread over several tokens is shown in each of them, with its parts counted: '⟨猫 1/2⟩'
// and '⟨猫 2/2⟩'. Bytes that belong to no character are shown as such: '⟨e7 8c⟩'. The true text is the
// tokenizer's decode, and core/text/words.cpp joins the parts to whole characters again.

/** @type {Record<string, string>} */
const named = { ' ': '·', '\n': '↵', '\t': '⇥' };

/** @param {string} text */
function visible(text) {
    return text.replace(/[ \n\t\p{C}\p{Z}]/gu, (c) => {
        const code = Number(c.codePointAt(0)).toString(16).toUpperCase();
        return named[c] ?? (code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, '0')}`);
    });
}

/**
 * Byte-level vocabularies write each of the 256 bytes as a printable character, in the order that GPT-2
 * assigned them.
 */
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

/** The inverse map. */
export const characterOfByte = [...byteOfCharacter].sort(([, one], [, other]) => one - other).map(([character]) => character);

/**
 * Returns the length of the whole character that starts at `at`, or 0.
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

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** @param {number[]} bytes */
const hex = (bytes) => `⟨${bytes.map((byte) => byte.toString(16).padStart(2, '0')).join(' ')}⟩`;

/**
 * Returns what to show for each token of a text, given as their bytes.
 *
 * @param {Uint8Array[]} tokens
 */
export function showTokens(tokens) {
    const owners = tokens.flatMap((token, i) => Array.from(token, () => i));  // for each byte
    const bytes = Uint8Array.from(tokens.flatMap((token) => [...token]));
    const shown = tokens.map(() => '');
    for (let at = 0; at < bytes.length;) {
        const length = characterLength(bytes, at);
        const parts = [...new Set(owners.slice(at, at + (length || 1)))];
        if (length) {
            const character = visible(decoder.decode(bytes.subarray(at, at + length)));
            parts.forEach((token, i) => { shown[token] += parts.length > 1 ? `⟨${character} ${i + 1}/${parts.length}⟩` : character; });
            at += length;
            continue;
        }
        const from = at;
        do {
            ++at;
        } while (at < bytes.length && owners[at] === owners[from] && !characterLength(bytes, at));
        shown[owners[from]] += hex([...bytes.subarray(from, at)]);
    }
    return shown;
}

/**
 * @typedef {(token: string) => Uint8Array} Spelling reads the bytes of a token from its vocabulary's spelling
 */

/** @type {Spelling} */
export const plain = (token) => encoder.encode(token);

/** @type {Spelling} */
export function byteLevel(token) {
    const bytes = Array.from(token, (c) => byteOfCharacter.get(c) ?? -1);
    return bytes.includes(-1) ? plain(token) : Uint8Array.from(bytes);
}

/**
 * In SentencePiece's spelling, '▁' is a space and '<0xE2>' a byte.
 *
 * @type {Spelling}
 */
export function metaspace(token) {
    const byte = /^<0x([0-9A-Fa-f]{2})>$/.exec(token);
    return byte ? Uint8Array.of(parseInt(byte[1], 16)) : plain(token.replaceAll('▁', ' '));
}
