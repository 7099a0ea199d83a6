// Tests lens Scale: what it draws and measures, against the same formulas over the same numbers.
import assert from 'node:assert/strict';
import { near, transpose } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);
const dot = (a, b) => sum(a.map((x, i) => x * b[i]));

// SplitMix64 and the polar method, as core/tensor/random.hpp cites them. The logarithm differs in its last
// bits.
class Random {
    /** @type {number[]} */
    #spare = [];

    constructor(seed) { this.state = BigInt(seed); }

    bits() {
        const wrap = (x) => BigInt.asUintN(64, x);
        this.state = wrap(this.state + 0x9e3779b97f4a7c15n);
        let z = this.state;
        z = wrap((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
        z = wrap((z ^ (z >> 27n)) * 0x94d049bb133111ebn);
        return z ^ (z >> 31n);
    }

    uniform() { return Number(this.bits() >> 11n) * 2 ** -53; }

    normal() {
        if (this.#spare.length > 0) {
            return this.#spare.pop();
        }
        for (;;) {
            const u = 2 * this.uniform() - 1, v = 2 * this.uniform() - 1, square = u * u + v * v;
            if (square < 1 && square > 0) {
                const factor = Math.sqrt(-2 * Math.log(square) / square);
                this.#spare.push(v * factor);
                return u * factor;
            }
        }
    }
}
const mixed = (seed, a, b = 0) => new Random(new Random(new Random(seed).bits() ^ BigInt(a)).bits() ^ BigInt(b)).bits();

// The query (vector 0) or a key of a seed.
function vector(seed, which, d) {
    const random = new Random(mixed(seed, which, 1));
    return Array.from({ length: d }, () => Math.fround(random.normal()));
}
function seededScores(seed, keys, d) {
    const q = vector(seed, 0, d);
    return Array.from({ length: keys }, (_, key) => dot(q, vector(seed, key + 1, d)));
}

function softmax(scores, scale) {
    const shares = scores.map((s) => Math.exp(scale * (s - Math.max(...scores))));
    return shares.map((x) => x / sum(shares));
}
// Returns −Σ a ln a, the largest, and ‖diag(a) − a aᵀ‖, cell by cell.
function measured(a) {
    const squares = a.flatMap((x, i) => a.map((y, j) => (x * (Number(i === j) - y)) ** 2));
    return [-sum(a.map((x) => (x > 0 ? x * Math.log(x) : 0))), Math.max(...a), Math.sqrt(sum(squares))];
}
const variance = (numbers) => sum(numbers.map((x) => x * x)) / numbers.length - (sum(numbers) / numbers.length) ** 2;

// Reads one of the lens's tables in the page's form for screen readers: {columns, rows}.
async function table(explorer, title) {
    const { page } = explorer;
    await page.click('#table');
    await page.selectOption('#table-choice', title);
    const read = await page.evaluate(() => ({
        columns: [...document.querySelectorAll('#table-view thead th')].slice(1).map((th) => th.textContent),
        rows: [...document.querySelectorAll('#table-view tbody tr')].map((tr) => [...tr.querySelectorAll('td')].map((td) => Number(td.textContent))),
    }));
    await explorer.press('Escape');
    return read;
}

// Compares the row under each scale with softmax of its scores, and returns the measures, [measure][rule].
async function agrees(explorer, scores, scales) {
    const weights = scales.map((scale) => softmax(scores, scale));
    near((await table(explorer, 'Weights')).rows, transpose(weights), 2e-5, 'weights');
    const { rows } = await table(explorer, 'Saturation');
    near(rows, weights.map(measured), 2e-5, 'what is measured');
    return transpose(rows);
}
const seededScales = (d) => [1, 1 / Math.sqrt(d), 1 / d, 0.25];
const complete = (explorer) => explorer.idle();

test('d_k is dragged up: without a scale, softmax ends up on one key', { fragment: 'v=1&subject=worked&lens=scale' }, async (explorer) => {
    const [, before] = await agrees(explorer, seededScores(1, 8, 64), seededScales(64));
    await explorer.drag('scale/d', 60, 0.6);
    const d = Number(await explorer.until('a larger d_k', () => explorer.linked('scale.d'), (text) => Number(text) > 256));
    await explorer.settled();
    const [entropy, largest, gradient] = await agrees(explorer, seededScores(1, 8, d), seededScales(d));
    assert.ok(largest[0] > 0.9 && largest[1] < 0.7, `the largest weights ${before} became ${largest}`);
    assert.ok(entropy[2] > entropy[1] && entropy[1] > entropy[0] && gradient[0] < gradient[1]);

    // The curves at 1,024, from the rows of all 32 seeds.
    await complete(explorer);
    const over = await table(explorer, 'Entropy (entropy, nats)');
    const seeds = Array.from({ length: 32 }, (_, i) => seededScores(1 + i, 8, 1024));
    const means = seededScales(1024).map((scale) => sum(seeds.map((scores) => measured(softmax(scores, scale))[0])) / 32);
    near(over.rows[19], means, 2e-6, 'the mean entropy at d_k = 1,024');

    const state = await explorer.state();
    await explorer.page.reload();
    await explorer.started();
    assert.equal((await explorer.state()).fragment, state.fragment);
    await agrees(explorer, seededScores(1, 8, d), seededScales(d));
    await explorer.click('scale/preset/d_k = 512');
    await explorer.until('the preset', () => explorer.linked('scale.d'), (text) => text === '512');
    await explorer.press('Control+z');
    await explorer.until('undo', () => explorer.linked('scale.d'), (text) => text === String(d));
});

test('the histogram counts the seeded pairs beside the exact density', { fragment: 'v=1&subject=worked&lens=scale&scale.d=4' }, async (explorer) => {
    const { rows } = await table(explorer, 'q · k of 2,048 pairs (pairs in a bin)');
    const bins = 41, reach = 8, pairs = 2048, counts = new Array(bins).fill(0);
    for (let pair = 0; pair < pairs; ++pair) {
        const random = new Random(mixed(1, pair));
        let score = 0;
        for (let a = 0; a < 4; ++a) {
            score += random.normal() * random.normal();
        }
        ++counts[Math.min(Math.max(Math.floor((score / reach + 1) / 2 * bins), 0), bins - 1)];
    }
    assert.deepEqual(rows.map(([counted]) => counted), counts);
    // For d = 4 the density is (1 + |x|) e^(−|x|) / 4.
    const below = (x) => 0.5 + Math.sign(x) * (2 - (2 + Math.abs(x)) * Math.exp(-Math.abs(x))) / 4;
    const edge = (bin) => (bin === 0 ? -Infinity : bin === bins ? Infinity : reach * (2 * bin / bins - 1));
    const share = (bin) => (Number.isFinite(edge(bin)) ? below(edge(bin)) : edge(bin) > 0 ? 1 : 0);
    near(rows.map(([, exact]) => exact), counts.map((_, bin) => pairs * (share(bin + 1) - share(bin))), 1e-6, 'expected pairs');

    await explorer.hover('chart/products');
    await explorer.page.mouse.down();
    await explorer.page.mouse.up();
    await explorer.untilState('a bin', ({ pin }) => pin?.[0] === 'scale.histogram.20');
    const why = await explorer.explain('number', 0, 20);
    assert.equal(why.f64, counts[20]);
});

test('a tutorial\'s rows, by keyboard alone, and what is printed there', { fragment: 'v=1&subject=worked&lens=scale' }, async (explorer) => {
    const { page } = explorer;
    const preset = page.getByRole('radio', { name: '2, 0.5, 0.5, 0.5' });
    await preset.focus();
    await preset.press('Enter');
    await explorer.until('the row', () => explorer.linked('scale.row'), (row) => row === '2');
    await explorer.settled();
    const [, largest] = await agrees(explorer, [2, 0.5, 0.5, 0.5], seededScales(64));
    near([largest[0]], [0.599021], 5e-7, 'the tutorial\'s row');

    const first = page.getByRole('grid', { name: 'Weights' }).getByRole('gridcell', { name: '0.60' }).first();
    await first.focus();
    await explorer.settled();
    await page.getByRole('heading', { name: 'Weight of "key 0", no scale' }).waitFor();
    await first.press('Enter');
    await explorer.untilState('the weight to be pinned', ({ pin }) => pin?.[0] === 'scale.weight.0.0');
    const { note, f64 } = await explorer.explain('number', 1, 0);
    assert.equal(note, '“Attention: The Heart of Transformers” prints 0.5; exact is 0.599021.');
    near([f64], [Math.exp(1.5) / (Math.exp(1.5) + 3)], 1e-12, 'f64');

    const d = page.getByRole('slider', { name: 'd_k', exact: true });
    await d.focus();
    await d.press('ArrowRight');
    await explorer.until('the next d_k', () => explorer.linked('scale.d'), (text) => text === '65');
    const own = page.getByRole('slider', { name: 'your own scale' });
    await own.focus();
    await own.press('ArrowRight');
    await explorer.until('a scale of one\'s own', () => explorer.linked('scale.own'), (text) => Number(text) > 0.25);
});

test('a head of one\'s own tensors: its rows with the scale left out and doubled, and where its variance comes from',
    { fragment: 'v=1&subject=tensors&lens=scale' }, async (explorer) => {
        const n = 6, d = 5, random = new Random(5);
        const matrix = () => Array.from({ length: n }, () => Array.from({ length: d }, (_, a) => Math.fround((a + 1) * random.normal())));
        const q = matrix(), k = matrix();
        await explorer.drop(...written({ 'q.npy': npy([n, d], q.flat()), 'k.npy': npy([n, d], k.flat()) }));
        await explorer.until('the tensors', () => explorer.tensors(), ({ open, phase }) => phase === null && open);
        await complete(explorer);
        await explorer.click('scale/vectors/of this head');
        await explorer.until('the head', () => explorer.linked('scale.d'), (text) => text === '64,head');
        await explorer.settled();
        const scales = [1 / Math.sqrt(d), 1, 2 / Math.sqrt(d), 0.25];
        const scores = (query) => k.map((key) => dot(q[query], key));
        await agrees(explorer, scores(n - 1), scales);
        await explorer.click('scale/query/less');
        await explorer.untilState('another query', ({ query }) => query === n - 2);
        await explorer.settled();
        const [, , gradient] = await agrees(explorer, scores(n - 2), scales);
        assert.ok(gradient[1] < gradient[0], 'without its scale, less of a gradient passes');

        await complete(explorer);
        const own = await table(explorer, 'Variance of each component’s product (variance of q_a k_a)');
        const grown = await table(explorer, 'Variance over the first components (variance of q · k)');
        const pairs = q.flatMap((row) => k.map((key) => row.map((x, a) => x * key[a])));
        near(own.rows.map(([each]) => each), pairs[0].map((_, a) => variance(pairs.map((each) => each[a]))), 1e-3, 'each component');
        near(grown.rows.map(([first]) => first), pairs[0].map((_, a) => variance(pairs.map((each) => sum(each.slice(0, a + 1))))), 1e-3, 'the sum');

        // A score explains itself down to q and k.
        await explorer.click('scale/row/1/0');
        const { pin } = await explorer.untilState('a weight', (state) => state.pin?.[0].startsWith('scale.weight.1.'));
        const { operands, f64 } = await explorer.explained(pin[0]);
        const key = Number(pin[0].split('.')[3]);
        near(operands.map(([left, right]) => [left, right]), q[n - 2].map((x, a) => [x, k[key][a]]), 0, 'operands');
        near([f64], [softmax(scores(n - 2), 1)[key]], 1e-12, 'f64');
    });

test('a head with NaN says so, and the view stays', { fragment: 'v=1&subject=tensors&lens=scale&scale.d=64,head' }, async (explorer) => {
    const q = [1, 2, 3, 4, 5, 6], k = [NaN, 1, 2, 3, 4, 5];
    await explorer.drop(...written({ 'q.npy': npy([3, 2], q), 'k.npy': npy([3, 2], k) }));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open, phase }) => phase === null && open);
    await complete(explorer);
    await explorer.page.getByText('Left out: 3 scores that are NaN or infinite.').waitFor({ state: 'attached' });
    await explorer.page.getByText('A score of this row is NaN, so its weights are NaN, too.').waitFor({ state: 'attached' });
    await explorer.until('the histogram', () => explorer.rect('chart/products'));
});
