// Tests lens Tiles: fused attention step by step, against a softmax over the keys seen so far.
import assert from 'node:assert/strict';
import { openRows } from './lib/hidden.mjs';
import { tiny } from './lib/models.mjs';
import { attention, near } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

const cats = [[1, 0.5, 0.2, 0.8], [0.3, 0.9, 0.1, 0.4], [0.6, 0.2, 0.7, 0.3]];
const rounding = 1e-6;  // f32 sums of a few numbers around 1

// The order of a query's numbers in web/lenses/tiles/tiles.hpp.
const parts = ['max_before', 'max', 'factor', 'sum_before', 'weight_sum', 'sum', 'weight', 'output_before', 'output', 'result', 'naive', 'difference'];
const number = (explorer, part, query, index = 0) => explorer.explain('number', query, parts.indexOf(part) * 65536 + index);
const both = async (explorer, ...place) => {
    const { f32, f64 } = await number(explorer, ...place);
    return [f32, f64].map(Number);
};

// A row's numbers after its first `seen` keys, computed from these alone.
function running(scores, values, seen) {
    const max = Math.max(...scores.slice(0, seen)), none = max === -Infinity;
    const weights = scores.slice(0, seen).map((score) => (none ? 0 : Math.exp(score - max)));
    const sum = weights.reduce((a, b) => a + b, 0);
    const output = values[0].map((_, b) => weights.reduce((all, weight, j) => all + weight * values[j][b], 0));
    return { max, sum, output, result: output.map((each) => (none ? 0 : each / sum)) };
}

// Compares all numbers of the open tile with running().
async function agrees(explorer, { scores, values, queries, seen, before, tolerance = rounding }) {
    for (const query of queries) {
        const now = running(scores[query], values, seen), then = running(scores[query], values, before);
        const same = (actual, expected, what) => near(actual, [expected, expected], tolerance, `${what} of query ${query} after ${seen} keys`);
        if (now.max > -Infinity) {
            same(await both(explorer, 'max', query), now.max, 'the maximum');
            same(await both(explorer, 'factor', query), then.max === now.max ? 1 : Math.exp(then.max - now.max), 'the factor');
        }
        same(await both(explorer, 'sum_before', query), then.sum, 'the sum before');
        same(await both(explorer, 'sum', query), now.sum, 'the sum');
        for (const b of values[0].keys()) {
            same(await both(explorer, 'output', query, b), now.output[b], `output ${b}`);
            same(await both(explorer, 'result', query, b), now.result[b], `output / sum ${b}`);
        }
    }
}

const untilTile = (explorer, tile) => explorer.until(`tile ${tile}`, () => explorer.linked('tiles.tile'), (now) => (now ?? '0') === String(tile));

test('each step updates maximum, sum and output; after the last one they are the softmax over the whole row', { fragment: 'v=1&lens=tiles' }, async (explorer) => {
    const { masked: scores, output } = attention({ q: cats, k: cats, v: cats });
    assert.match((await explorer.state()).spoken, /^Tile 1 of 4: the largest score of “cat” so far is 0\.96\.$/);
    for (const [tile, [queries, seen, before]] of [[[0, 1], 2, 0], [[0, 1], 3, 2], [[2], 2, 0], [[2], 3, 2]].entries()) {
        if (tile > 0) {
            await explorer.click('tiles/forward');
            await untilTile(explorer, tile);
        }
        await agrees(explorer, { scores, values: cats, queries, seen, before });
        assert.equal(Boolean(await explorer.rect('tiles/equal')), seen === 3);
    }
    for (const b of cats[0].keys()) {
        near(await both(explorer, 'result', 2, b), [output[2][b], output[2][b]], rounding, 'the output');
        near(await both(explorer, 'naive', 2, b), [output[2][b], output[2][b]], rounding, 'the naive output');
        near(await both(explorer, 'difference', 2, b), [0, 0], rounding, 'the difference');
    }
    await explorer.click('tiles/back');
    await untilTile(explorer, 2);
    await explorer.press('Control+Z');
    await untilTile(explorer, 3);
});

test('a number explains itself, and its operands lead on and back', { fragment: 'v=1&lens=tiles&tiles.tile=1' }, async (explorer) => {
    await explorer.hover('tiles/running/1/5');
    await explorer.untilState('the inspector to show it', ({ shown }) => shown?.join() === 'tiles.running.sum.1');
    const { operands, f64 } = await number(explorer, 'sum', 1);
    near([operands.reduce((sum, [, , product]) => sum + product, 0)], [f64], 1e-15, 'the sum of its operands');
    await explorer.click('tiles/output/1/0');
    await explorer.untilState('the pin', ({ pin }) => pin?.join() === 'tiles.output.after.1.0');
    await explorer.page.mouse.move(2, 2);
    await explorer.click('inspector/operand/1/right');
    await explorer.untilState('the value', ({ pin }) => pin?.slice(0, 3).join() === 'V,2,0');
    await explorer.click('inspector/back');
    await explorer.untilState('the way back', ({ pin, lens }) => lens === 'tiles' && pin?.join() === 'tiles.output.after.1.0');
});

test('in a sentence, tiles above the diagonal are skipped, and Play goes to the end and stops', { fragment: 'v=1&tiles.size=2,2' }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('lens/tiles');
    const n = tiny.ids.length;
    const stage = (name, rows, columns) => Promise.all(Array.from({ length: rows }, (_, row) => Promise.all(Array.from({ length: columns },
        async (__, column) => Number(String((await explorer.explain(name, row, column)).f64).replace('inf', 'Infinity'))))));
    const scores = await stage('masked', n, n), values = await stage('v', n, 4);
    const across = Math.ceil(n / 2), last = across * across - 1;
    await explorer.click('tiles/forward');
    await untilTile(explorer, across);  // the rest of the first row is skipped
    await agrees(explorer, { scores, values, queries: [2, 3], seen: 2, before: 0, tolerance: 1e-5 });
    await explorer.click('tiles/map/0/1');
    await explorer.untilState('the skipped tile', ({ spoken }) => /the mask hides all of it/.test(spoken));
    await explorer.click(`tiles/map/${across - 1}/${across - 2}`);
    await untilTile(explorer, last - 1);
    await explorer.click('tiles/play');
    await untilTile(explorer, last);
    await explorer.settled();  // no more frames are drawn
    const query = n - 1;
    const { result } = running(scores[query], values, n);
    for (const b of values[0].keys()) {
        near(await both(explorer, 'result', query, b), [result[b], result[b]], 1e-5, 'the output');
        const weights = (await explorer.attention(0, 0))[query];
        near([(await number(explorer, 'result', query, b)).f32], [weights.reduce((sum, w, j) => sum + w * values[j][b], 0)], 1e-5, 'the output by weights');
    }
    await explorer.press('Control+Z');
    await untilTile(explorer, last - 1);
});

test('on tensors with a past, with 1 × 1 tiles and the kernel’s own', async (explorer) => {
    const q = [[1, 0], [0, 2]], k = [[1, 1], [2, 0], [0, 3], [1, -1], [-1, 4]], v = [[1], [2], [3], [4], [5]];
    await explorer.drop(...written({ 'q.npy': npy([2, 2], q.flat()), 'k.npy': npy([5, 2], k.flat()), 'v.npy': npy([5, 1], v.flat()) }));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open, phase }) => open && phase === null);
    await explorer.click('lens/tiles');
    const { masked: scores } = attention({ q, k, v });
    await explorer.click('tiles/queries/less');
    await explorer.until('tiles of 1 × 2', () => explorer.linked('tiles.size'), (size) => size === '1,2');
    await explorer.click('tiles/keys/less');
    await explorer.until('tiles of 1 × 1', () => explorer.linked('tiles.size'), (size) => size === '1,1');
    for (const tile of [1, 2, 3, 4]) {
        await explorer.click('tiles/forward');
        await untilTile(explorer, tile);
        await agrees(explorer, { scores, values: v, queries: [0], seen: tile + 1, before: tile });
    }
    await explorer.click('tiles/preset/the kernel’s own, 48 × 64');
    await explorer.until('the kernel’s tiles', () => explorer.linked('tiles.size'), (size) => size === '48,64');
    await agrees(explorer, { scores, values: v, queries: [0, 1], seen: 5, before: 0 });
});

test('its link opens it as it was', { fragment: 'v=1&lens=tiles&tiles.size=3,1&tiles.tile=2' }, async (explorer) => {
    assert.match((await explorer.state()).spoken, /^Tile 3 of 3: /);
    assert.equal((await explorer.state()).fragment, 'v=1&lens=tiles&tiles.size=3,1&tiles.tile=2');
    assert.ok(await explorer.rect('tiles/scores/0/2'));
    await explorer.visit('v=1&lens=tiles&tiles.size=0,9');
    await explorer.untilNotice(/tiles\.size/);
});

test('the keyboard alone reaches and uses all of it', { fragment: 'v=1&lens=tiles' }, async (explorer) => {
    const { page } = explorer;
    const press = async (role, name, key = 'Enter') => {
        const found = page.getByRole(role, { name, exact: true, disabled: false });
        await openRows(explorer, found, 1000);
        await found.waitFor();
        await found.focus();
        await found.press(key);
    };
    await press('button', 'Forward');
    await untilTile(explorer, 1);
    await press('button', 'Back');
    await untilTile(explorer, 0);
    await press('slider', 'tile', 'End');
    await untilTile(explorer, 3);
    await press('spinbutton', 'keys', 'ArrowDown');
    await explorer.until('tiles of 2 × 1', () => explorer.linked('tiles.size'), (size) => size === '2,1');
    await page.getByRole('radio', { name: 'one key at a time' }).focus();
    await page.keyboard.press('Enter');
    await explorer.until('one key at a time', () => explorer.linked('tiles.size'), (size) => size === '8,1');
    const map = page.getByRole('grid', { name: 'Tiles' });
    await map.getByRole('gridcell').first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await untilTile(explorer, 1);
    const numbers = page.getByRole('grid', { name: 'Running numbers' });
    await numbers.getByRole('gridcell').first().focus();
    await page.keyboard.press('ArrowDown');
    await explorer.untilState('the inspector to explain it', ({ shown }) => shown?.join() === 'tiles.running.max_before.1');
    await press('button', 'Play');
    await untilTile(explorer, 2);
});
