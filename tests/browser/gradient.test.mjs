// Tests lens Gradient: every gradient of an output's loss against central differences of the test's own
// attention.
import assert from 'node:assert/strict';
import { tiny } from './lib/models.mjs';
import { attention, multiply, near } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

const cats = [[1, 0.5, 0.2, 0.8], [0.3, 0.9, 0.1, 0.4], [0.6, 0.2, 0.7, 0.3]];
const identity = cats[0].map((_, r) => cats[0].map((__, c) => Number(r === c)));
const h = 1e-5;  // for a central difference, which is off by about its square, and by 1e-16 / h
const exact = 1e-8, single = 1e-5;

// The order in which older links count them.
const slopes = ['output', 'weight', 'masked', 'raw', 'q', 'k', 'v', 'x', 'w_q', 'w_k', 'w_v', 'jacobian'];
const slope = (explorer, of, row, col) => explorer.explain('number', row, slopes.indexOf(of) + slopes.length * col);

// Compares the gradient with the derivative of `loss`, a function of the inputs, at every number of one of
// them.
async function agrees(explorer, loss, inputs, of, rows = inputs[of].keys()) {
    for (const row of rows) {
        for (const col of inputs[of][row].keys()) {
            const at = (by) => loss({ ...inputs, [of]: inputs[of].map((line, r) => line.map((x, c) => x + (r === row && c === col ? by : 0))) });
            const expected = (at(h) - at(-h)) / (2 * h), { f32, f64 } = await slope(explorer, of, row, col);
            near([f64], [expected], exact, `∂L/∂${of}[${row}, ${col}]`);
            near([f32], [expected], single, `∂L/∂${of}[${row}, ${col}] in f32`);
        }
    }
}

// Opens the lens on a model's text, with its most likely next word as the objective.
async function asksForTheNextWord(explorer) {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('lens/gradient');
    await explorer.settled();
    await explorer.click('gradient/preset/next');
    await explorer.untilState('the sentence', ({ spoken }) => spoken.startsWith('To raise the logit of '));
}

const distance = (a, b) => a.reduce((sum, x, i) => sum + (x - b[i]) ** 2 / 2, 0);

test('a step along the gradient raises the component that it is asked for, as its slope says', { fragment: 'v=1&lens=gradient' }, async (explorer) => {
    assert.match((await explorer.state()).spoken, /^To raise component 0 of the output of “mat”, attend more to “cat” and less to “sat”\. ∂L\/∂S is 0\.\d+ for “cat”/);
    const output = ({ x, w_q, w_k, w_v }) => attention({ q: multiply(x, w_q), k: multiply(x, w_k), v: multiply(x, w_v) }).output;
    const inputs = { x: cats, w_q: identity, w_k: identity, w_v: identity };
    for (const of of ['x', 'w_q', 'w_k', 'w_v']) {
        await agrees(explorer, (all) => output(all)[2][0], inputs, of);
    }
    const before = (await explorer.matrix('output'))[2][0];
    await explorer.click('gradient/step');
    const after = await explorer.until('the output to rise', async () => (await explorer.matrix('output'))[2][0], (now) => now > before);
    assert.equal((await explorer.state()).last_edit, 'a step along the gradient');
    assert.ok(after > before + 0.1, `a step of 0.5 along slopes of about 1 takes ${before} to ${after}`);
    await explorer.press('Control+Z');
    await explorer.until('the output as it was', async () => (await explorer.matrix('output'))[2][0], (now) => now === before);
});

test('a slope explains itself, is found again by moving what it belongs to, and leads on and back', { fragment: 'v=1&lens=gradient' }, async (explorer) => {
    await explorer.hover('gradient/dS/0/1');
    await explorer.untilState('the inspector to show it', ({ shown }) => shown?.[0] === 'gradient.derivative.score.2.1');
    await explorer.click('gradient/dQ/0/3');
    await explorer.untilState('the pin', ({ pin }) => pin?.[0] === 'gradient.derivative.query.2.3');
    const pinned = (await explorer.state()).fragment;
    await explorer.page.mouse.move(2, 2);
    await explorer.click('inspector/operand/0/right');
    await explorer.untilState('the key', ({ pin }) => pin?.slice(0, 3).join() === 'K,0,3');
    await explorer.click('inspector/back');
    await explorer.untilState('the way back', ({ lens, fragment }) => lens === 'gradient' && fragment === pinned);
    await explorer.press('Escape');
    await explorer.untilState('nothing to be pinned', ({ pin }) => !pin);
    await explorer.visit(pinned);
    await explorer.untilState('what was pinned', ({ pin }) => pin?.[0] === 'gradient.derivative.query.2.3');
});

test('on tensors with a causal mask: the gradient of a distance', { fragment: 'v=1&subject=tensors&lens=gradient&rule=causal&query=2&gradient.loss=value,1' }, async (explorer) => {
    const q = [[1, 0], [0, 2], [1, 1]], k = [[1, 1], [2, 0], [0, 1]], v = [[1, 2], [2, 0], [3, -1]];
    await explorer.drop(...written({ 'q.npy': npy([3, 2], q.flat()), 'k.npy': npy([3, 2], k.flat()), 'v.npy': npy([3, 2], v.flat()) }));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open, phase }) => open && phase === null);
    await explorer.click('lens/gradient');
    await explorer.click('gradient/loss/come near a value');
    await explorer.until('the loss', () => explorer.linked('gradient.loss'), (loss) => loss?.startsWith('value'));
    const { spoken } = await explorer.state();
    assert.match(spoken, /^To bring the output of query 2 nearer to the value of key \d/);
    const target = Number((await explorer.linked('gradient.loss')).split(',')[1]);
    const loss = (all) => distance(attention({ ...all, allowed: (i, j) => j <= i }).output[2], all.v[target]);
    for (const of of ['q', 'k', 'v']) {
        await agrees(explorer, loss, { q, k, v }, of, of === 'q' ? [2] : undefined);
    }
    assert.equal(await explorer.rect('gradient/step'), undefined);
});

test('in a sentence: back from the next word, above another, and the model run again to check', async (explorer) => {
    await asksForTheNextWord(explorer);
    const logits = await explorer.logits(), likeliest = logits.indexOf(Math.max(...logits));
    await explorer.click('gradient/over');
    const other = Number((await explorer.until('the tokens', async () => Object.keys(await explorer.landmarks()).find((name) => /^gradient\/over\/\d+$/.test(name)))).split('/')[2]);
    await explorer.click(`gradient/over/${other}`);
    await explorer.until('the loss', () => explorer.linked('gradient.loss'), (loss) => loss === `logit,${likeliest},${other}`);
    await explorer.settled();
    await explorer.reveal('gradient/rerun');
    for (const query of [tiny.ids.length - 1, 1]) {
        await explorer.visit(`${(await explorer.state()).fragment.replace(/&query=\d+/, '')}&query=${query}`);
        await explorer.untilState('the query', (state) => state.query === query);
        await explorer.until('the model to be run again', () => slope(explorer, 'output', query, 1), (why) => why?.note.includes(' says '));
        const { f32, f64, operands, note } = await slope(explorer, 'output', query, 1);
        near([f32], [f64], single, 'the slope in f32');
        near([operands.reduce((sum, [, , product]) => sum + product, 0)], [f64], exact, 'its operands');
        // Logits of some tens are off by 1e-5 in f32, and their difference by that over 2/128.
        near([Number(/ says ([-−]?[\d.]+)/.exec(note)[1].replace('−', '-'))], [f64], 2e-3, 'what the model says');
    }
});

test('in a sentence a step adds to the query’s q, and the logit grows by what the slope says', async (explorer) => {
    await asksForTheNextWord(explorer);
    const before = await explorer.logits(), likeliest = before.indexOf(Math.max(...before)), query = tiny.ids.length - 1;
    let squares = 0;
    for (let a = 0, why; (why = await slope(explorer, 'q', query, a)); ++a) {
        squares += why.f64 ** 2;
    }
    assert.ok(squares > 0);
    const rate = Math.min(0.02 / squares, 10000);
    await explorer.visit(`${(await explorer.state()).fragment}&gradient.rate=${rate}`);
    await explorer.until('the rate', () => explorer.linked('gradient.rate'));
    await explorer.settled();
    await explorer.click('gradient/step');
    await explorer.until('the change', () => explorer.rect('changed/0'));
    const after = await explorer.until('the model to go on', () => explorer.logits(), (logits) => logits && logits[likeliest] !== before[likeliest]);
    // Second-order terms are a fiftieth; logits of some units are off by 1e-6 in f32.
    near([after[likeliest] - before[likeliest]], [rate * squares], 0.1 * rate * squares + 4e-6, 'what the step brings');
    assert.match(await explorer.linked('changes'), new RegExp(`^q,0,0,${query},,add,_`));
    await explorer.press('Control+z');
    await explorer.until('the run before', () => explorer.logits(), (logits) => logits?.[likeliest] === before[likeliest]);
    await explorer.until('the change to go', () => explorer.rect('changed/0'), (shown) => !shown);
});

test('with the keyboard alone: in a sentence another query is asked, and a slope is pinned', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('lens/gradient');
    await explorer.settled();
    const { page } = explorer;
    await page.getByRole('spinbutton', { name: 'output of' }).focus();
    await page.keyboard.press('ArrowDown');
    await explorer.untilState('the query before', ({ query }) => query === tiny.ids.length - 2);
    const grid = page.getByRole('grid', { name: /^∂L\/∂K/ });
    await grid.getByRole('gridcell').first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await explorer.untilState('the pin', ({ pin }) => pin?.[0] === 'gradient.derivative.key.0.1');
    const { f32, f64, operands } = await slope(explorer, 'k', 0, 1);
    near([f32], [f64], single, 'in f32');
    near([operands[0][2]], [f64], 1e-15, 'its operands');
    assert.deepEqual(await explorer.notices('error'), []);
});
