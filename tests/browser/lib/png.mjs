// Just enough of PNG to look at a screenshot: 8 bits a channel, RGB or RGBA, not interlaced.
import { inflateSync } from 'node:zlib';

const paeth = (a, b, c) => {
    const p = a + b - c, near = [a, b, c].map((x) => Math.abs(p - x));
    return near[0] <= near[1] && near[0] <= near[2] ? a : near[1] <= near[2] ? b : c;
};
const predict = [() => 0, (a) => a, (a, b) => b, (a, b) => (a + b) >> 1, paeth];

// {width, height, channels, pixels}
export function decode(png) {
    const width = png.readUInt32BE(16), height = png.readUInt32BE(20);
    const channels = { 2: 3, 6: 4 }[png[25]];
    if (png[24] !== 8 || !channels || png[28] !== 0) {
        throw new Error('a screenshot in a format that is not read here');
    }
    const parts = [];
    for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at)) {
        if (png.toString('latin1', at + 4, at + 8) === 'IDAT') {
            parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
        }
    }
    const lines = inflateSync(Buffer.concat(parts));
    const stride = width * channels;
    const pixels = Buffer.alloc(stride * height);
    for (let y = 0; y < height; ++y) {
        const guess = predict[lines[y * (stride + 1)]];
        for (let x = 0, at = y * stride; x < stride; ++x, ++at) {
            const left = x >= channels ? pixels[at - channels] : 0;
            const above = y > 0 ? pixels[at - stride] : 0;
            const corner = x >= channels && y > 0 ? pixels[at - stride - channels] : 0;
            pixels[at] = lines[y * (stride + 1) + 1 + x] + guess(left, above, corner);
        }
    }
    return { width, height, channels, pixels };
}

export function colours({ pixels, channels }) {
    const seen = new Set();
    for (let at = 0; at < pixels.length; at += channels) {
        seen.add(pixels.readUIntBE(at, 3));
    }
    return seen.size;
}

// Pixels of the first rows that differ in some channel.
export function difference(a, b, rows) {
    if (a.width !== b.width || a.height !== b.height) {
        return Infinity;
    }
    let count = 0;
    for (let p = 0; p < a.width * rows; ++p) {
        count += a.pixels.compare(b.pixels, p * b.channels, p * b.channels + 3, p * a.channels, p * a.channels + 3) !== 0;
    }
    return count;
}
