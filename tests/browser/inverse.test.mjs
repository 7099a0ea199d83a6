// Tests lens Make it so: the change that gives a weight its target, against the test's own attention.
import assert from 'node:assert/strict';
import { tiny } from './lib/models.mjs';
import { attention, multiply, near, transpose } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

const cats = [[1, 0.5, 0.2, 0.8], [0.3, 0.9, 0.1, 0.4], [0.6, 0.2, 0.7, 0.3]];
const single = 2e-6;  // for weights from kernels in f32

// The order in which older links count the lens's numbers.
const numbers = ['weight', 'q', 'k', 'w', 'change', 'step', 'target', 'fitted', 'fit_q', 'fit_k', 'error', 'divergence'];
const number = (explorer, of, row, col = 0) => explorer.explain('number', row, numbers.indexOf(of) + numbers.length * col);
const column = (explorer, of, row, count) => Promise.all(Array.from({ length: count }, async (_, col) => (await number(explorer, of, row, col)).f64));

const norm = (v) => Math.hypot(...v);
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
const softmax = (scores) => {
    const shares = scores.map((s) => Math.exp(s - Math.max(...scores))), sum = shares.reduce((a, b) => a + b, 0);
    return shares.map((s) => s / sum);
};

// The gradient of the log-odds of a key's weight with respect to q: its key minus the mean of the others,
// scaled.
function slope(keys, weights, j, scale) {
    const rest = 1 - weights[j];
    return keys[j].map((x, a) => scale * (x - keys.reduce((sum, k, i) => sum + (i === j ? 0 : weights[i] / rest * k[a]), 0)));
}

// A smallest change of q lies along that gradient, with no component across it.
function across(change, along) {
    const share = dot(change, along) / dot(along, along);
    return norm(change.map((x, a) => x - share * along[a])) / norm(change);
}

const found = (explorer) => explorer.until('the change', () => explorer.rect('inverse/weight/0/0'));
const wish = (explorer, holds) => explorer.until('the wish', () => explorer.linked('inverse.wish'), holds);

test('a weight is dragged to what it should be, and the least change of q makes it so', { fragment: 'v=1&lens=inverse' }, async (explorer) => {
    assert.match((await explorer.state()).spoken, /^“mat” gives “cat” 0\.368 of its weight\. Choose a cell, and say what it should be\.$/);
    await explorer.drag('inverse/now/2/1', 80);
    const wished = Number((await wish(explorer, Boolean)).split(':')[1]);
    assert.ok(wished > 0.55 && wished < 0.75, `a drag of 80 points takes 0.282 to ${wished}`);
    await found(explorer);
    const change = await column(explorer, 'change', 2, 4), moved = await column(explorer, 'q', 2, 4);
    near(moved, cats[2].map((x, a) => x + change[a]), 1e-6, 'q with the change');
    const weights = softmax(cats.map((k) => dot(moved, k) / 2));
    near([weights[1]], [wished], 1e-6, 'the weight that was wished for');
    near(await column(explorer, 'weight', 2, 3), weights, 1e-6, 'the row with the change');
    assert.ok(across(change, slope(cats, weights, 1, 0.5)) < 1e-6, 'it lies along the slope of the log-odds');
    const { spoken, fragment } = await explorer.state();
    assert.match(spoken, new RegExp(`^Once q changes by ${norm(change).toFixed(4)}, “mat” gives “sat” ${wished} of its weight\\.$`));
    await explorer.visit('v=1&lens=scale');
    await explorer.untilState('another lens', ({ lens }) => lens === 'scale');
    await explorer.visit(fragment);
    await explorer.untilState('the link', ({ lens }) => lens === 'inverse');
    await found(explorer);
    const again = await explorer.state();
    assert.deepEqual([again.fragment, again.spoken], [fragment, spoken], 'the link opens it as it was');
    await explorer.click('inverse/do');
    await explorer.until('the example to change', async () => (await explorer.matrix('weight'))[2][1], (now) => Math.abs(now - wished) < single);
    assert.equal((await explorer.state()).last_edit, 'the least change that makes it so');
    near((await explorer.matrix('weight'))[2], weights, single, 'the example');
    await explorer.press('Control+Z');
    await explorer.until('the example as it was', async () => (await explorer.matrix('weight'))[2][1], (now) => Math.abs(now - 0.282223) < single);
});

test('a projection moves other rows, as its new numbers say', { fragment: 'v=1&lens=inverse&inverse.of=wq&inverse.wish=2.0:0.8' }, async (explorer) => {
    await found(explorer);
    const w_q = await Promise.all(cats[0].map((_, row) => column(explorer, 'w', row, 4)));
    const { weight } = attention({ q: multiply(cats, w_q), k: cats });
    near([weight[2][0]], [0.8], 1e-6, 'the weight that was wished for');
    for (const row of cats.keys()) {
        near(await column(explorer, 'weight', row, 3), weight[row], 1e-6, `row ${row}`);
    }
    // The smallest change of W_Q is proportional to the rows of x in each column.
    const by = await Promise.all(cats[0].map((_, row) => column(explorer, 'change', row, 4)));
    for (const moved of transpose(by)) {
        assert.ok(across(moved, cats[2]) < 1e-5, 'it is a multiple of x');
    }
    await explorer.click('inverse/do');
    await explorer.until('W_Q to change', () => explorer.matrix('w_q'), (now) => now[0][0] !== 1);
    near(await explorer.matrix('w_q'), w_q, 1e-6, 'W_Q');
});

test('one W_K serves the wishes of two rows', { fragment: 'v=1&lens=inverse&inverse.of=wk&inverse.wish=0.1:0.6,2.1:0.3' }, async (explorer) => {
    await found(explorer);
    const { spoken } = await explorer.untilState('what was found', (state) => !/^Searching/.test(state.spoken));
    assert.match(spoken, /^Once W_K changes by [\d.]+, both wishes come true\.$/);
    const w_k = await Promise.all(cats[0].map((_, row) => column(explorer, 'w', row, 4)));
    const { weight } = attention({ q: cats, k: multiply(cats, w_k) });
    near([weight[0][1], weight[2][1]], [0.6, 0.3], 1e-6, 'the weights that were wished for');
    near(await column(explorer, 'weight', 1, 3), weight[1], 1e-6, 'the row without a wish');
    await explorer.click('inverse/preset/previous');
    await wish(explorer, (now) => now === '1.0:0.6,2.1:0.6');
});

test('what cannot be had says why: a key amidst others on tensors of one’s own', { fragment: 'v=1&subject=tensors&lens=inverse&rule=none&query=0' }, async (explorer) => {
    const q = [[0.5, -1]], k = [[1, 0], [-1, 0], [0, 1], [0, -1], [0, 0]];
    await explorer.drop(...written({ 'q.npy': npy([1, 2], q.flat()), 'k.npy': npy([5, 2], k.flat()) }));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open, phase }) => open && phase === null);
    await explorer.click('lens/inverse');
    await explorer.click('inverse/now/0/4');
    await explorer.page.keyboard.type('0.5');
    await explorer.press('Enter');
    await wish(explorer, (now) => now === '0.4:0.5');
    const { spoken } = await explorer.untilState('the reason', (state) => /^No q gives/.test(state.spoken));
    // The centre of a square gets at most a fifth, at q = 0, where it is a quarter of each corner.
    assert.match(spoken, /^No q gives key 4 more than 0\.2000: it lies among the other keys, as their mixture of 25 % key \d, 25 % key \d, 25 % key \d and others\.$/);
    assert.equal(await explorer.rect('inverse/do'), undefined);
    await explorer.click('inverse/of/all keys');
    await found(explorer);
    near([(await number(explorer, 'weight', 0, 4)).f64], [0.5], 1e-9, 'with other keys it can be had');
});

test('a head of a model is taken to the example with the change in it', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('lens/inverse');
    await explorer.settled();
    const query = tiny.ids.length - 1;
    await explorer.click(`inverse/now/${query}/0`);
    await explorer.untilState('the row', (state) => state.query === query && state.key === 0);
    await explorer.page.keyboard.type('0.66');
    await explorer.press('Enter');
    await wish(explorer, (now) => now === `${query}.0:0.66`);
    await found(explorer);
    const { layer, head } = await explorer.state();
    const before = tiny.attention[layer][head][query];
    assert.ok(Math.abs(before[0] - 0.66) > 0.01, 'it is something else now');
    await explorer.click('inverse/do');
    await explorer.untilState('the example', ({ subject }) => subject === 'worked');
    const { weight } = attention({ q: await explorer.matrix('q'), k: await explorer.matrix('k'), allowed: (i, j) => j <= i });
    near([weight[query][0]], [0.66], single, 'the weight that was wished for');
    near((await explorer.matrix('weight'))[query], weight[query], single, 'its row');
    near((await explorer.matrix('weight'))[0], tiny.attention[layer][head][0], 1e-4, 'another row');
});

test('a pattern is painted and fitted, and its Q and K are taken to the example', { fragment: 'v=1&lens=inverse&inverse.pattern=previous,5' }, async (explorer) => {
    await explorer.until('the fit', async () => (await number(explorer, 'error', 5))?.f64);
    const painted = () => explorer.linked('inverse.pattern');
    await explorer.click('inverse/target/0/0');
    const less = await explorer.until('a cell fewer', painted, (now) => now?.startsWith('painted,5,'));
    await explorer.click('inverse/target/0/4');
    await explorer.until('a cell more', painted, (now) => now !== less);
    const wanted = [4, 0, 1, 2, 3].map((to) => [0, 1, 2, 3, 4].map((j) => Number(j === to)));
    await explorer.until('the fit', async () => (await number(explorer, 'error', 5))?.f64);
    // Any permutation can be fitted with two components, and only the outermost keys with one.
    assert.ok((await number(explorer, 'error', 1)).f64 > 0.4);
    const { f64: error } = await number(explorer, 'error', 2);
    assert.ok(error < 0.01, `it is off by ${error}`);
    // The targets are set only as far as this head's three tokens go.
    await explorer.click('inverse/ask');
    await wish(explorer, (now) => now === '1.0:0.9,2.1:0.9');
    await explorer.untilState('the change', ({ spoken }) => /^Once the queries change by [\d.]+, both wishes come true\.$/.test(spoken));
    await explorer.click('inverse/take');
    await explorer.untilState('the example', ({ lens }) => lens !== 'inverse');
    const { weight } = attention({ q: await explorer.matrix('q'), k: await explorer.matrix('k') });
    near(weight, wanted, 0.01, 'its weights');
    near([Math.max(...weight.flatMap((row, i) => row.map((x, j) => Math.abs(x - wanted[i][j]))))], [error], single * 10, 'its error');
});

test('with the keyboard alone: a wish is typed, another made with a slider, and both forgotten', { fragment: 'v=1&lens=inverse' }, async (explorer) => {
    const { page } = explorer;
    await explorer.settled();
    const grid = page.getByRole('grid', { name: 'Weights', exact: true });
    await grid.getByRole('gridcell').first().focus();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.type('0.7');
    const field = page.getByRole('textbox', { name: 'Weight' });
    await field.waitFor();
    await explorer.untilFocused(field);
    await explorer.until('what was typed', () => field.innerText(), (text) => text === '0.7');
    await page.keyboard.press('Enter');
    await wish(explorer, (now) => now === '1.0:0.7');
    await explorer.untilState('the row', ({ query }) => query === 1);
    await found(explorer);
    await page.getByRole('slider', { name: 'weight of “cat”' }).focus();
    await page.keyboard.press('ArrowDown');
    await wish(explorer, (now) => now?.startsWith('1.0:0.6'));
    await page.getByRole('radio', { name: 'all keys' }).focus();
    await page.keyboard.press('Enter');
    await explorer.until('the keys', () => explorer.linked('inverse.of'), (now) => now === 'keys');
    await page.getByRole('button', { name: 'No wish' }).focus();
    await page.keyboard.press('Enter');
    await wish(explorer, (now) => now === undefined);
    assert.deepEqual(await explorer.notices('error'), []);
});
