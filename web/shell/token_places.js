// Finds where the tokens of a text are in it, and writes others there. Tokenizers do not say where: most of
// them fold case, accents or spaces before they split.

/**
 * A token in the form in which it is found in a text and written into one.
 *
 * @typedef {object} Written
 * @property {Uint8Array} bytes of its text, with the space before it if the vocabulary spells that
 * @property {string | null} literal how a special token is typed; null: an ordinary token
 * @property {boolean} continues the word before, if the vocabulary spells no spaces
 * @property {boolean} spaced whether the vocabulary spells spaces
 * @property {boolean} unknown whether it stands for any word
 *
 * @typedef {{from: number, to: number}} Place in UTF-16 units of the text
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const endsWord = /^[\s\p{P}$+<=>^`|~]$/u;  // BERT's rule, whose unknown words are unknown as a whole
const letterAtEnd = /[\p{L}\p{M}\p{N}]$/u;
const letterAtStart = /^[\p{L}\p{M}\p{N}]/u;

const isBlank = (/** @type {number} */ byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/**
 * Finds each token after the one before it. A special token that the tokenizer has put around the text has an
 * empty place.
 *
 * @param {string} text
 * @param {Written[]} tokens
 * @param {(character: string) => string} fold the tokenizer's change of a character before it splits
 * @returns {Place[]}
 */
export function placesOf(text, tokens, fold) {
    const characters = [...text];
    const starts = [0];  // start of each character in the text, and the end
    const offsets = [0];  // start of its bytes among all bytes, without blanks
    /** @type {number[]} */
    const bytes = [];
    /** @type {number[]} The character of each byte. */
    const owners = [];
    characters.forEach((character, i) => {
        for (const byte of encoder.encode(fold(character))) {
            if (!isBlank(byte)) {
                bytes.push(byte);
                owners.push(i);
            }
        }
        starts.push(starts[i] + character.length);
        offsets.push(bytes.length);
    });
    let at = 0;
    return tokens.map(({ bytes: spelled, literal, unknown }) => {
        const first = owners[at] ?? characters.length;
        if (literal !== null && text.startsWith(literal, starts[first])) {
            const end = first + [...literal].length;
            at = offsets[end];
            return { from: starts[first], to: starts[end] };
        }
        const wanted = spelled.filter((byte) => !isBlank(byte));
        if (first === characters.length || wanted.length === 0 || (literal !== null && !unknown)) {
            return { from: starts[first], to: starts[first] };
        }
        if (wanted.every((byte, i) => bytes[at + i] === byte)) {
            at += wanted.length;
            return { from: starts[first], to: starts[owners[at - 1] + 1] };
        }
        let end = first + 1;
        while (end < characters.length && !endsWord.test(characters[first]) && !endsWord.test(characters[end])) {
            ++end;
        }
        at = offsets[end];
        return { from: starts[first], to: starts[end] };
    });
}

/**
 * Returns the text with these tokens in that place. Words stay apart, and a token that continues a word is
 * joined to it.
 *
 * @param {string} text
 * @param {Place} place
 * @param {Written[]} tokens
 */
export function rewritten(text, { from, to }, tokens) {
    let head = text.slice(0, from);
    for (const [i, { bytes, literal, continues, spaced }] of tokens.entries()) {
        if (literal !== null) {
            head += (i > 0 ? ' ' : '') + literal;
            continue;
        }
        const word = decoder.decode(bytes);
        const apart = spaced ? word.startsWith(' ') : !continues && letterAtEnd.test(head) && letterAtStart.test(word);
        if ((spaced && !apart) || continues) {
            head = head.replace(/ $/, '');
        } else if (apart && head && !/\s$/.test(head)) {
            head += ' ';
        }
        head += spaced ? word.replace(/^ /, '') : word;
    }
    const tail = text.slice(to);
    const { literal, spaced } = tokens[tokens.length - 1];
    const glued = literal === null && !spaced && letterAtEnd.test(head) && letterAtStart.test(tail);
    return head + (glued ? ' ' : '') + tail;
}
