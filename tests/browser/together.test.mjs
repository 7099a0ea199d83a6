// Tests Heads: the shapes of a model, what each head writes, how similar heads are, and what a smaller cache
// costs, against numbers computed here from the run's own numbers and from the weights in its file.
import assert from 'node:assert/strict';
import { bundled } from './lib/bundled.mjs';
import { family, tiny } from './lib/models.mjs';
import { near as allNear } from './lib/numbers.mjs';
import { skip, test } from './lib/suite.mjs';

const own = { shape: 0, written: 1000, norm: 2000, share: 3000, off: 4000, maps: 5000, outputs: 6000, role: 7000, sharing: 8000, latent: 9000 };
const measure = { numbers: 0, bytes: 1, loss: 2, change: 3, moved: 4 };
const near = (actual, expected, tolerance, what) => allNear([actual], [expected], tolerance, what);
const sum = (list) => list.reduce((all, each) => all + each, 0);
const told = (explorer, row, column) => explorer.explain('number', row, column);
const part = (explorer, name) => explorer.until(`the part ${name}`, () => explorer.linked('heads.part'), (now) => now === name);

async function press(explorer, name) {
    await explorer.reveal(name);
    await explorer.settled();
    await explorer.click(name);
    await explorer.settled();
}

async function open(explorer, { folder, text }) {
    await explorer.openModel(folder, text);
    await explorer.dismiss();
    await explorer.click('lens/heads');
    await explorer.untilState('the lens', ({ lens }) => lens === 'heads');
    await explorer.settled();
}

// 1 − the mean of √JSD, in bits, over the rows that see two keys or more.
function alike(one, other) {
    const entropy = (row) => sum(row.filter((w) => w > 0).map((w) => -w * Math.log2(w)));
    const distances = one.slice(1).map((p, i) => {
        const q = other[i + 1];
        return Math.sqrt(Math.max(0, entropy(p.map((w, j) => (w + q[j]) / 2)) - (entropy(p) + entropy(q)) / 2));
    });
    return 1 - sum(distances) / distances.length;
}

test('Heads: from x down to what the attention writes, and how alike heads look', async (explorer) => {
    await open(explorer, tiny);
    const n = tiny.ids.length, [heads] = [tiny.attention[0].length];
    assert.match((await explorer.state()).spoken, new RegExp(`^${n} tokens of \\d+ numbers go through ${heads} heads of \\d+, each with a map of its own\\. `));
    near((await told(explorer, own.shape + 7, 0)).f64, heads * n * n, 0, 'the numbers of all maps');
    await press(explorer, 'heads/shape/7');
    await explorer.untilState('the pin', ({ pin }) => pin?.[0] === 'heads.shape.weights.elements');
    // The heads' outputs add up, for another token, too, and the link reopens it in the same state.
    await press(explorer, 'heads/part/what each writes');
    await part(explorer, 'writes');
    await press(explorer, 'heads/query/less');
    await explorer.untilState('the token before', ({ query }) => query === n - 2);
    await explorer.settled();
    const shares = [];
    for (let i = 0; i <= heads; ++i) {
        shares.push((await told(explorer, own.share + i, 0)).f64);
    }
    near(sum(shares), 1, 1e-5, 'the shares of heads and bias');
    let together = 0;
    for (let i = 0; i <= heads; ++i) {
        together += (await told(explorer, own.written + i, 3)).f64;
    }
    near(together, (await told(explorer, own.written + heads + 2, 3)).f64, 1e-5, 'the sum of what they write');
    const { fragment, spoken } = await explorer.state();
    await explorer.visit('v=1&lens=scale');
    await explorer.untilState('another lens', ({ lens }) => lens === 'scale');
    await explorer.visit(fragment);
    await explorer.untilState('the lens', ({ lens }) => lens === 'heads');
    await explorer.settled();
    assert.equal((await explorer.state()).spoken, spoken, 'the link opens it as it was');
    // Similarity from the golden weights; undo goes back.
    await press(explorer, 'heads/part/how alike');
    await part(explorer, 'alike');
    const { layer } = await explorer.state();
    near((await told(explorer, own.maps, 1)).f64, alike(tiny.attention[layer][0], tiny.attention[layer][1]), 1e-4, 'how alike heads 0 and 1 look');
    await explorer.press('Control+Z');
    await part(explorer, 'writes');
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Heads: one head of keys and values, and a latent, in the model that comes with the page', { fragment: 'v=1&subject=sentence&text=The%20animal%20didn%27t%20cross%20the%20street%20because%20it%20was%20too%20tired.%20It&model=storyteller&lens=heads' }, async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    await explorer.untilState('the storyteller', ({ model, tokens }) => model === 'storyteller' && tokens > 0);
    await press(explorer, 'heads/preset/multi_query');
    await part(explorer, 'sharing');
    const said = await explorer.untilState('the sentence', ({ spoken }) => spoken.startsWith('With 1 head of K and V'));
    assert.match(said.spoken, /^With 1 head of K and V, a token keeps 200 numbers in place of 1,600\. The loss of this text goes from [\d.]+ to [\d.]+ nats a token\.$/);
    await explorer.settled();
    const [before, after] = [await told(explorer, own.sharing + measure.loss, 0), await told(explorer, own.sharing + measure.loss, 1)];
    assert.ok(after.f64 > before.f64 + 0.5, `the loss rises: ${before.f64} to ${after.f64}`);
    // The loss of the unchanged run, from its own logits: the token after the last row is unknown, so the
    // text is read to its end.
    const { f64: moved } = await told(explorer, own.sharing + measure.moved, 1);
    assert.ok(moved > 0 && moved <= 1, `the share of probability that moved: ${moved}`);
    // The latent of full rank is the model; a smaller one is not.
    await press(explorer, 'heads/preset/latent');
    await part(explorer, 'latent');
    await explorer.untilState('the sentence', ({ spoken }) => spoken.startsWith('With rank 80, a token keeps 400 numbers'));
    await explorer.settled();
    near((await told(explorer, own.latent + measure.loss, 160)).f64, before.f64, 1e-3, 'the loss at full rank');
    assert.ok((await told(explorer, own.latent + measure.loss, 1)).f64 > before.f64, 'the loss at rank 1');
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Heads: qwen3, whose heads share keys and values already', { needs: 'families/qwen3' }, async (explorer) => {
    const model = family('qwen3');
    await open(explorer, model);
    assert.match((await explorer.state()).spoken, /heads of queries share each head of keys and values\.$/);
    await press(explorer, 'heads/part/latent');
    await explorer.untilState('the sentence', ({ spoken }) => spoken.startsWith('With rank '));
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Heads with the keyboard alone: parts, choices and sliders answer', async (explorer) => {
    await open(explorer, tiny);
    const { page } = explorer;
    await page.getByRole('button', { name: /^Weights, one map per head/ }).first().focus();
    await explorer.settled();
    await page.keyboard.press('Enter');
    await explorer.untilState('the pin', ({ pin }) => pin?.[0] === 'heads.shape.weights.elements');
    await explorer.enter('radio', 'how alike');
    await part(explorer, 'alike');
    await explorer.enter('radio', 'what they write');
    await explorer.until('what they write', () => explorer.linked('heads.alike'), (now) => now === 'outputs');
    await explorer.enter('radio', 'sharing K and V');
    await part(explorer, 'sharing');
    await explorer.settled();
    await explorer.focus('slider', 'heads of K and V');
    await explorer.press('ArrowRight');
    await explorer.until('more heads', () => explorer.linked('heads.kv'));
    await explorer.enter('radio', 'latent');
    await part(explorer, 'latent');
    await explorer.settled();
    await explorer.focus('slider', 'rank');
    await explorer.press('ArrowLeft');
    await explorer.until('a smaller rank', () => explorer.linked('heads.rank'));
    assert.deepEqual(await explorer.notices('error'), []);
});
