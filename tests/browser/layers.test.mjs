// Tests Layers: the stream decoded after each sublayer, against the model's logits; the parts of a logit,
// against a forward pass computed by hand.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { bundled } from './lib/bundled.mjs';
import { family, tiny } from './lib/models.mjs';
import { near as allNear } from './lib/numbers.mjs';
import { skip, test } from './lib/suite.mjs';

const own = { likeliest: 0, probability: 1000, rank: 2000, logit: 3000, norm: 4000, cosine: 5000, share: 6000, direct: 6001, rollout: 6002 };
const near = (actual, expected, tolerance, what) => allNear([actual], [expected], tolerance, what);
const sum = (list) => list.reduce((all, each) => all + each, 0);
const told = (explorer, row, column) => explorer.explain('number', row, column);

function softmax(logits) {
    const most = Math.max(...logits), powers = logits.map((each) => Math.exp(each - most)), z = sum(powers);
    return powers.map((each) => each / z);
}
const best = (list) => list.indexOf(Math.max(...list));
const rankOf = (logits, id) => 1 + logits.filter((each, i) => each > logits[id] || (each === logits[id] && i < id)).length;

// Rollout of the golden weights, [layers][heads][query][key]: half of each row stays, half is the mean over
// heads.
function rollout(attention, row) {
    const n = attention[0][0].length;
    let arrives = Array.from({ length: n }, (_, i) => Number(i === row));
    for (const heads of attention.toReversed()) {
        arrives = arrives.map((own_share, j) => own_share / 2 + sum(arrives.map((share, i) => share * sum(heads.map((head) => head[i][j])) / heads.length / 2)));
    }
    return arrives;
}

async function press(explorer, name) {
    await explorer.reveal(name);
    await explorer.settled();
    await explorer.click(name);
}

// Every part of a logit, by number, until there is no other.
async function parts(explorer) {
    const all = [];
    for (let i = 0; ; ++i) {
        const part = await told(explorer, own.share, i);
        if (!part) {
            return all;
        }
        near(part.f32, part.f64, 2e-5 * (1 + Math.abs(part.f64)), `part ${i} in f32`);
        if (part.operands.length) {
            near(sum(part.operands.map(([, , product]) => product)), part.f64, 1e-9 * (1 + Math.abs(part.f64)), `the operands of part ${i}`);
        }
        all.push(part.f64);
    }
}

// Properties of any model whose golden logits [n][vocabulary] and attention are known.
async function agrees(explorer, { ids, logits, attention, cap = 0 }, tolerance) {
    await explorer.settled();
    const last = attention.length * 2, row = ids.length - 1, expected = softmax(logits), token = best(logits);
    const { f32, f64 } = await told(explorer, own.likeliest + last, row);
    near(f32, expected[token], tolerance, 'the probability of the likeliest token');
    near(f64, f32, tolerance, 'the same in double');
    for (const id of [token, 0, 5]) {
        near((await told(explorer, own.probability + last, id)).f32, expected[id], tolerance, `the probability of token ${id}`);
        near((await told(explorer, own.logit + last, id)).f64, logits[id], tolerance, `the logit of token ${id}`);
        near((await told(explorer, own.rank + last, id)).f64, rankOf(logits, id), 0, `the rank of token ${id}`);
    }
    near((await told(explorer, own.cosine + last, 0)).f64, 1, 1e-12, 'the cosine of the end with itself');
    const together = sum(await parts(explorer));
    near(cap ? cap * Math.tanh(together / cap) : together, logits[token], 4 * tolerance, 'the sum of the parts');
    const shares = rollout(attention, row);
    for (const [j, share] of shares.entries()) {
        near((await told(explorer, own.rollout, j)).f64, share, tolerance, `rollout of token ${j}`);
    }
}

test('Layers: a click reads the stream, another follows a token; the parts add up to its logit', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.dismiss();
    await explorer.click('lens/layers');
    await explorer.untilState('the lens', ({ lens }) => lens === 'layers');
    await agrees(explorer, tiny, 2e-5);
    const { spoken } = await explorer.state();
    assert.match(spoken, /^After “\w+” comes “\w+” \([\d.]+ % at temperature 1\), the likeliest .+\. .+ adds most to its logit \([\d.]+\)\.$/);
    // Follows the suggestion in the first line: a cell, then one of its tokens.
    await press(explorer, 'layers/likeliest/2/3');
    await explorer.untilState('the position', ({ query, pin }) => pin?.[0] === `layers.likeliest.2.${query}`);
    assert.equal(await explorer.linked('layers.at'), '2');
    await explorer.settled();
    await press(explorer, 'layers/said/2');
    const token = Number(await explorer.until('another token', () => explorer.linked('layers.token')));
    await explorer.settled();
    const there = await told(explorer, own.rank + 2, token);
    assert.equal(there.f64, 3, 'it is the third of the list');
    near(sum(await parts(explorer)), (await told(explorer, own.logit + 4, token)).f64, 1e-4, 'the sum of its parts');
    // The link reopens it in the same state, and undo goes back.
    const { fragment, spoken: now } = await explorer.state();
    await explorer.visit('v=1&lens=scale');
    await explorer.untilState('another lens', ({ lens }) => lens === 'scale');
    await explorer.visit(fragment);
    await explorer.untilState('the lens', ({ lens }) => lens === 'layers');
    await explorer.settled();
    const again = await explorer.state();
    assert.deepEqual([again.fragment, again.spoken], [fragment, now], 'the link opens it as it was');
    await press(explorer, 'layers/preset/likeliest');
    await explorer.until('the likeliest', () => explorer.linked('layers.token'), (link) => link === undefined);
    await explorer.press('Control+Z');
    await explorer.until('the token again', () => explorer.linked('layers.token'), (link) => link === String(token));
    // A part leads on to the numbers that it consists of.
    await press(explorer, 'layers/heads/0/1');
    await explorer.untilState('the pin', ({ pin, layer, head }) => pin?.[0].startsWith('layers.attribution.') && layer === 0 && head === 1);
    await explorer.click('inspector/operand/0/left');
    await explorer.untilState('the output', ({ pin, lens }) => pin?.[0] === 'output' && lens !== 'layers');
    await explorer.click('inspector/back');
    await explorer.untilState('the way back', ({ lens }) => lens === 'layers');
    assert.deepEqual(await explorer.notices('error'), []);
});

const sentence = 'v=1&subject=sentence&text=The%20animal%20didn%27t%20cross%20the%20street%20because%20it%20was%20too%20tired.%20It&model=storyteller&lens=layers';
test('Layers: the model that comes with the page', { fragment: sentence }, async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    await explorer.untilState('the storyteller', ({ model, tokens }) => model === 'storyteller' && tokens > 0);
    await explorer.settled();
    const logits = await explorer.logits(), expected = softmax(logits), token = best(logits), last = 10;
    near((await told(explorer, own.probability + last, token)).f32, expected[token], 2e-5, 'the likeliest token');
    near(sum(await parts(explorer)), logits[token], 1e-4, 'the sum of the parts');
    // The heads' contributions from each token add up to what they write.
    const { tokens: n } = await explorer.state();
    const shares = await Promise.all(Array.from({ length: n }, (_, j) => told(explorer, own.rollout, j)));
    near(sum(shares.map(({ f64 }) => f64)), 1, 1e-5, 'the shares of rollout');
    const direct = await Promise.all(Array.from({ length: n }, (_, j) => told(explorer, own.direct, j)));
    const heads = [];
    for (let i = 0, part; (part = await told(explorer, own.share, i)); ++i) {
        if (part.title.includes('· head')) {
            heads.push(part.f64);
        }
    }
    assert.equal(heads.length, 40);
    near(sum(direct.map(({ f64 }) => f64)), sum(heads), 1e-4, 'what the heads take from all tokens');
});

for (const [name, kind] of [
    ['qwen3', 'with grouped heads'], ['gemma2', 'with grouped heads and norms of its own'], ['olmo2', 'with norms behind its halves'],
    ['distilbert', 'an encoder'],
]) {
    test(`Layers: ${name}, ${kind}`, { needs: `families/${name}` }, async (explorer) => {
        const model = family(name);
        const { final_logit_softcapping: cap } = JSON.parse(readFileSync(`${model.folder}/config.json`, 'utf8'));
        await explorer.openModel(model.folder, model.text);
        await explorer.click('lens/layers');
        await explorer.untilState('the lens', ({ lens }) => lens === 'layers');
        await agrees(explorer, { ...model, logits: model.logits.at(-1), cap }, Math.max(model.tolerance.logits, model.tolerance.attention));
    });
}

test('Layers with the keyboard alone: every control has the focus and answers', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('lens/layers');
    await explorer.settled();
    const { page } = explorer;
    await explorer.enter('button', 'The runner-up');
    await explorer.until('the runner-up', () => explorer.linked('layers.token'));
    await explorer.focus('spinbutton', 'read after');
    await explorer.press('ArrowDown');
    await explorer.until('the place before', () => explorer.linked('layers.at'), (at) => at === '3');
    await explorer.focus('spinbutton', 'position');
    await explorer.press('ArrowDown');
    await explorer.untilState('the position before', ({ query }) => query === tiny.ids.length - 2);
    await explorer.focus('slider', 'Its probability at temperature 1');
    await explorer.press('ArrowLeft');
    await explorer.until('the place before that', () => explorer.linked('layers.at'), (at) => at === '2');
    await explorer.focus('textbox', 'The token whose logit is followed');
    await page.keyboard.type('cat');
    await explorer.until('the cat', () => explorer.linked('layers.token'), (id) => id === String(tiny.words.indexOf('cat')));
    const grid = page.getByRole('grid', { name: /^What it would say next/ });
    await grid.getByRole('gridcell').first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await explorer.untilState('the pin', ({ pin, query }) => pin?.[0] === `layers.likeliest.0.${query}`);
    await explorer.settled();
    const option = page.getByRole('option', { name: /^layer \d · head \d|^MLP \d|^embedding|^position/ }).first();
    await option.focus();
    await explorer.settled();
    await page.keyboard.press('Enter');
    await explorer.untilState('a part', ({ pin }) => pin?.[0].startsWith('layers.attribution.'));
    assert.deepEqual(await explorer.notices('error'), []);
});
