// Tests Sources: the terms of a score against the golden weights that follow from it, what a head opens into,
// contrasts, and what decides a row.
import assert from 'node:assert/strict';
import { bundled } from './lib/bundled.mjs';
import { tiny } from './lib/models.mjs';
import { near as allNear } from './lib/numbers.mjs';
import { skip, test } from './lib/suite.mjs';

const near = (actual, expected, tolerance, what) => allNear([actual], [expected], tolerance, what);
const sum = (list) => list.reduce((all, each) => all + each, 0);
// The second layer of the tiny GPT-2 reads two embeddings, three heads, an MLP and biases.
const all = 7;

async function press(explorer, name) {
    await explorer.reveal(name);
    await explorer.settled();
    await explorer.click(name);
    await explorer.settled();
}
async function f64(explorer, name) {
    const found = await explorer.until(name, () => explorer.explained(`sources.${name}`), (why) => Boolean(why));
    near(found.f32, found.f64, 2e-5 * (1 + Math.abs(found.f64)), `${name} in f32`);
    return found.f64;
}
async function part(explorer, name, key) {
    await press(explorer, `sources/part/${name}`);
    await explorer.until(name, () => explorer.linked('sources.part'), (now) => now === key);
    await explorer.idle();
}
async function open(explorer) {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.dismiss();
    const { fragment } = await explorer.state();
    await explorer.visit(`${fragment}&lens=sources&layer=1&head=2&query=6&key=3`);
    await explorer.untilState('the lens', ({ lens }) => lens === 'sources');
    await explorer.settled();
}

test('Sources: terms add up to scores whose softmax is PyTorch’s; a head opens into tokens and these into sources', async (explorer) => {
    await open(explorer);
    const { layer, head } = await explorer.state(), row = 6, weights = tiny.attention[layer][head][row];
    const scores = [];
    for (let key = 0; key <= row; ++key) {
        const { fragment } = await explorer.state();
        await explorer.visit(fragment.replace(/key=\d+/, `key=${key}`));
        await explorer.settled();
        scores.push(await f64(explorer, `term.${all}.${all}`));
        const terms = [];
        for (let s = 0; s < all; ++s) {
            for (let t = 0; t < all; ++t) {
                terms.push(await f64(explorer, `term.${s}.${t}`));
            }
        }
        near(sum(terms), scores.at(-1), 1e-9, `the terms of key ${key}`);
    }
    const most = Math.max(...scores), z = sum(scores.map((s) => Math.exp(s - most)));
    allNear(scores.map((s) => Math.exp(s - most) / z), weights.slice(0, row + 1), 1e-5, 'softmax of the sums of the terms');

    const count = async () => Object.keys(await explorer.landmarks()).filter((name) => /^sources\/opened\/\d+$/.test(name)).length;
    const opened = async () => {
        const values = [];
        for (let i = 0, n = await count(); i < n; ++i) {
            values.push(await f64(explorer, `opened.${i}`));
        }
        return values;
    };
    const tokens = await opened();
    assert.ok(tokens.length > 1);
    await press(explorer, 'sources/opened/0');
    await explorer.until('a token in the link', () => explorer.linked('sources.open'), (path) => /^query,\d+\.\d+\.\d+$/.test(path));
    const largest = tokens.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a));
    near(sum(await opened()), largest, 1e-6, 'the sources of the token with the largest part');
    await press(explorer, 'sources/way/close');
    assert.equal(await explorer.linked('sources.open'), 'query,none');
    await explorer.until('nothing open', count, (n) => n === 0);
    await explorer.page.click('#undo');
    await explorer.until('the token again', () => explorer.linked('sources.open'), (path) => /\.\d+\.\d+$/.test(path));
});

test('Sources: another key, a head taken out, and the whole row', async (explorer) => {
    await open(explorer);
    const here = await f64(explorer, `term.${all}.${all}`);
    await part(explorer, 'against a key', 'key');
    const difference = await f64(explorer, `term.${all}.${all}`);
    assert.ok(Math.abs(difference - here) > 1e-4);
    assert.match((await explorer.state()).spoken, / prefers /);
    await part(explorer, 'before a change', 'change');
    assert.match((await explorer.state()).spoken, /Nothing is changed/);
    await press(explorer, 'sources/step');
    await explorer.untilState('the changed run', ({ spoken }) => spoken.startsWith('After the change, '));
    await part(explorer, 'whole row', 'row');
    const shares = [];
    for (let rank = 0; rank < all; ++rank) {
        const why = await explorer.explained(`sources.deciding.${rank}`);
        shares.push(why ? why.f64 : 0);
    }
    near(sum(shares), 1, 1e-9, 'the shares of the row');
});

test('Sources: why “It” attends to “animal”, in the bundled model', async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    await explorer.visit('v=1&subject=sentence&lens=sources');
    await explorer.untilState('the sentence', ({ spoken }) => spoken.includes(', led by '));
    assert.match((await explorer.state()).spoken, /^“It” attends to “animal”, led by .+ × .+: \+[\d.]+ of [+-][\d.]+\./);
    assert.ok((await explorer.landmarks())['sources/opened/0']);
});
