// Tests Yours: its example's verdict, a case dropped as .npy files, undo, the case of hard inputs, and a phone.
import assert from 'node:assert/strict';
import { phone, test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

// One head of two queries and three keys.
const q = [1, 0, 0, 1, 2, -1, 0.5, 1], k = [1, 2, 0, 1, 0, 1, -1, 0, 2, 0, 1, 1], v = [1, 0, 0, 2, -1, 1];

/** The output with a scale, by hand. */
function output(scale) {
    return [0, 1].flatMap((query) => {
        const weights = [0, 1, 2].map((key) => Math.exp(scale * [0, 1, 2, 3].reduce((sum, a) => sum + q[4 * query + a] * k[4 * key + a], 0)));
        const all = weights.reduce((sum, weight) => sum + weight);
        return [0, 1].map((column) => weights.reduce((sum, weight, key) => sum + weight / all * v[2 * key + column], 0));
    });
}
const files = (scale) => written({
    'q.npy': npy([2, 4], q), 'k.npy': npy([3, 4], k), 'v.npy': npy([3, 2], v), 'output.npy': npy([2, 2], output(scale)),
});
const says = (explorer, what, pattern) => explorer.untilState(what, ({ lens, spoken }) => lens === 'yours' && pattern.test(spoken));

test('Yours: the example names its mistake, and another one is chosen and undone', async (explorer) => {
    await explorer.visit('v=1&subject=worked&lens=yours');
    await says(explorer, 'the example', /Cause: Heads merged without a transpose\./);
    await explorer.click('yours/try/mask_after_softmax');
    await says(explorer, 'another mistake', /Cause: Mask applied after the softmax\./);
    assert.equal(await explorer.linked('yours.example'), 'mask_after_softmax');
    await explorer.press('Control+z');
    await says(explorer, 'the first again', /Cause: Heads merged/);
    const { f64 } = await explorer.explained('yours.output.difference.5.3');
    assert.ok(Number.isFinite(Number(f64)));
});

test('Yours: a dropped case is named or found right, and a broken one leaves it there', async (explorer) => {
    await explorer.visit('v=1&subject=worked&lens=yours');
    await says(explorer, 'the example', /Cause: /);
    await explorer.drop(...files(1));
    await says(explorer, 'the verdict', /Cause: Scores not scaled\./);
    assert.ok(Math.abs(Number((await explorer.explained('yours.output.right.1.0')).f64) - output(0.5)[2]) < 1e-7);
    await explorer.drop(...written({ 'q.npy': npy([2, 4], q), 'k.npy': npy([3, 3], k.slice(0, 9)), 'v.npy': npy([3, 2], v), 'output.npy': npy([2, 2], output(1)) }));
    await explorer.untilNotice(/widths d_k of q and k disagree/, 'error');
    await explorer.until('the case before', () => explorer.state(), ({ spoken }) => /Cause: Scores not scaled\./.test(spoken));
    await explorer.drop(...files(0.5));
    await says(explorer, 'the right result', /^This result is right, up to rounding in f32\./);
    await explorer.press('Control+z');
    await says(explorer, 'the example or the case before', /Cause: |^This link/);
});

test('Yours: a phone shows the verdict and the difference', { context: phone }, async (explorer) => {
    await explorer.visit('v=1&subject=worked&lens=yours&yours.example=kv_heads_tiled');
    await says(explorer, 'the verdict', /Cause: Grouped heads tiled\./);
    assert.ok(await explorer.rect('card/yours/difference'));
});
