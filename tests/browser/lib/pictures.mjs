// Knows the page's colours and takes pictures of it.
import { decode } from './png.mjs';

// The same colours as in web/widgets/theme.cpp.
export const light = {
    background: 0xf4f6f9,
    surface: 0xffffff,
    masked: 0xe6e9ee,
    dim: 0x5c6673,
    sequential: [0xe6eef8, 0xd5e4f4, 0xbcd6ec, 0x9dc6e2, 0x70aed4, 0x4793c6, 0x2676b4, 0x0f5a9c, 0x0a3a70],
    diverging: [0x8f4607, 0xcb7626, 0xeaab66, 0xf7d9b8, 0xf3f4f6, 0xc3dbf0, 0x82b2e0, 0x3c80c9, 0x0d4f9e],
};
export const dark = {
    background: 0x0d1014,
    surface: 0x15191f,
    masked: 0x191d23,
    sequential: [0x440154, 0x472d7b, 0x3b528b, 0x2c728e, 0x21918c, 0x28ae80, 0x5ec962, 0xaddc30, 0xfde725],
    diverging: [0xffc98c, 0xe8923a, 0xb3661c, 0x6b401b, 0x1c222a, 0x22406f, 0x2b66bf, 0x4f97f0, 0x8cc2ff],
};
const not_a_number = 0xff00c8;

export const channels = (colour) => [colour >> 16 & 255, colour >> 8 & 255, colour & 255];

// 256 colours, interpolated between the stops like the page's.
const palette = (stops) => Array.from({ length: 256 }, (_, i) => {
    const x = i / 255 * 8, at = Math.min(Math.floor(x), 7), below = channels(stops[at]), above = channels(stops[at + 1]);
    const [r, g, b] = below.map((c, channel) => Math.floor(c + (above[channel] - c) * (x - at) + 0.5));
    return r << 16 | g << 8 | b;
});

/**
 * Maps values to colours, by the definition in core/maps/value_scale.hpp.
 *
 * @param {object} options
 * @param {{sequential: number[], diverging: number[], masked: number}} options.theme
 * @param {number} options.high
 * @param {boolean} [options.signed]
 * @param {'linear' | 'log' | 'rank'} [options.scaling]
 * @param {() => number[]} [options.blocks] gives the values for ranks
 */
export function colouring({ theme, high, signed = false, scaling = 'linear', blocks }) {
    const colours = palette(signed ? theme.diverging : theme.sequential);
    const sorted = scaling === 'rank' ? blocks().filter(Number.isFinite).map(Math.abs).sort((a, b) => a - b) : [];
    const rank = (magnitude) => {  // the share of smaller ones, by bisection
        let low = 0, end = sorted.length;
        while (low < end) {
            const middle = (low + end) >> 1;
            if (sorted[middle] < magnitude) {
                low = middle + 1;
            } else {
                end = middle;
            }
        }
        return low / (sorted.length - 1);
    };
    const share = {
        linear: (magnitude) => magnitude / high,
        log: (magnitude) => Math.log1p(1e4 * magnitude / high) / Math.log1p(1e4),
        rank,
    }[scaling];
    return (value) => {
        if (Number.isNaN(value)) {
            return not_a_number;
        }
        if (value === -Infinity) {
            return theme.masked;
        }
        const part = Math.min(share(Math.abs(value)), 1);
        return colours[Math.round(255 * (signed ? 0.5 + 0.5 * Math.sign(value) * part : Math.max(part, 0)))];
    };
}

// A value may round to a neighbouring place of the palette, in f32 and for ranks, of which the page keeps
// 256: two neighbours differ by at most 3 of 255.
const near_colour = 3;
export const alike = (a, b, most = near_colour) => channels(a).every((c, channel) => Math.abs(c - channels(b)[channel]) <= most);

// A part of the window in device pixels: at(x, y) is the colour there, counted from its upper left corner.
export async function photograph(explorer, { left, top, right, bottom }) {
    await explorer.pose();
    const { pixels, width, height, channels: step } = decode(await explorer.page.screenshot({ clip: { x: left, y: top, width: Math.ceil(right - left), height: Math.ceil(bottom - top) } }));
    const at = (x, y) => {
        const place = (y * width + x) * step;
        return pixels[place] << 16 | pixels[place + 1] << 8 | pixels[place + 2];
    };
    return { at, width, height };
}

// Pseudorandom numbers from 0 to 1, the same every time.
export function chance(seed) {
    let state = seed;
    return () => {
        state = Math.imul(state ^ state >>> 15, 0x2c1b3c6d) + 0x9e3779b9 | 0;
        return ((state ^ state >>> 13) >>> 8) / 2 ** 24;
    };
}
