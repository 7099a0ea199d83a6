// Tests pictures of the map, pixel by pixel, against pictures made here from the dropped numbers.
import assert from 'node:assert/strict';
import { attention } from './lib/numbers.mjs';
import { alike, chance, channels, colouring, dark, light, photograph } from './lib/pictures.mjs';
import { test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

// ---- Maps -------------------------------------------------------------------------------------------------

// Pools {rows, cols, values} in blocks of side × side cells: the largest of each block, the one farthest from
// zero, or the mean.
function pooled({ rows, cols, values }, side, kind = 'largest') {
    const stronger = kind === 'signed' ? (a, b) => Math.abs(b) > Math.abs(a) : (a, b) => b > a;
    const [r, c] = [Math.ceil(rows / side), Math.ceil(cols / side)];
    const out = new Array(r * c).fill(-Infinity), counts = new Array(r * c).fill(0);
    values.forEach((value, i) => {
        const at = Math.floor(Math.floor(i / cols) / side) * c + Math.floor(i % cols / side);
        if (value === -Infinity || Number.isNaN(out[at])) {
            return;
        }
        out[at] = out[at] === -Infinity || Number.isNaN(value) ? value
            : kind === 'mean' ? out[at] + (value - out[at]) / (counts[at] + 1) : stronger(out[at], value) ? value : out[at];
        ++counts[at];
    });
    return { rows: r, cols: c, values: out };
}

// Compares every pixel of the visible map, with the edges of cells where they belong. view: {first: {x, y},
// cell}, the cell in the upper left corner and the points per cell. A pixel whose centre is within a fiftieth
// of a pixel of an edge may show either side of it, because of f32; where cells have gaps, the background
// shows in the last pixel of each point.
async function compare(explorer, what, { density, view, map, colour, background, signed = false, pooling = undefined }) {
    const rect = await explorer.reveal('map');
    const lens = await explorer.rect('panel/lens');
    assert.ok(rect.top >= lens.top && rect.bottom <= lens.bottom, 'all of the map is in view');
    const picture = await photograph(explorer, rect), cell = view.cell * density;
    let side = 1;  // blocks may share pixels with cells, but not with each other
    while (cell * side < 1) {
        side *= 2;
    }
    const blocks = side > 1 ? pooled(map, side, pooling ?? (signed ? 'signed' : 'largest')) : map;
    const colours = blocks.values.map(colour);
    const size = cell * side, gap = view.cell >= 7 ? density : 0;
    const wanted = (x, y) => {
        const u = x / size + view.first.x / side, v = y / size + view.first.y / side, col = Math.floor(u), row = Math.floor(v);
        const between = (u - col) * size >= size - gap || (v - row) * size >= size - gap;
        return between || row >= blocks.rows || col >= blocks.cols || row < 0 || col < 0 ? background : colours[row * blocks.cols + col];
    };
    const width = Math.floor((rect.right - rect.left) * density - 0.5 + 1e-3), height = Math.floor((rect.bottom - rect.top) * density - 0.5 + 1e-3);
    const bad = [], aside = [-0.02, 0, 0.02];
    for (let y = 0; y <= height; ++y) {
        for (let x = 0; x <= width; ++x) {
            const found = picture.at(x, y), [u, v] = [x + 0.5, y + 0.5];
            if (!alike(found, wanted(u, v)) && !aside.some((dx) => aside.some((dy) => alike(found, wanted(u + dx, v + dy))))) {
                bad.push([x, y, channels(found), channels(wanted(u, v))].join(' '));
            }
        }
    }
    assert.equal(bad.length, 0, `${what}: ${bad.length} of ${(width + 1) * (height + 1)} pixels; x, y, found, wanted: ${bad.slice(0, 6).join('; ')}`);
}

// The whole map, as it is shown at first.
async function whole(explorer, { cols }) {
    const { left, right } = await explorer.rect('map');
    return { first: { x: 0, y: 0 }, cell: (right - left) / cols };
}

// Turns the wheel with Ctrl over a fraction of the map until cells have this size in points; returns the
// result. The browser decides how far it turns: the event says.
async function zoomed(explorer, view, map, cell, share = { x: 0.3, y: 0.6 }) {
    const { left, top, right, bottom } = await explorer.reveal('map');
    const x = Math.round(left + (right - left) * share.x), y = Math.round(top + (bottom - top) * share.y);
    await explorer.page.mouse.move(x, y);
    await explorer.settled();
    for (let given = 1; Math.abs(cell / view.cell - 1) > 0.01;) {
        const wanted = -100 * Math.log(cell / view.cell) / 0.2, asked = wanted / given;
        const turned = explorer.page.evaluate(() => new Promise((tell) => { addEventListener('wheel', ({ deltaY }) => tell(deltaY), { once: true, capture: true }); }));
        await explorer.page.keyboard.down('Control');
        await explorer.page.mouse.wheel(0, asked);
        await explorer.page.keyboard.up('Control');
        const deltaY = await turned, now = view.cell * Math.exp(-0.2 * deltaY / 100);
        given = deltaY / asked;
        const inside = (first, from, length, n) => Math.min(Math.max(first + from / view.cell - from / now, 0), n - length / now);
        view = { cell: now, first: { x: inside(view.first.x, x - left, right - left, map.cols), y: inside(view.first.y, y - top, bottom - top, map.rows) } };
        await explorer.settled();
    }
    assert.deepEqual(await explorer.rect('map'), { left, top, right, bottom, x: (left + right) / 2, y: (top + bottom) / 2 }, 'the map does not move');
    return view;
}

// A drag by whole points.
async function panned(explorer, view, map, dx, dy) {
    const { x, y, left, top, right, bottom } = await explorer.reveal('map');
    await explorer.page.mouse.move(x, y);
    await explorer.page.mouse.down();
    await explorer.settled();
    await explorer.page.mouse.move(x + dx, y + dy);
    await explorer.settled();
    await explorer.page.mouse.up();
    const inside = (first, by, length, n) => Math.min(Math.max(first - by / view.cell, 0), n - length / view.cell);
    return { cell: view.cell, first: { x: inside(view.first.x, dx, right - left, map.cols), y: inside(view.first.y, dy, bottom - top, map.rows) } };
}

// ---- Flows ------------------------------------------------------------------------------------------------

// Compares every pixel of the area, except those on which more than one edge lies, with edges {weight, width,
// curve(t)} in points, in 48 straight pieces each. The page's edges have their width across the curve, not
// across its pieces, and half a pixel of smoothing in f32, so colours may differ by at most 8 of 255; an edge
// of weight one differs from the background by 114.
async function edgesLie(explorer, density, area, edges) {
    const picture = await photograph(explorer, area);
    const { width, height } = picture;
    const away = new Float32Array(width * height).fill(Infinity), owner = new Int32Array(width * height).fill(-1), crowded = new Uint8Array(width * height);
    for (const [id, { weight, width: wide, curve }] of edges.entries()) {
        const half = wide * density / 2, reach = Math.ceil(half) + 2;
        const points = Array.from({ length: weight > 0 ? 49 : 0 }, (_, i) => curve(i / 48)).map(([x, y]) => [(x - area.left) * density, (y - area.top) * density]);
        for (const [i, [bx, by]] of points.slice(1).entries()) {
            const [ax, ay] = points[i], [dx, dy] = [bx - ax, by - ay];
            for (let y = Math.max(Math.floor(Math.min(ay, by)) - reach, 0); y < Math.min(Math.max(ay, by) + reach, height); ++y) {
                for (let x = Math.max(Math.floor(Math.min(ax, bx)) - reach, 0); x < Math.min(Math.max(ax, bx) + reach, width); ++x) {
                    const t = Math.min(Math.max(((x + 0.5 - ax) * dx + (y + 0.5 - ay) * dy) / (dx * dx + dy * dy), 0), 1);
                    const d = Math.hypot(ax + t * dx - x - 0.5, ay + t * dy - y - 0.5) - half, p = y * width + x;
                    if (d < 1) {
                        crowded[p] ||= Number(owner[p] !== -1 && owner[p] !== id);
                        owner[p] = id;
                        away[p] = Math.min(away[p], d);
                    }
                }
            }
        }
    }
    const [behind, ink] = [channels(light.surface), channels(light.dim)];
    let drawn = 0;
    for (let p = 0; p < width * height; ++p) {
        if (crowded[p]) {
            continue;
        }
        const part = owner[p] === -1 ? 0 : 0.75 * (0.12 + 0.88 * edges[owner[p]].weight) * Math.min(Math.max(0.5 - away[p], 0), 1);
        const [x, y] = [p % width, Math.floor(p / width)], found = channels(picture.at(x, y));
        const wanted = behind.map((c, channel) => Math.round(c + (ink[channel] - c) * part));
        assert.ok(wanted.every((c, channel) => Math.abs(c - found[channel]) <= 8), `${found} instead of ${wanted} at ${x}, ${y}`);
        drawn += Number(part > 0.05);
    }
    assert.ok(drawn > 1000, `${drawn} pixels of edges`);
}

// ---- Dropped tensors --------------------------------------------------------------------------------------

// The flow draws no edges, because they take time.
const own = (more = '') => `v=1&lens=tensors&edges=0${more}`;

async function dropped(explorer, files, answer) {
    await explorer.drop(...written(files));
    if (answer) {
        await explorer.click(answer);
    }
    await explorer.until('the tensors', () => explorer.tensors(), ({ open, phase }) => open && phase === null);
    await explorer.idle();
}

// Sets stage and colours by a link, because their buttons are elsewhere on the page.
async function shows(explorer, choice) {
    const { fragment } = await explorer.state();
    await explorer.visit(`${fragment.replace(/&shown=[^&]*/, '')}&shown=${choice}`);
    await explorer.until(choice, () => explorer.linked('shown'), (shown) => (shown ?? 'weight') === choice);
    await explorer.idle();
}

/** @typedef {{rows: number, cols: number, values: number[]}} Grid */

const n = 600;
const map = (() => {
    const draw = chance(1);
    // The first key takes a part of each row, and the others less than the rest: without it they stay below
    // one.
    const rows = Array.from({ length: n }, () => {
        const first = 0.125 + 0.5 * draw();
        return Array.from({ length: n }, (_, key) => Math.fround(key === 0 ? first : (1 - first) * draw() ** 4));
    });
    rows[300][256] = rows[511][512] = NaN;
    return { rows: n, cols: n, values: rows.flat(), without: (change) => ({ rows: n, cols: n, values: rows.flatMap((row) => row.map((w, key) => (key === 0 ? -Infinity : change(w, row[0])))) }) };
})();
// The windows are as small as their parts allow, because pictures of the whole page take time.
const window = { width: 1100, height: 560 }, wide = { width: 1280, height: 720 };

test('colours are linear, logarithmic or by rank, of the strongest or the mean, with the first key or without', { fine: true, context: { viewport: window }, fragment: own() }, async (explorer) => {
    await dropped(explorer, { 'attention.npy': npy([n, n], map.values) });
    const view = await whole(explorer, map);
    const compared = (what, colours, /** @type {Grid} */ of = map, pooling = undefined) => compare(explorer, what, {
        density: 1, view, map: of, background: light.surface, pooling,
        colour: colouring({ theme: light, high: 1, blocks: () => pooled(of, 4).values, ...colours }),
    });
    assert.ok(view.cell < 1, 'cells share pixels');
    await shows(explorer, 'weight,mean');
    await compared('means', {}, map, 'mean');
    await shows(explorer, 'weight');
    for (const scaling of ['log', 'rank']) {
        await shows(explorer, `weight,${scaling}`);
        await compared(scaling, { scaling });
    }
    await shows(explorer, 'weight');
    await shows(explorer, 'weight,nosink');
    await compared('without the first key', {}, map.without((w) => w));
    await shows(explorer, 'weight,renormalised');
    await compared('the others made to sum to one', {}, map.without((w, first) => w / (1 - first)));
});

test('a map of several tiles is its weights, whole, closer and moved', { fine: true, limit: 240_000, context: { viewport: window }, fragment: own() }, async (explorer) => {
    await dropped(explorer, { 'attention.npy': npy([n, n], map.values) });
    const compared = (what, view) =>
        compare(explorer, what, { density: 1, view, map, background: light.surface, colour: colouring({ theme: light, high: 1 }) });
    let view = await whole(explorer, map);
    await compared('whole', view);
    view = await zoomed(explorer, view, map, 1.37);
    await compared('closer', view);
    view = await panned(explorer, view, map, -37, 23);
    await compared('moved', view);
    view = await zoomed(explorer, view, map, 9.6, { x: 0.45, y: 0.4 });  // with gaps, without numbers
    await compared('close', view);
});

for (const density of [1, 2]) {
    const context = { deviceScaleFactor: density, viewport: window };

    test(`signed scores have the colours of their sign and masked cells their own, at ${density} pixels a point, in the dark`,
        { context: { ...context, colorScheme: 'dark' }, fragment: own('&files=q.npy,k.npy,mask.npy&rule=unscaled&shown=weight,log') }, async (explorer) => {
            const [rows, cols] = [300, 520], draw = chance(2);
            // Sixteenths: every product and every sum is exact.
            const grid = (length) => Array.from({ length }, () => [0, 1, 2].map(() => Math.round(64 * draw() - 32) / 16));
            const [q, k] = [grid(rows), grid(cols)];
            const mask = Array.from({ length: rows }, (_, query) => Array.from({ length: cols }, (__, key) => (key > query + cols - rows ? -Infinity : -Math.round(16 * draw()) / 16)));
            const scores = attention({ q, k, scale: 1 }).raw.map((row, query) => row.map((score, key) => score + mask[query][key]));
            const { weight } = attention({ scores });
            await dropped(explorer, { 'q.npy': npy([rows, 3], q.flat()), 'k.npy': npy([cols, 3], k.flat()), 'mask.npy': npy([rows, cols], mask.flat()) }, 'ask/mask meaning/added');
            const compared = (what, view, of, colours) => compare(explorer, what, {
                density, view, background: dark.surface, signed: colours.signed, map: { rows, cols, values: of.flat() },
                colour: colouring({ theme: dark, ...colours }),
            });
            await compared('weights', await whole(explorer, { cols }), weight.map((row, query) => row.map((w, key) => (scores[query][key] === -Infinity ? -Infinity : w))), { high: 1, scaling: 'log' });
            await shows(explorer, 'masked');
            const view = await whole(explorer, { cols }), high = Math.max(...scores.flat().filter(Number.isFinite).map(Math.abs));
            await compared('scores closer', await zoomed(explorer, view, { rows, cols }, 2.3, { x: 0.8, y: 0.4 }), scores, { high, signed: true });
        });

    test(`one bright cell among nine million shows, at ${density} pixels a point`, { context, fragment: own('&shown=raw') }, async (explorer) => {
        const length = 3000, at = { x: 1781, y: 622 };
        const hot = (i) => Array.from({ length }, (_, j) => (j === i ? 1 : 0));
        await dropped(explorer, { 'q.npy': npy([length, 1], hot(at.y)), 'k.npy': npy([length, 1], hot(at.x)) });
        const { left, top, right, bottom } = await explorer.reveal('map');
        const picture = await photograph(explorer, { left, top, right, bottom });
        const size = { x: (right - left) * density, y: (bottom - top) * density };
        const bright = [];
        const [still, lit] = [channels(light.diverging[4]), channels(light.diverging[8])];
        for (let y = 0; y < Math.floor(size.y); ++y) {
            for (let x = 0; x < Math.floor(size.x); ++x) {
                const found = picture.at(x, y);
                if (!alike(found, light.diverging[4])) {
                    assert.ok(alike(found, light.diverging[8]), `${channels(found)} at ${x}, ${y}, which is neither ${still} nor ${lit}`);
                    bright.push([x, y]);
                }
            }
        }
        assert.ok(bright.length >= 1 && bright.length <= 9, `${bright.length} bright pixels`);
        for (const [x, y] of bright) {  // within the block of cells that a texel covers: at most two pixels
            assert.ok(Math.abs(x + 0.5 - (at.x + 0.5) * size.x / length) <= 2.5 && Math.abs(y + 0.5 - (at.y + 0.5) * size.y / length) <= 2.5, `bright at ${x}, ${y}`);
        }
    });

    // Except for the corners of the chosen head, whose frame is round.
    test(`thumbnails show the strongest cell under each pixel, at ${density} pixels a point`, { context: { ...context, viewport: wide }, fragment: own() }, async (explorer) => {
        const [layers, heads, rows, cols] = [2, 12, 60, 100], draw = chance(3);
        const maps = Array.from({ length: layers * heads }, () => Array.from({ length: rows * cols }, () => Math.fround(draw() ** 8)));
        await dropped(explorer, { 'attention.npy': npy([layers, heads, rows, cols], maps.flat()) });
        await explorer.until('all thumbnails', () => explorer.tensors(), ({ open }) => open.heads_exact === layers * heads);
        await explorer.reveal('map');  // beside them: thumbnails have landmarks only while they are in view
        await explorer.reveal('head/1/11');
        const rects = await explorer.rects(...maps.map((_, i) => `head/${Math.floor(i / heads)}/${i % heads}`));
        const corner = rects[0], end = rects.at(-1), picture = await photograph(explorer, { ...corner, right: end.right, bottom: end.bottom });
        const colour = colouring({ theme: light, high: 1 });
        const bad = [];
        let shared = 0;
        for (const [i, { left, top, right, bottom }] of rects.entries()) {
            const blocks = pooled({ rows, cols, values: maps[i] }, 2);  // at most 64 per side
            const [x0, y0, width, height] = [left - corner.left, top - corner.top, right - left, bottom - top].map((points) => Math.round(points * density));
            const size = { x: width / blocks.cols, y: height / blocks.rows };
            // The strongest block that covers more than a sliver of a pixel, which f32 may or may not see.
            const strongest = (x, y, sliver) => {
                const under = (at, cell, count) => [Math.max(Math.floor(at / cell + sliver), 0), Math.min(Math.ceil((at + 1) / cell - sliver), count)];
                const [[from, to], [first, last]] = [under(y, size.y, blocks.rows), under(x, size.x, blocks.cols)];
                let most = -Infinity;
                for (let row = from; row < to; ++row) {
                    most = Math.max(most, ...blocks.values.slice(row * blocks.cols + first, row * blocks.cols + last));
                }
                return most;
            };
            shared += Number(size.x < 1);
            for (let y = 0; y < height; ++y) {
                for (let x = 0; x < width; ++x) {
                    const found = picture.at(x0 + x, y0 + y);
                    const framed = i === 0 && Math.min(x, width - 1 - x) < 4 * density && Math.min(y, height - 1 - y) < 4 * density;
                    if (!framed && ![1e-2, 1e-6].some((sliver) => alike(found, colour(strongest(x, y, sliver))))) {
                        bad.push([i, x, y, channels(found), channels(colour(strongest(x, y, 1e-3)))].join(' '));
                    }
                }
            }
        }
        assert.equal(bad.length, 0, `${bad.length} pixels; head, x, y, found, wanted: ${bad.slice(0, 6).join('; ')}`);
        assert.ok(shared === rects.length, 'blocks share pixels');
    });

    test(`edges of the flow lie on their curves, as wide and strong as their weights, at ${density} pixels a point`, { context: { ...context, viewport: wide }, fragment: 'v=1&lens=tensors&edges=1' }, async (explorer) => {
        const words = ['The', ' animal', ' did', ' not', ' cross', ' the', ' street', '.'], { length } = words;
        const rows = words.map((_, query) => words.map((__, key) => (query === 5 ? [0.5, 0, 0.25, 0, 0.125, 0, 0, 0.125][key] : query === key ? 1 : 0)));
        await dropped(explorer, { 'attention.npy': npy([length, length], rows.flat()), 'tokens.json': JSON.stringify(words) });
        await explorer.reveal('flow');
        const at = await explorer.rects(...words.map((_, i) => `token/${i}`)), base = at[0].top - 2;
        // The curve of web/app/flow_shape.cpp, t from 0 to 1.
        const smooth = (t) => t * t * (3 - 2 * t);
        const arc = (query, key, t) => {
            const span = at[key].x - at[query].x, height = 10 + 58 * (1 - Math.exp(-Math.abs(span) / (2.6 * 58)));
            return query === key ? [at[query].x + 5 * Math.sin(2 * Math.PI * t), base - 7 + 6 * Math.cos(2 * Math.PI * t)]
                : [at[query].x + span * smooth(t), base - 4 * height * t * (1 - t)];
        };
        await edgesLie(explorer, density, { left: at[0].left, top: Math.ceil(base - 70), right: at.at(-1).right, bottom: Math.floor(base) - 1 }, rows.flatMap((row, query) =>
            row.map((weight, key) => ({ weight, width: query === key ? 1.25 + weight : 1 + 4 * weight, curve: (t) => arc(query, key, t) }))));

        await explorer.click('flow/form/columns');
        await explorer.until('the columns', () => explorer.rect('flow/key/0'));
        await explorer.reveal('flow');
        const queries = await explorer.rects(...words.map((_, i) => `token/${i}`)), keys = await explorer.rects(...words.map((_, i) => `flow/key/${i}`));
        const [from, to] = [queries[0].right + 3, keys[0].left - 3];  // distance from the words' boxes
        const area = { left: Math.ceil(from), top: Math.floor(queries[0].top), right: Math.floor(to), bottom: Math.ceil(queries.at(-1).bottom) };
        await edgesLie(explorer, density, area, rows.flatMap((row, query) => row.map((weight, key) =>
            ({ weight, width: 1 + 4 * weight, curve: (t) => [from + (to - from) * t, queries[query].y + (keys[key].y - queries[query].y) * smooth(t)] }))));
    });
}
