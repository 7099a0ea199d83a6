// Tests whether pixels read from a canvas are the ones that were drawn. Browsers that resist fingerprinting
// (Tor, Mullvad, LibreWolf, Firefox with that setting) answer with noise.

const colours = [[255, 0, 0], [0, 255, 0], [0, 0, 255], [18, 52, 86]];
const slack = 8;  // out of 255: Brave's noise is in the last bit, which nobody sees

function probe() {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [2 * colours.length, 2];
    const context = canvas.getContext('2d', { willReadFrequently: true });
    if (!context) {
        return false;
    }
    colours.forEach(([red, green, blue], i) => {
        context.fillStyle = `rgb(${red} ${green} ${blue})`;
        context.fillRect(2 * i, 0, 2, 2);
    });
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
    return data.every((value, at) => {
        const pixel = Math.floor(at / 4) % canvas.width, channel = at % 4;
        return Math.abs(value - (channel === 3 ? 255 : colours[Math.floor(pixel / 2)][channel])) <= slack;
    });
}

/** @type {boolean | undefined} */
let answer;

export const canvasReads = () => answer ??= probe();
