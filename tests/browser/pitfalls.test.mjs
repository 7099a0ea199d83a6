// Tests Pitfalls: a forgotten scale against softmaxes of one's own, a mistake that no map shows, undo and links; a network
// that learns with a mistake, chosen by keyboard; and the same on a phone.
import assert from 'node:assert/strict';
import { tiny } from './lib/models.mjs';
import { phone, test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

const queries = [0.3, -1, 2, 0.5], keys = [1, 0.25, -0.5, 2], values = [0.1, 0.7, -0.3, 0.4];
const files = {
    'q.npy': npy([1, 2, 2], queries), 'k.npy': npy([1, 2, 2], keys), 'v.npy': npy([1, 2, 2], values),
};

async function open(explorer, settings = '') {
    await explorer.visit(`v=1&subject=tensors&lens=pitfalls${settings}`);
    await explorer.drop(...written(files));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open: given, phase }) => given && phase === null);
    await explorer.untilState('the lens', ({ lens, spoken }) => lens === 'pitfalls' && spoken !== '');
    await explorer.idle();
}
const linked = (explorer, key, value) => explorer.until(`${key} ${value}`, () => explorer.linked(key), (now) => now === value);

test('Pitfalls: a forgotten scale changes what softmaxes of one’s own say, and undo takes it back', async (explorer) => {
    await open(explorer);
    const number = async (...cell) => Number((await explorer.explained(['pitfalls', ...cell].join('.'))).f64);
    const weights = (query, scale) => {
        const scores = [0, 1].map((key) => scale * (queries[2 * query] * keys[2 * key] + queries[2 * query + 1] * keys[2 * key + 1]));
        const sum = Math.exp(scores[0]) + Math.exp(scores[1]);
        return scores.map((score) => Math.exp(score) / sum);
    };
    for (const query of [0, 1]) {
        for (const key of [0, 1]) {
            // The inputs are f32; the rest is double on both sides.
            assert.ok(Math.abs(await number('weight', 'right', query, key) - weights(query, Math.SQRT1_2)[key]) < 1e-7);
            assert.ok(Math.abs(await number('weight', 'mistaken', query, key) - weights(query, 1)[key]) < 1e-7);
        }
    }
    assert.match((await explorer.state()).spoken, /^Scores not scaled: weights of .+ change by up to 0\.\d\d\./);
    await explorer.click('pitfalls/try/mask');
    await explorer.untilState('a mistake without a mask', ({ spoken }) => spoken.includes('this head cannot make that mistake'));
    await linked(explorer, 'pitfalls.mistake', 'mask_after_softmax');
    await explorer.press('Control+Z');
    await linked(explorer, 'pitfalls.mistake', undefined);
    await explorer.untilState('the scale', ({ spoken }) => spoken.startsWith('Scores not scaled: '));
});

test('Pitfalls: a network learns with a mistake, which the keyboard chooses, beside the right one', { limit: 400_000 }, async (explorer) => {
    await open(explorer, '&pitfalls.mistake=base_2_exponential');
    await explorer.enter('radio', 'with it');
    await linked(explorer, 'pitfalls.train', 'chosen');
    await explorer.untilState('a step on the way', ({ spoken }) => /^Base-2 .+: step \d+ of 600, [\d.]+ nats; right [\d.]+\./.test(spoken));
    await explorer.idle();
    const { spoken } = await explorer.state();
    assert.match(spoken, /^Base-2 exponential without log₂ e: the network still learns, 0\.\d+ nats; right 0\.\d+\./);
    const number = async (...cell) => Number((await explorer.explained(['pitfalls', 'learned', ...cell].join('.'))).f64);
    assert.ok(await number('right', 'predicted') > 0.9);
    assert.ok(await number('base_2_exponential', 'predicted') > 0.9);
    // Undo shows what was before; what has been learned stays.
    const loss = await number('base_2_exponential', 'loss');
    await explorer.press('Control+Z');
    await linked(explorer, 'pitfalls.train', undefined);
    await explorer.untilState('the head again', ({ spoken: now }) => /^Base-2 exponential without log₂ e: weights of /.test(now));
    assert.equal(await number('base_2_exponential', 'loss'), loss);
});

test('Pitfalls on a phone: a finger makes a mistake, and its weights are beside the right ones', { context: phone }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const { fragment } = await explorer.state();
    await explorer.visit(`${fragment}&lens=pitfalls&pitfalls.mistake=causal_missing`);
    await explorer.untilState('the lens', ({ lens, spoken }) => lens === 'pitfalls' && spoken.startsWith('Causal mask left out: '));
    await explorer.idle();
    assert.ok(await explorer.rect('pitfalls/effects/0/0'));
});
