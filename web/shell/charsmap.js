// Reads the characters that SentencePiece replaces from the compiled form in a model's file: the size of a
// double-array trie (darts-clone, https://github.com/s-yata/darts-clone) in bytes, the trie, and the
// replacements, each ended by a zero. T5 has such a map.

const utf8 = new TextEncoder();
const text = new TextDecoder('utf-8', { ignoreBOM: true });

/** @param {string} encoded */
function bytesOf(encoded) {
    try {
        return Uint8Array.from(atob(encoded), (c) => c.charCodeAt(0));
    } catch {
        throw new Error("tokenizer.json has a 'precompiled_charsmap' that is not base64");
    }
}

/**
 * Returns a function that replaces them. Throws an Error without a full stop if this is not such a map.
 *
 * @param {string} encoded in base64
 */
export function charsmapOf(encoded) {
    const bytes = bytesOf(encoded);
    const view = new DataView(bytes.buffer);
    const size = bytes.length < 4 ? 0 : view.getUint32(0, true);
    if (size === 0 || size % 4 !== 0 || size + 4 > bytes.length) {
        throw new Error("tokenizer.json has a 'precompiled_charsmap' whose trie is cut off");
    }
    if (!('Segmenter' in Intl)) {
        throw new Error('tokenizer.json replaces characters by a table (Precompiled), which needs a browser that knows what people see as one character (Intl.Segmenter)');
    }
    const units = size / 4;
    const unitAt = (/** @type {number} */ place) => (place < units ? view.getUint32(4 + 4 * place, true) : 0);
    const offset = (/** @type {number} */ unit) => (unit >>> 10) << ((unit & 0x200) >>> 6);
    const replacements = bytes.subarray(4 + size);

    /**
     * Returns the replacement for the shortest prefix in the map, or null if it has none.
     *
     * @param {string} characters
     */
    function replaced(characters) {
        let place = offset(unitAt(0));
        for (const byte of utf8.encode(characters)) {
            if (byte === 0) {
                return null;
            }
            place ^= byte;
            const unit = unitAt(place);
            if (((unit & 0x800000ff) >>> 0) !== byte) {
                return null;
            }
            place ^= offset(unit);
            if (unit & 0x100) {
                const from = unitAt(place) & 0x7fffffff;
                const to = replacements.indexOf(0, from);
                return text.decode(replacements.subarray(from, to < 0 ? undefined : to));
            }
        }
        return null;
    }

    const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
    return (/** @type {string} */ given) => Array.from(graphemes.segment(given), ({ segment }) => {
        const whole = utf8.encode(segment).length < 6 ? replaced(segment) : null;
        return whole ?? Array.from(segment, (character) => replaced(character) ?? character).join('');
    }).join('');
}
