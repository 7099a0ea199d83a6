// Implements just enough of PNG to look at a screenshot: 8 bits per channel, RGB or RGBA, not interlaced.
import { inflateSync } from 'node:zlib';

// Removes the filter from a line, in place; `above` is the line before it.
function unfilter(filter, line, above, channels) {
    for (let x = 0; x < line.length; ++x) {
        const a = x >= channels ? line[x - channels] : 0, b = above[x];
        if (filter === 1) {
            line[x] += a;
        } else if (filter === 2) {
            line[x] += b;
        } else if (filter === 3) {
            line[x] += (a + b) >> 1;
        } else {  // Paeth: the neighbour nearest to a + b - c
            const c = x >= channels ? above[x - channels] : 0;
            const to_a = Math.abs(b - c), to_b = Math.abs(a - c), to_c = Math.abs(a + b - 2 * c);
            line[x] += to_a <= to_b && to_a <= to_c ? a : to_b <= to_c ? b : c;
        }
    }
}

// Returns {width, height, channels, pixels}.
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
    for (let y = 0, above = Buffer.alloc(stride); y < height; ++y) {
        const line = pixels.subarray(y * stride, (y + 1) * stride), from = y * (stride + 1);
        line.set(lines.subarray(from + 1, from + 1 + stride));
        if (lines[from] !== 0) {
            unfilter(lines[from], line, above, channels);
        }
        above = line;
    }
    return { width, height, channels, pixels };
}

export function colours({ pixels, channels }) {
    const seen = new Set();
    for (let at = 0; at < pixels.length; at += channels) {
        seen.add(pixels[at] << 16 | pixels[at + 1] << 8 | pixels[at + 2]);
    }
    return seen.size;
}

// Counts the pixels of the first rows that differ in some channel.
export function difference(a, b, rows) {
    if (a.width !== b.width || a.height !== b.height) {
        return Infinity;
    }
    let count = 0;
    for (let p = 0; p < a.width * rows; ++p) {
        count += Math.abs(a.pixels.compare(b.pixels, p * b.channels, p * b.channels + 3, p * a.channels, p * a.channels + 3));
    }
    return count;
}
