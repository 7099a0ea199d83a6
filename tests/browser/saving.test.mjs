// Tests "Save": the contents of a part of a lens, as files.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';
import { family, tiny } from './lib/models.mjs';
import { attention, near } from './lib/numbers.mjs';
import { colours, decode } from './lib/png.mjs';
import { phone, test } from './lib/suite.mjs';
import { npy as npyOf, written } from './lib/tensors.mjs';

const words = tiny.text.split(' ');
const n = words.length;

async function save(explorer, menu, item) {
    const download = await explorer.saved(menu, item);
    return { name: download.suggestedFilename(), bytes: readFileSync(await download.path()) };
}

// Reads {shape, values} from a file of '<f4' or '<i4'.
function npy(bytes) {
    const start = 10 + bytes.readUInt16LE(8), header = bytes.toString('latin1', 10, start);
    const shape = /\(([^)]*)\)/.exec(header)[1].split(',').filter((part) => part.trim()).map(Number);
    const data = bytes.buffer.slice(bytes.byteOffset + start, bytes.byteOffset + bytes.length);
    return { shape, values: Array.from(header.includes("'<f4'") ? new Float32Array(data) : new Int32Array(data)) };
}

// Reads the entries of an archive by name, from its directory.
function unzip(bytes) {
    const entries = {};
    const end = bytes.lastIndexOf('PK\x05\x06', undefined, 'latin1');
    for (let at = bytes.readUInt32LE(end + 16), left = bytes.readUInt16LE(end + 10); left > 0; --left) {
        const method = bytes.readUInt16LE(at + 10), size = bytes.readUInt32LE(at + 20), path = bytes.readUInt16LE(at + 28);
        const own = bytes.readUInt32LE(at + 42), start = own + 30 + bytes.readUInt16LE(own + 26) + bytes.readUInt16LE(own + 28);
        const packed = bytes.subarray(start, start + size);
        entries[bytes.toString('utf8', at + 46, at + 46 + path)] = method ? inflateRawSync(packed) : packed;
        at += 46 + path + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
    }
    return entries;
}

test('pictures of the map and the flow are what the page shows, at every scale', { fine: true }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    for (const part of ['map', 'flow']) {
        for (const scale of [1, 2, 4]) {
            const { name, bytes } = await save(explorer, `${part}/save`, `PNG ${scale}×`);
            assert.equal(name, part === 'map' ? 'layer-0-head-0-weight.png' : 'flow.png');
            const { left, top, right, bottom } = await explorer.until('the part', () => explorer.rect(`${part}/picture`));
            const picture = decode(bytes);
            // Whole pixels, one of which may be lost on either side. Cells are whole pixels at every density:
            // with smaller pixels, each cell may be larger by the fraction of a point that was cut off.
            const grown = part === 'map' ? tiny.ids.length * (scale - 1) : 0;
            assert.ok(Math.abs(picture.width - scale * (right - left)) <= 2 + grown && Math.abs(picture.height - scale * (bottom - top)) <= 2 * scale + grown,
                `${picture.width} × ${picture.height} of ${right - left} × ${bottom - top}`);
            assert.ok(colours(picture) > 24, `${part} at ${scale} has ${colours(picture)} colours`);
            // The browser's own decoder reads it, too.
            const size = await explorer.page.evaluate(async (data) => {
                const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))]));
                return [bitmap.width, bitmap.height];
            }, bytes.toString('base64'));
            assert.deepEqual(size, [picture.width, picture.height]);
            if (scale > 1) {
                continue;
            }
            const screen = await explorer.picture(), { x, y } = await explorer.page.locator('#canvas').boundingBox();
            let differ = 0;
            for (let row = 0; row < picture.height; ++row) {
                for (let column = 0; column < picture.width; ++column) {
                    const there = ((row + Math.floor(top - y)) * screen.width + column + Math.floor(left - x)) * screen.channels;
                    const here = (row * picture.width + column) * picture.channels;
                    differ += Number([0, 1, 2].some((c) => Math.abs(screen.pixels[there + c] - picture.pixels[here + c]) > 8));
                }
            }
            assert.ok(differ < 0.002 * picture.width * picture.height, `${part}: ${differ} pixels are not those of the screen`);
        }
    }
});

test('a picture of a cross-attention head has a cell for each pair of texts, as dark as its weight', { needs: 'families/t5', fine: true }, async (explorer) => {
    const model = family('t5');
    await explorer.openModel(model.folder, model.text);
    await explorer.page.locator('#second-sentence').fill(model.written);
    await explorer.untilRun('what is written', ({ tokens }) => tokens === model.decoder_ids.length);
    const layer = model.attention.length - 1, rows = model.decoder_ids.length, columns = model.ids.length;
    assert.notEqual(rows, columns, 'the map is not square');
    await explorer.visit(`${(await explorer.state()).fragment}&layer=${layer}&head=1`);
    await explorer.untilState('the cross head', (state) => state.layer === layer && state.head === 1);
    await explorer.settled();
    const { name, bytes } = await save(explorer, 'map/save', 'PNG 1×');
    assert.match(name, /head-1-weight\.png$/);
    const part = await explorer.rect('map/picture'), picture = decode(bytes);
    assert.ok(Math.abs(picture.width - (part.right - part.left)) <= 2 && Math.abs(picture.height - (part.bottom - part.top)) <= 2,
        `${picture.width} × ${picture.height} of ${part.right - part.left} × ${part.bottom - part.top}`);
    const names = Array.from({ length: rows }, (_, query) => Array.from({ length: columns }, (_unused, key) => `map/${query}/${key}`)).flat();
    const cells = await explorer.rects(...names);
    assert.ok(cells.every(Boolean), 'every cell is in view');
    const weights = (await explorer.attention(layer, 1)).flat();
    near(weights, model.attention[layer][1].flat(), model.tolerance.attention, 'the weights');
    // Beside its edge, where no number is written.
    const light = cells.map((cell) => {
        const at = ((Math.round(cell.top - part.top) + 3) * picture.width + Math.round(cell.left - part.left) + 3) * picture.channels;
        return picture.pixels[at] + picture.pixels[at + 1] + picture.pixels[at + 2];
    });
    let compared = 0;
    for (const [i, a] of weights.entries()) {
        for (const [j, b] of weights.entries()) {
            if (a - b > 0.04) {
                ++compared;
                assert.ok(light[i] < light[j], `${names[i]} (${a}, ${light[i]}) is darker than ${names[j]} (${b}, ${light[j]})`);
            }
        }
    }
    assert.ok(compared > 20, `${compared} pairs tell a difference`);
});

test("the window's numbers are the run's, as CSV and as .npy", async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const csv = await save(explorer, 'map/save', 'CSV');
    assert.equal(csv.name, 'layer-0-head-0-weight.csv');
    const rows = csv.bytes.toString().trim().split('\r\n').map((line) => line.split(','));
    assert.deepEqual(rows[0], ['', ...words.map((word) => `"${word}"`)]);
    assert.deepEqual(rows.slice(1).map((row) => row[0]), words.map((word) => `"${word}"`));
    const weights = await explorer.attention(0, 0);
    assert.deepEqual(rows.slice(1).map((row) => row.slice(1).map(Number).map(Math.fround)), weights.map((row) => row.map(Math.fround)));

    await explorer.click('map/stage/scores');
    await explorer.until('the scores', () => explorer.linked('map'));
    const { shape, values } = npy((await save(explorer, 'map/save', '.npy')).bytes);
    assert.deepEqual(shape, [n, n]);
    for (const [q, k] of [[0, 0], [n - 1, 2], [3, 3]]) {
        assert.equal(values[q * n + k], (await explorer.explain('scaled', q, k)).f32);
    }
    assert.equal(values[1], -Infinity, 'the future is masked');
});

test('all heads are saved in one archive', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const { name, bytes } = await save(explorer, 'map/save', 'All heads, .npz');
    assert.equal(name, 'attention-weight.npz');
    const files = unzip(bytes);
    const { shape, values } = npy(files['attention.npy']);
    assert.deepEqual(shape, [2, 3, n, n]);
    near(values, tiny.attention, 1e-4, 'attention');
    assert.deepEqual(npy(files['ids.npy']).values, tiny.ids);
    const about = JSON.parse(files['about.json']);
    assert.deepEqual(about.tensors.attention, ['layer', 'head', 'query', 'key']);
    assert.deepEqual(about.tokens, words);
});

// ---- A user's own tensors ---------------------------------------------------------------------------------

const own = { fragment: 'v=1&lens=tensors' };

async function drop(explorer, files) {
    await explorer.drop(...written(files));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open, phase }) => phase === null && open);
    await explorer.idle();
}

// Two heads of three queries and five keys, exact in every type.
const heads = [0, 1].map((head) => [0, 1, 2].map((q) => [0, 1, 2, 3, 4].map((k) => (k === q + head ? 0.75 : 0.0625))));
const keys = ['a', ' b', 'c,', 'd', 'é'];

test('a map of one\'s own is saved under the names of its queries and keys', own, async (explorer) => {
    await drop(explorer, { 'attention.npy': npyOf([2, 3, 5], heads.flat(2)), 'keys.json': JSON.stringify(keys) });
    await explorer.click('head/0/1');
    await explorer.untilState('the head', ({ head }) => head === 1);
    const csv = await save(explorer, 'map/save', 'CSV');
    assert.equal(csv.name, 'layer-0-head-1-weight.csv');
    const rows = csv.bytes.toString().trim().split('\r\n');
    assert.equal(rows[0], ',"a","·b","c,","d","é"');
    assert.deepEqual(rows.slice(1).map((row) => row.split(',')), heads[1].map((row, q) => [`"${q}"`, ...row.map(String)]));
    const { shape, values } = npy((await save(explorer, 'map/save', '.npy')).bytes);
    assert.deepEqual([shape, values], [[3, 5], heads[1].flat()]);

    const picture = await save(explorer, 'map/save', 'PNG 2×');
    assert.equal(picture.name, 'layer-0-head-1-weight.png');
    const { left, right } = await explorer.until('the map', () => explorer.rect('map/picture'));
    const { width } = decode(picture.bytes);
    // Each key may be larger, as above.
    assert.ok(Math.abs(width - 2 * (right - left)) <= 2 + 5, `${width} of ${right - left}`);
    const svg = (await save(explorer, 'map/save', 'SVG')).bytes.toString();
    assert.equal(svg.match(/>0\.(750|062|063)</g).length, 15, svg);
    assert.ok(svg.includes('<title>Layer 0 · head 1: weight</title>') && svg.includes('>é<'), svg);
});

test('all heads of Q and K are saved in one archive, which says how they were computed', own, async (explorer) => {
    const grid = (rows, columns, seed) => Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (__, j) => Math.fround(Math.sin(seed + 3 * i + 7 * j))));
    const [q, k] = [[grid(4, 3, 1), grid(4, 3, 2)], [grid(6, 3, 3), grid(6, 3, 4)]];
    await drop(explorer, { 'q.npy': npyOf([2, 4, 3], q.flat(2)), 'k.npy': npyOf([2, 6, 3], k.flat(2)) });
    await explorer.click('tensors/causal/with a past');
    await explorer.until('the rule', () => explorer.linked('rule'), (rule) => rule === 'past');
    await explorer.idle();
    const { name, bytes } = await save(explorer, 'map/save', 'All heads, .npz');
    assert.equal(name, 'attention-weight.npz');
    const files = unzip(bytes);
    assert.deepEqual(Object.keys(files), ['attention.npy', 'about.json']);
    const { shape, values } = npy(files['attention.npy']);
    assert.deepEqual(shape, [1, 2, 4, 6]);
    near(values, [0, 1].map((head) => attention({ q: q[head], k: k[head], allowed: (i, j) => j <= i + 2 }).weight), 1e-6, 'attention');
    assert.deepEqual(JSON.parse(files['about.json']), {
        from: 'Q and K of q.npy, k.npy', causal: 'with a past', scale: '1/√d', stage: 'weight', 'first key': 'sink', masked: '0',
        tensors: { attention: ['layer', 'head', 'query', 'key'] },
    });

    const flow = await save(explorer, 'flow/save', 'SVG');
    assert.equal(flow.name, 'flow.svg');
    assert.match(flow.bytes.toString(), /<title>0 → \d 0\.\d+<\/title>/);
    assert.equal((await save(explorer, 'flow/save', 'PNG 1×')).name, 'flow.png');
});

test('on a phone a map of one\'s own is saved by finger', { ...own, context: phone }, async (explorer) => {
    const choosing = explorer.page.waitForEvent('filechooser');
    await explorer.tap('tensors/choose');
    await (await choosing).setFiles(written({ 'attention.npy': npyOf([2, 3, 5], heads.flat(2)) }));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open }) => open);
    await explorer.idle();
    await explorer.reveal('map/save');
    await explorer.tap('map/save');
    await explorer.until('the list', () => explorer.rect('map/save/All heads, .npz'));
    await explorer.settled();
    const { x, y } = await explorer.rect('map/save/All heads, .npz');
    const [download] = await Promise.all([explorer.page.waitForEvent('download'), explorer.page.touchscreen.tap(x, y)]);
    assert.deepEqual(npy(unzip(readFileSync(await download.path()))['attention.npy']), { shape: [1, 2, 3, 5], values: heads.flat(2) });
});

test('a figure has its width on paper, light colours, and a caption with a link', { context: { colorScheme: 'dark' } }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('head/1/0');
    await explorer.untilState('the head', ({ layer }) => layer === 1);
    await explorer.click('map/save');
    await explorer.until('the list', () => explorer.rect('map/save/SVG'));
    await explorer.settled();
    const { x, y } = await explorer.rect('map/save/SVG');
    await explorer.page.mouse.click(x, y);
    await explorer.page.locator('#figure-dialog').waitFor();
    const caption = await explorer.page.inputValue('#figure-caption');
    assert.match(caption, /^Layer 1 · head 0: weight\. .+, “.+”\.?$/);
    await explorer.page.fill('#figure-width', '120');
    await explorer.page.fill('#figure-caption', `${caption} Seen & saved.`);
    const [download] = await Promise.all([explorer.page.waitForEvent('download'), explorer.page.press('#figure-width', 'Enter')]);
    const figure = await explorer.page.evaluate((text) => {
        const { documentElement: svg } = new DOMParser().parseFromString(text, 'image/svg+xml');
        const [, , width, height] = svg.getAttribute('viewBox')?.split(' ').map(Number) ?? [];
        const [outer, inner] = svg.querySelectorAll('rect');
        return {
            width: svg.getAttribute('width'), height: svg.getAttribute('height'), ratio: height / width,
            paper: [outer, inner].map((each) => each.getAttribute('fill')), link: svg.querySelector('a')?.getAttribute('href'),
            words: [...svg.children].filter(({ localName }) => localName === 'text').map(({ textContent }) => textContent).join(' '),
        };
    }, readFileSync(await download.path(), 'utf8'));
    assert.equal(figure.width, '120mm');
    near([parseFloat(figure.height ?? '')], [120 * figure.ratio], 0.05, 'the height');
    assert.deepEqual(figure.paper[0], '#ffffff');
    assert.ok(parseInt(figure.paper[1]?.slice(1) ?? '', 16) > 0xf00000, `${figure.paper}`);
    assert.equal(figure.words, `${caption} Seen & saved.`);
    assert.equal(figure.link, explorer.page.url());
    // The page itself stays dark.
    assert.ok((await explorer.page.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches)));
});

test('SVG holds the numbers and the edges as text and paths', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const read = (bytes, selector) => explorer.page.evaluate(([text, what]) => {
        const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
        return { fault: parsed.querySelector('parsererror')?.textContent, texts: [...parsed.querySelectorAll(what)].map((at) => at.textContent) };
    }, [bytes.toString(), selector]);
    const map = await read((await save(explorer, 'map/save', 'SVG')).bytes, 'text');
    assert.equal(map.fault, undefined);
    const allowed = n * (n + 1) / 2;
    assert.equal(map.texts.filter((text) => /^\d\.\d{3}$/.test(text)).length, allowed, 'a number in each cell that is not masked');
    for (const word of words) {
        assert.ok(map.texts.includes(word), word);
    }
    await explorer.click('flow/form/columns');
    await explorer.until('the columns', () => explorer.rect('flow/key/0'));
    await explorer.click('token/3');
    await explorer.untilState('the word', ({ query }) => query === 3);
    const flow = await read((await save(explorer, 'flow/save', 'SVG')).bytes, 'path title');
    assert.equal(flow.fault, undefined);
    assert.ok(flow.texts.length > 0 && flow.texts.every((text) => text.startsWith(`${words[3]} → `)), flow.texts.join());
});
