// Draws characters that the page's own fonts lack with the fonts of the system.

const canvas = document.createElement('canvas');
const family = 'system-ui, sans-serif';
const nobody = '\u{f0000}';  // which no font has

/**
 * White on nothing, or in the colours of an emoji. The text begins half a size from the left; its baseline is one and a
 * half below the top.
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
    context.textAlign = 'left';  // of the picture, whichever way the text runs
    context.fillText(text, size / 2, size * 1.5);
    return {
        advance: context.measureText(text).width,
        pixels: new Uint8Array(context.getImageData(0, 0, width, height).data.buffer),
    };
}

/**
 * The picture of a character or of a run of them, four bytes for each pixel, and how far the next one is. A character that
 * no font has is written as its number.
 *
 * @param {string} text
 * @param {number} size of the font, in pixels
 * @param {number} width of the picture
 * @param {number} height
 */
export function drawGlyph(text, size, width, height) {
    const drawn = draw(text, size, width, height);
    const unknown = draw(nobody.repeat([...text].length), size, width, height);
    const known = drawn.advance !== unknown.advance || drawn.pixels.some((value, i) => value !== unknown.pixels[i]);
    const numbers = Array.from(text, (c) => `U+${Number(c.codePointAt(0)).toString(16).toUpperCase().padStart(4, '0')} `);
    return known ? drawn : draw(numbers.join(''), size, width, height, 0.75);
}
