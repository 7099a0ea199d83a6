// Tests the map widget: its colours against their formula, the first key, search, bright cells, a marked
// part, fingers.
import assert from 'node:assert/strict';
import { tiny } from './lib/models.mjs';
import { phone, test } from './lib/suite.mjs';

const words = tiny.text.split(' ');
const last = tiny.ids.length - 1;
const first = tiny.attention[0][0];  // head 0 of layer 0, [queries][keys]
const weights = first.flatMap((row, query) => row.slice(0, query + 1));  // cells that the mask allows

async function colour(explorer, scaling) {
    await explorer.click(`map/scaling/${scaling}`);
    await explorer.until(scaling, () => explorer.linked('map'), (map) => map === `weight,${scaling}`);
    await explorer.settled();
}

// Places of a magnitude on the bar, from the definition in core/maps/value_scale.hpp. high: the end of the
// bar.
const shares = {
    linear: (value, high) => value / high,
    log: (value, high) => Math.log1p(1e4 * value / high) / Math.log1p(1e4),
    rank: (value) => weights.filter((other) => other < value).length / (weights.length - 1),
};

// Compares the colours of cells in the picture with those at their places on the bar.
async function compare(explorer, density, share, high) {
    await explorer.reveal('map/bar');
    const { pixels, width, channels } = await explorer.picture();
    const canvas = await explorer.page.locator('#canvas').boundingBox();
    const at = (x, y) => {
        const place = (Math.round((y - canvas.y) * density) * width + Math.round((x - canvas.x) * density)) * channels;
        return [...pixels.subarray(place, place + 3)];
    };
    // The last row is outlined.
    const pairs = first.slice(0, last).flatMap((row, query) => row.slice(0, query + 1).map((_, key) => [query, key]));
    const [bar, ...cells] = await explorer.rects('map/bar', ...pairs.map((pair) => `map/${pair.join('/')}`));
    let compared = 0;
    for (const [i, [query, key]] of pairs.entries()) {
        const cell = cells[i];
        if (!cell || cell.top < canvas.y || cell.bottom > canvas.y + canvas.height) {
            continue;
        }
        // Left of the middle of the cell's upper edge, where no number is drawn.
        const found = at(cell.left + 4, cell.top + 4);
        const part = Math.min(share(first[query][key], high), 1);
        const x = bar.left + 1 + part * (bar.right - bar.left - 3);
        const wanted = at(x, bar.y);
        // A pixel of the bar is 1 / 240 of it, and the palette has 256 colours.
        const apart = Math.max(...found.map((c, channel) => Math.abs(c - wanted[channel])));
        assert.ok(apart <= 8, `query ${query}, key ${key}, ${first[query][key]} at ${part}: ${found} instead of ${wanted}`);
        ++compared;
    }
    assert.ok(compared > 12, `${compared} cells were in view`);
}

for (const density of [1, 2]) {
    test(`cells have the colours of their values, linear, log and by rank, at ${density} pixels a point`, { context: { deviceScaleFactor: density } }, async (explorer) => {
        await explorer.openModel(tiny.folder, tiny.text);
        await compare(explorer, density, shares.linear, 1);
        await explorer.click('map/colours');
        for (const scaling of ['log', 'rank']) {
            await colour(explorer, scaling);
            await compare(explorer, density, shares[scaling], 1);
        }
    });
}

test('without the first key the rest may sum to one again, and a link keeps that', { fine: true }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('map/colours');
    await explorer.click('map/sink/renormalised');
    await explorer.until('the link', () => explorer.linked('map'), (map) => map === 'weight,renormalised');
    await explorer.settled();
    const { pixels, width, channels } = await explorer.picture();
    const canvas = await explorer.page.locator('#canvas').boundingBox();
    const at = async (name) => {
        const { left, top } = await explorer.rect(name);
        const place = (Math.round(top - canvas.y + 4) * width + Math.round(left - canvas.x + 4)) * channels;
        return [...pixels.subarray(place, place + 3)];
    };
    const masked = await at('map/0/3');
    assert.deepEqual(await at('map/3/0'), masked, 'the first key is masked');
    assert.notDeepEqual(await at('map/3/1'), masked);
    await explorer.page.click('#undo');
    await explorer.until('undo', () => explorer.linked('map'), (map) => !map);
});

test('a token is found, a position is gone to, and bright cells one after another', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('find');
    await explorer.page.keyboard.type(words[3].slice(0, 2));
    await explorer.press('Enter');
    const hits = words.flatMap((word, i) => word.includes(words[3].slice(0, 2)) ? [i] : []);
    await explorer.untilState('the first that is found', ({ query }) => query === hits[0]);
    await explorer.click('find');
    await explorer.press('Control+A');
    await explorer.page.keyboard.type('2');
    await explorer.press('Enter');
    await explorer.untilState('the position', ({ query, key }) => query === 2 && key === 2);
    const brightest = first.flatMap((row, query) => row.map((value, key) => ({ value, query, key }))).sort((a, b) => b.value - a.value);
    for (const { query, key } of brightest.slice(0, 2)) {
        await explorer.click('find/bright');
        await explorer.untilState('a bright cell', (state) => state.query === query && state.key === key);
    }
});

test('a part is marked with Shift, summed up, and let go', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const from = await explorer.reveal('map/3/1'), to = await explorer.rect('map/5/3');
    await explorer.page.mouse.move(from.x, from.y);
    await explorer.page.keyboard.down('Shift');
    await explorer.page.mouse.down();
    await explorer.page.mouse.move(to.x, to.y, { steps: 4 });
    await explorer.page.mouse.up();
    await explorer.page.keyboard.up('Shift');
    const said = await explorer.until('the sums', () => explorer.page.textContent('#live'), (text) => text?.startsWith('Queries 3 to 5, keys 1 to 3: '));
    const cells = [3, 4, 5].flatMap((query) => [1, 2, 3].filter((key) => key <= query).map((key) => first[query][key]));
    const [, count, sum, , strongest] = said.match(/: (\d+) cells, sum (\S+), mean (\S+), strongest (\S+)$/) ?? [];
    assert.equal(Number(count), cells.length);
    assert.ok(Math.abs(Number(sum) - cells.reduce((all, cell) => all + cell)) < 2e-4, said);
    assert.ok(Math.abs(Number(strongest) - Math.max(...cells)) < 2e-4, said);
    await explorer.click('map/forget');
    await explorer.until('nothing marked', () => explorer.rect('map/forget'), (rect) => !rect);
});

test('a bar below the map is a number: it explains itself, stays when it is clicked, and is in the link', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const strip = await explorer.reveal('map/columns'), column = await explorer.rect('map/5/2');
    await explorer.page.mouse.click(column.x, strip.y);
    await explorer.untilState('the sum of a column', ({ pin }) => pin?.[0] === 'column_total.2.4');
    assert.equal(await explorer.linked('pin'), 'column_total.2.4');
    const sum = first.reduce((all, row, query) => (query >= 2 ? all + row[2] : all), 0);
    const told = await explorer.until('the explanation', () => explorer.page.textContent('#live'), (text) => text?.startsWith('Σ Weights['));
    assert.ok(Math.abs(Number(told.match(/ is (\S+)\./)?.[1]) - sum) < 2e-4, told);
    await explorer.until('the value in double', () => explorer.rect('inspector/f64'));
});

test('two fingers make the map larger', { context: phone }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const { x, y } = await explorer.reveal('map/3/1');
    const width = async () => { const cell = await explorer.rect('map/3/1'); return cell && cell.right - cell.left; };
    const before = await width();
    const fingers = await explorer.page.context().newCDPSession(explorer.page);
    const touch = (type, apart) => fingers.send('Input.dispatchTouchEvent',
        { type, touchPoints: apart === undefined ? [] : [{ x: x - apart, y, id: 0 }, { x: x + apart, y, id: 1 }] });
    await touch('touchStart', 20);
    for (let apart = 24; apart <= 60; apart += 6) {
        await touch('touchMove', apart);
        await explorer.settled();
    }
    await touch('touchEnd');
    await explorer.until('larger cells', width, (now) => now > 1.5 * before);
});
