// Writes the numbers of characters pixel by pixel, for browsers that do not let their own letters be read
// from a canvas.

// Seven rows of five pixels, each row a digit in base 32.
/** @type {Record<string, string>} */
const forms = {
    0: 'ehjlphe', 1: '4c4444e', 2: 'eh1248v', 3: 'v2421he', 4: '26aiv22', 5: 'vgu11he',
    6: '68guhhe', 7: 'v124888', 8: 'ehhehhe', 9: 'ehhf12c', A: 'ehhvhhh', B: 'uhhuhhu',
    C: 'ehggghe', D: 'sihhhis', E: 'vgguggv', F: 'vgguggg', U: 'hhhhhhe', '+': '044v440',
};
const [wide, high, apart] = [5, 7, 1];

/** @param {string} character */
export const numberOf = (character) => `U+${Number(character.codePointAt(0)).toString(16).toUpperCase().padStart(4, '0')}`;

/**
 * White on a transparent background, four bytes per pixel, placed as in glyphs.js. Invisible characters have
 * no number.
 *
 * @param {string[]} characters
 * @param {number} size
 * @param {number} width
 * @param {number} height
 */
export function numbersInPixels(characters, size, width, height) {
    const pixels = new Uint8Array(4 * width * height);
    const dot = Math.max(1, Math.round(size / 13));
    const top = Math.round(size * 1.5) - high * dot;
    const begin = Math.round(size / 2);
    let left = begin;
    for (const character of characters.filter((each) => !/\p{Default_Ignorable_Code_Point}/u.test(each))) {
        for (const sign of numberOf(character)) {
            for (let y = 0; y < high * dot; ++y) {
                const row = parseInt(forms[sign][Math.floor(y / dot)], 32);
                for (let x = 0; x < wide * dot && left + x < width; ++x) {
                    if (row & (1 << (wide - 1 - Math.floor(x / dot)))) {
                        pixels.fill(255, 4 * ((top + y) * width + left + x), 4 * ((top + y) * width + left + x + 1));
                    }
                }
            }
            left += (wide + apart) * dot;
        }
        left += 3 * apart * dot;
    }
    return { advance: left - begin, pixels };
}
