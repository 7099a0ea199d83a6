// Tests Softmax: the temperature of a row, its numbers against formulas, and the other maps of the same
// scores.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { tiny } from './lib/models.mjs';
import { near as allNear } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';

const own = { number: 0, weight: 10, measure: 20, output: 30, head: 60 };  // rows of the lens's cells
const [energy, entropy, keys, free, capacity] = [0, 1, 2, 3, 4], dial = 1, peak = 2;

const near = (actual, expected, tolerance, what) => allNear([actual], [expected], tolerance, what);
const sum = (list) => list.reduce((all, each) => all + each, 0);

// The Gibbs distribution of scores at a temperature, term by term.
function gibbs(scores, t) {
    const most = Math.max(...scores), factors = scores.map((s) => Math.exp((s - most) / t)), z = sum(factors);
    const p = factors.map((each) => each / z), mean = -sum(scores.map((s, j) => p[j] * s)), s = -sum(p.map((each) => each && each * Math.log(each)));
    return [mean, s, Math.exp(s), -most - t * Math.log(z), sum(scores.map((each, j) => p[j] * ((-each - mean) / t) ** 2))];
}

// Clicks an item that may have to scroll into view first, once scrolling is over.
async function press(explorer, name) {
    await explorer.reveal(name);
    await explorer.settled();
    await explorer.click(name);
}

const told = (explorer, row, column) => explorer.explain('number', row, column);
const temperature = async (explorer) => Number(await explorer.linked('softmax.t') ?? 1);

async function agrees(explorer, scores, tolerance) {
    await explorer.settled();
    const t = await temperature(explorer), expected = gibbs(scores, t);
    for (const number of [energy, entropy, keys, free, capacity]) {
        const { f32, f64 } = await told(explorer, own.number + number, dial);
        near(f64, expected[number], tolerance * (1 + Math.abs(expected[number])), `number ${number} at T = ${t}`);
        near(f32, f64, 2e-5 * (1 + Math.abs(f64)), `number ${number} in f32`);
    }
}

test('Softmax: the temperature is dragged on its slider and on a curve, and the example’s numbers follow', { fragment: 'v=1&lens=softmax' }, async (explorer) => {
    const row = (await explorer.matrix('scaled')).at(-1);
    await agrees(explorer, row, 1e-7);
    await explorer.drag('softmax/t', -40);
    await explorer.settled();
    const cold = await explorer.until('a lower temperature', () => temperature(explorer), (t) => t < 1);
    await agrees(explorer, row, 1e-6);
    await explorer.reveal('chart/softmax-capacity');
    await explorer.settled();
    const { left, right, y } = await explorer.rect('chart/softmax-capacity');
    await explorer.page.mouse.click(left + (right - left) / 2, y);
    await explorer.until('the temperature of the place', () => temperature(explorer), (t) => Math.abs(Math.log(t)) < 0.05 && t !== cold);
    await agrees(explorer, row, 1e-6);
    await press(explorer, 'softmax/peak');
    await explorer.until('the peak', () => explorer.linked('softmax.t'), (t) => t !== undefined && Math.abs(Number(t) - 1) > 0.2);
    await agrees(explorer, row, 1e-6);
    // No temperature near the peak has a larger heat capacity.
    const t = await temperature(explorer), { f64: top } = await told(explorer, capacity, peak);
    for (const other of [0.9, 0.99, 1.01, 1.1]) {
        assert.ok(gibbs(row, t * other)[capacity] <= top * (1 + 1e-6), `C at ${other} of the peak’s temperature`);
    }
    const { spoken, fragment } = await explorer.state();
    assert.match(spoken, /^At T = [\d.]+, “mat” uses [\d.]+ of the 3 keys that it may see\.$/);
    await explorer.visit('v=1&lens=scale');
    await explorer.untilState('another lens', ({ lens }) => lens === 'scale');
    await explorer.visit(fragment);
    await explorer.untilState('the link', ({ lens }) => lens === 'softmax');
    await explorer.settled();
    const again = await explorer.state();
    assert.deepEqual([again.fragment, again.spoken], [fragment, spoken], 'the link opens it as it was');
    await press(explorer, 'softmax/zero');
    await explorer.until('the limit', () => explorer.linked('softmax.t'), (link) => link === '0');
    near((await told(explorer, keys, dial)).f64, 1, 1e-12);
    await press(explorer, 'softmax/infinity');
    await explorer.until('the other limit', () => explorer.linked('softmax.t'), (link) => link === 'inf');
    near((await told(explorer, keys, dial)).f64, 3, 1e-12);
});

test('Softmax: a model’s head, query by query, and what stands in softmax’s place', { fragment: 'v=1&lens=softmax' }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.dismiss();  // the model's notice covers the heads
    await explorer.click('lens/softmax');
    await explorer.untilState('the lens', ({ subject, lens }) => subject === 'sentence' && lens === 'softmax');
    await explorer.settled();
    const [layer, head, query] = [1, 2, tiny.ids.length - 2];
    await press(explorer, `softmax/head/${layer}/${head}`);
    await explorer.untilState('the head', (state) => state.layer === layer && state.head === head);
    await press(explorer, 'softmax/query/less');
    await explorer.untilState('the query', (state) => state.query === query);
    await explorer.settled();
    // The golden weights give the scores up to a constant.
    const weights = tiny.attention[layer][head][query].slice(0, query + 1), scores = weights.map(Math.log);
    const t = 0.5, [, s, e] = gibbs(scores, t);
    await explorer.visit(`${(await explorer.state()).fragment}&softmax.t=${t}`);
    await explorer.until('the temperature', () => temperature(explorer), (now) => now === t);
    await explorer.settled();
    near((await told(explorer, entropy, dial)).f64, s, 1e-4);
    near((await told(explorer, keys, dial)).f64, e, 1e-4);
    // Sparsemax by bisection of its threshold.
    let [low, high] = [Math.min(...scores) / t - 1, Math.max(...scores) / t];
    for (let i = 0; i < 80; ++i) {
        const middle = (low + high) / 2;
        [low, high] = sum(scores.map((each) => Math.max(each / t - middle, 0))) > 1 ? [middle, high] : [low, middle];
    }
    for (const [key, score] of scores.entries()) {
        near((await told(explorer, own.weight + 2, key)).f64, Math.max(score / t - low, 0), 1e-4, `sparsemax of key ${key}`);
    }
    // The grid of heads: the mean over all queries of e^S over the visible keys.
    const shares = tiny.attention[0][1].map((row, i) => gibbs(row.slice(0, i + 1).map(Math.log), t)[keys] / (i + 1));
    near((await told(explorer, own.head, 1)).f32, sum(shares) / shares.length, 1e-4, 'the share of a head');
    // A weight leads to its score, and Back returns.
    await press(explorer, 'softmax/weight/0/0');
    const { pin } = await explorer.untilState('the weight', (state) => state.pin?.[0] === 'softmax.weight.softmax.0');
    await explorer.click('inspector/step/0');
    await explorer.untilState('the score', (state) => !state.pin?.[0].startsWith('softmax') && state.lens !== 'softmax');
    await explorer.click('inspector/back');
    await explorer.untilState('the weight again', (state) => state.lens === 'softmax' && JSON.stringify(state.pin) === JSON.stringify(pin));
});

test('Softmax with the keyboard alone: every control has the focus and answers', { fragment: 'v=1&lens=softmax' }, async (explorer) => {
    await explorer.settled();
    await explorer.focus('slider', 'temperature T');
    await explorer.press('ArrowDown');
    await explorer.until('a lower temperature', () => temperature(explorer), (t) => t < 1);
    await explorer.enter('button', 'T → ∞');
    await explorer.until('the limit', () => explorer.linked('softmax.t'), (link) => link === 'inf');
    await explorer.enter('button', 'T = 1');
    await explorer.until('the head as it is', () => explorer.linked('softmax.t'), (link) => link === undefined);
    await explorer.focus('slider', 'Heat capacity');
    await explorer.press('ArrowUp');
    await explorer.until('a higher temperature', () => temperature(explorer), (t) => t > 1);
    await explorer.focus('spinbutton', 'query');
    await explorer.press('ArrowDown');
    await explorer.untilState('the query before', ({ query }) => query === 1);
    await explorer.enter('radio', 'outputs');
    await explorer.until('the outputs', () => explorer.linked('softmax.shown'), (link) => link === 'outputs');
});

test('a chart is read as a table, and a table is saved', { fragment: 'v=1&lens=softmax' }, async (explorer) => {
    const { page } = explorer;
    await explorer.settled();
    await page.click('#table');
    await page.selectOption('#table-choice', { label: 'Mean and free energy (energy, in units of the scores)' });
    assert.deepEqual(await page.locator('#table-view thead th').allTextContents(), ['⟨E⟩', 'F']);
    const [saved] = await Promise.all([page.waitForEvent('download'), page.click('#table-save')]);
    assert.equal(saved.suggestedFilename(), 'mean-and-free-energy-energy-in-units-of-the-scores.csv');
    const lines = readFileSync(await saved.path(), 'utf8').trim().split('\r\n');
    assert.equal(lines[0], ',"⟨E⟩","F"');
    assert.equal(lines.length, 1 + await page.locator('#table-view tbody tr').count());
});
