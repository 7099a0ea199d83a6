// Tests every lens about one head's mechanism on a network during training: its numbers against the head's
// own weights, and that changes made there come back from their link.
import assert from 'node:assert/strict';
import { near } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';

const step = 6, n = 16, last = n - 1;
const fragment = `v=1&subject=training&lens=curves&train=induction,layers:1,heads:2,d:16,context:16,batch:2,steps:400&step=${step}`;
const single = 1e-5;  // sums of some products around 1, by kernels in f32

const number = (explorer, row, column) => explorer.explained('number', row, column, 0, 0);
const sum = (list) => list.reduce((all, each) => all + each, 0);
const exact = async (explorer, row, column) => {
    const why = await number(explorer, row, column);
    assert.ok(why, `there is a number ${row}, ${column}`);
    return why.f64;
};

// Columns and rows of the lenses' numbers are defined in the headers in web/lenses.
const lenses = {
    scale: { keys: 'scale.d=64,head', async agrees(explorer, weights) {
        for (const [key, weight] of weights[last].entries()) {
            near([await exact(explorer, 1, 4 * key)], [weight], single, `weight ${key} with the head's own scale`);
        }
    } },
    masks: { keys: 'masks.mask=window(0,0)', async agrees(explorer, weights) {
        for (const query of [0, 7, last]) {
            const lost = sum(weights[query]) - weights[query][query];
            near([await exact(explorer, query, 900002)], [lost], single, `what query ${query} loses`);
        }
    } },
    softmax: { keys: 'softmax.t=1', async agrees(explorer, weights) {
        const entropy = -sum(weights[last].map((w) => (w > 0 ? w * Math.log(w) : 0)));
        near([await exact(explorer, 1, 1)], [entropy], 1e-4, 'the entropy of the last row');
    } },
    gradient: { keys: 'gradient.loss=component,3', async agrees(explorer, weights) {
        const slopes = 12, v = 6;  // ∂L/∂V[j, 3] is the weight of j
        for (const [key, weight] of weights[last].entries()) {
            near([await exact(explorer, key, v + slopes * 3)], [weight], single, `the slope of value ${key}`);
        }
    } },
    inverse: { keys: `inverse.wish=${last}.2:0.5`, async agrees(explorer) {
        const row = [];
        for (let key = 0; key < n; ++key) {
            row.push(await exact(explorer, last, 12 * key));
        }
        near([row[2], sum(row)], [0.5, 1], 1e-6, 'the weight that was wished for, and its row');
        assert.match((await explorer.state()).spoken, /^Once q changes by /);
    } },
    order: { keys: 'order.tokens=3,1,0,2,4,5,6,7,8,9,10,11', async agrees(explorer) {
        const { spoken } = await explorer.state();
        assert.match(spoken, /^Without .*every output moved along with its token/);
        for (const token of [0, 1, 2, 3]) {
            near([(await number(explorer, 2, token)).f32], [0], single, `how far the output of token ${token} is off`);
        }
    } },
    tiles: { keys: 'tiles.size=16,16', async agrees(explorer, weights) {
        for (const b of [0, 1]) {
            const values = await Promise.all(weights[last].map(async (_, key) => (await explorer.explain('v', key, b)).f64));
            const output = sum(weights[last].map((w, key) => w * values[key]));
            near([await exact(explorer, last, 9 * 65536 + b)], [output], single, `component ${b} of the output`);
        }
    } },
    geometry: { keys: 'geometry.part=gauge&geometry.gauge=rotation,0.5,0,1,0', async agrees(explorer) {
        for (const key of [last, last - 1]) {
            const raw = (await explorer.explain('raw', last, key)).f64;
            near([await exact(explorer, last, 16 + 23 * key)], [raw], single * (1 + Math.abs(raw)), 'a score that the rotation leaves');
        }
    } },
    memory: { keys: 'memory.plane=query', async agrees(explorer, weights) {
        for (const [key, weight] of weights[last].entries()) {
            near([await exact(explorer, 10001, key)], [weight], single, `weight ${key} of the first step`);
        }
    } },
};

for (const [lens, { keys, agrees }] of Object.entries(lenses)) {
    test(`${lens} on a network in training shows that network's head, and its link does again`, { fragment }, async (explorer) => {
        await explorer.until(`step ${step}`, () => explorer.training(), (run) => run?.shown === step);
        await explorer.click(`lens/${lens}`);
        await explorer.untilState('the lens', (state) => state.lens === lens && state.subject === 'training');
        await explorer.settled();
        assert.equal(await explorer.rect('missing'), undefined);
        const { fragment: link } = await explorer.state();
        const asked = `${link.split('&').filter((part) => !part.startsWith(`${lens}.`)).join('&')}&${keys}`;
        await explorer.visit(asked);
        await explorer.settled();
        const { layer, head, spoken } = await explorer.state();
        const weights = await explorer.attention(layer, head);
        assert.equal(weights.length, n);
        assert.match(spoken, /^[^\n]{20,300}\.$/);
        await agrees(explorer, weights);

        await explorer.click('lens/curves');
        await explorer.untilState('the curves', (state) => state.lens === 'curves');
        await explorer.visit(asked);
        await explorer.untilState('what was said', (state) => state.lens === lens && state.spoken === spoken);
        await agrees(explorer, weights);
        assert.deepEqual(await explorer.notices('error'), []);
    });
}
