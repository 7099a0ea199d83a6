// Tests masked language models: their predictions for a mask that is typed or clicked, and pairs of
// sentences. Attention and logits equal those of other people's code in float64 (shared/families), within the
// tolerances given there.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { family, native, variation } from './lib/models.mjs';
import { near } from './lib/numbers.mjs';
import { phone, test } from './lib/suite.mjs';

const bert = { cls: '[CLS]', sep: '[SEP]', mask: '[MASK]' };
// In each golden text one token, the mask here, occurs twice. BERT's text is a pair, because it contains sep.
const families = [
    { name: 'bert', special: bert, masked: 53 },
    { name: 'distilbert', special: bert, masked: 34 },
    { name: 'roberta', special: { cls: '<s>', sep: '</s>', mask: '<mask>' }, masked: 36 },
];

function opened({ name, special, masked }) {
    const model = family(name, 'config.json', special, masked);
    return { ...model, masks: model.ids.flatMap((id, at) => (id === masked ? [at] : [])), mask: special.mask };
}

function softmax(logits) {
    const most = Math.max(...logits), shares = logits.map((logit) => Math.exp(logit - most));
    const sum = shares.reduce((a, b) => a + b, 0);
    return shares.map((share) => share / sum);
}

const likeliest = (logits) => logits.map((_, id) => id).sort((a, b) => logits[b] - logits[a]);
const sentence = (explorer) => explorer.ask('subject', 'sentence');
const untilPredicted = (explorer, at) => explorer.until(`the prediction at ${at}`, () => sentence(explorer), ({ predicted }) => predicted === at);

// The bars show these logits, and explain themselves by them.
async function checkPrediction(explorer, logits, { logits: bound }) {
    near(await explorer.logits(), logits, bound, 'logits');
    await explorer.dismiss();  // a notice may cover the bars
    const expected = softmax(logits);
    for (const [bar, id] of likeliest(logits).slice(0, 3).entries()) {
        await explorer.hover(`next/${bar}`);
        const { shown } = await explorer.untilState(`bar ${bar}`, ({ shown: cell }) => cell?.[0] === 'probability' && cell[2] === id);
        const why = await explorer.explained(...shown);
        // The relative error of a probability is at most twice the error of a logit.
        assert.ok(Math.abs(why.f64 - expected[id]) <= 2 * bound * expected[id], `${id}: ${why.f64}, not ${expected[id]}`);
        assert.match(why.provenance, /^in place of /);
    }
}

for (const kind of families) {
    test(`${kind.name}: what is typed as its mask is filled in, as its authors' code does`, { needs: `families/${kind.name}` }, async (explorer) => {
        const { folder, text, ids, tolerance, attention, logits, masks } = opened(kind);
        await explorer.openModel(folder, text);
        assert.deepEqual((await explorer.state()).ids, ids);
        for (const [layer, heads] of attention.entries()) {
            for (const [head, rows] of heads.entries()) {
                near(await explorer.attention(layer, head), rows, tolerance.attention, `layer ${layer}, head ${head}`);
            }
        }
        assert.ok((await explorer.landmarks())['card/next'], 'a prediction is shown');
        for (const absent of ['next/step', 'next/play', 'next/temperature']) {
            assert.equal(await explorer.rect(absent), undefined, `${absent} is no use here`);
        }
        await untilPredicted(explorer, masks[0]);
        await checkPrediction(explorer, logits[masks[0]], tolerance);
        await explorer.click(`token/${masks[1]}`);
        await untilPredicted(explorer, masks[1]);
        await checkPrediction(explorer, logits[masks[1]], tolerance);
        const { fragment } = await explorer.state();

        // The link restores the same mask.
        await explorer.click(`token/${masks[0]}`);
        await untilPredicted(explorer, masks[0]);
        await explorer.visit(fragment);
        await untilPredicted(explorer, masks[1]);
        near(await explorer.logits(), logits[masks[1]], tolerance.logits, 'logits of the link');
    });

    test(`${kind.name}: a word is masked and a prediction written by a click, and undone`, { needs: `families/${kind.name}` }, async (explorer) => {
        const { folder, text, tolerance, logits, masks, mask, vocabulary, ids } = opened(kind);
        const at = masks[0], words = text.split(' ');
        const plain = words.map((word, i) => (i === at - 1 ? 'w9' : word)).join(' ');
        await explorer.openModel(folder, plain);
        await explorer.click(`token/${at}`);
        await explorer.untilState('the word', ({ query }) => query === at);
        await explorer.click('next/mask');
        const masked = await explorer.untilRun('the mask', (state) => state.text === text);
        assert.deepEqual(masked.ids, ids);
        await untilPredicted(explorer, at);
        await checkPrediction(explorer, logits[at], tolerance);

        const [best] = likeliest(logits[at]);
        await explorer.click('next/0');
        const filled = await explorer.untilRun('the likeliest token', (state) => state.ids[at] === best);
        assert.equal(filled.text, words.map((word, i) => (i === at - 1 ? vocabulary[best] : word)).join(' '));
        assert.equal(await explorer.page.locator('#sentence').inputValue(), filled.text);
        await explorer.page.click('#undo');
        await explorer.untilRun('the mask again', (state) => state.text === text && state.ids[at] === ids[at]);
        await explorer.page.click('#undo');
        await explorer.untilRun('the word again', (state) => state.text === plain);
        await explorer.page.click('#redo');
        await explorer.untilRun('the mask once more', (state) => state.text === text);
        assert.ok(new URLSearchParams((await explorer.state()).fragment).get('text').includes(mask), 'the link has it');
    });
}

test('a pair has token types: they are told, explained, compared, linked and undone', { needs: 'families/bert' }, async (explorer) => {
    const { folder, text, ids, tolerance, logits, masks } = opened(families[0]);
    await explorer.openModel(folder, text);
    const first = ids.indexOf(ids.at(-1)), types = ids.map((_, i) => (i > first ? 1 : 0));
    assert.deepEqual((await sentence(explorer)).segments, types);
    await explorer.found('next/segments');
    for (const at of [first, first + 1]) {
        const why = await explorer.explained('segment', at, 5, 0, 0);
        assert.match(why.formula, new RegExp(`^row ${types[at]} of the segment embedding, segment ${'AB'[types[at]]}`));
        assert.equal(why.f32, why.f64);
    }
    const { fragment } = await explorer.state();

    // One sentence is one segment; undoing the words restores the pair.
    const alone = text.split(' ').filter((word) => word !== '[SEP]').join(' ');
    await explorer.page.waitForTimeout(1100);  // text typed within a second is one undo step
    await explorer.write(alone);
    await explorer.untilRun('one sentence', (state) => state.text === alone && state.tokens === ids.length - 1);
    assert.deepEqual((await sentence(explorer)).segments, []);
    if (!native.absent) {
        const typed = (await explorer.state()).ids;
        near(await explorer.attention(2, 1), native.attention(folder, typed)[2][1], 1e-5, 'attention without segments');
    }
    await explorer.page.click('#undo');
    await explorer.untilRun('the pair', (state) => state.text === text && state.tokens === ids.length);
    assert.deepEqual((await sentence(explorer)).segments, types);
    await explorer.write(alone);
    await explorer.untilRun('one sentence', (state) => state.text === alone && state.tokens === ids.length - 1);
    await explorer.visit(fragment);
    await explorer.untilRun('the link', (state) => state.text === text && state.tokens === ids.length);
    await untilPredicted(explorer, masks[0]);
    near(await explorer.logits(), logits[masks[0]], tolerance.logits, 'logits of the link');
});

test('other lenses ask at the masked token, with the pair as it is', { needs: 'families/bert' }, async (explorer) => {
    const { folder, text, tolerance, logits, masks } = opened(families[0]);
    await explorer.openModel(folder, text);
    await explorer.click(`token/${masks[1]}`);
    await untilPredicted(explorer, masks[1]);
    const expected = softmax(logits[masks[1]]), [best, second] = likeliest(logits[masks[1]]);
    const { fragment } = await explorer.state();
    const through = (lens) => `${fragment}&lens=${lens}`;

    // Under a mask that hides no key the model's predictions do not change.
    await explorer.visit(`${through('masks')}&masks.run=1&masks.mask=${encodeURIComponent('padding(16)')}`);
    await explorer.found('masks/moved');
    await explorer.hover('masks/after/0');
    const { shown } = await explorer.untilState('the likeliest token', ({ shown: cell }) => cell?.[0] === `masks.probability.${best}`);
    const why = await explorer.explained(...shown);
    assert.match(why.provenance, /^in place of “\[MASK\]” at position 10, under the mask/);
    assert.ok(Math.abs(why.f64 - expected[best]) <= 2 * tolerance.logits * expected[best], `${why.f64}, not ${expected[best]}`);

    await explorer.visit(`${through('gradient')}&gradient.loss=logit,${best},${second}`);
    await explorer.untilState('the sentence', ({ spoken }) => /^To raise the logit of “w\d+” over that of “w\d+” in place of “\[MASK\]” at position 10 by way of/.test(spoken));
    await explorer.found('gradient/rerun');
});

test('a word is masked and a prediction written by the keyboard', { needs: 'families/bert' }, async (explorer) => {
    const { folder, text, masks, logits } = opened(families[0]);
    const { page } = explorer, at = masks[0];
    const plain = text.split(' ').map((word, i) => (i === at - 1 ? 'w9' : word)).join(' ');
    await explorer.openModel(folder, plain);
    const pressOn = async (locator) => {
        await locator.focus();
        await locator.press('Enter');
    };
    await pressOn(page.getByRole('option', { name: /^w9 / }).first());
    await explorer.untilState('the word', ({ query }) => query === at);
    await pressOn(page.getByRole('button', { name: 'Mask “w9”' }));
    await explorer.untilRun('the mask', (state) => state.text === text);
    await untilPredicted(explorer, at);
    const [best] = likeliest(logits[at]);
    await pressOn(page.getByRole('listbox', { name: 'In place of' }).getByRole('option').first());
    await explorer.untilRun('the likeliest token', ({ ids }) => ids[at] === best);
});

test('on a phone a word is masked and a prediction written by taps', { context: phone, needs: 'families/distilbert' }, async (explorer) => {
    const { folder, text, masks, logits } = opened(families[1]);
    const at = masks[0];
    const plain = text.split(' ').map((word, i) => (i === at - 1 ? 'w9' : word)).join(' ');
    await explorer.openModel(folder, plain);
    await explorer.dismiss();  // a notice may cover the word to tap
    await explorer.reveal(`token/${at}`);
    await explorer.tap(`token/${at}`);
    await explorer.untilState('the word', ({ query }) => query === at);
    for (const name of ['next/mask', 'card/next']) {
        const { left, right } = await explorer.reveal(name);
        assert.ok(left >= 0 && right <= 390, `${name} is as wide as the screen`);
    }
    await explorer.tap('next/mask');
    await explorer.untilRun('the mask', (state) => state.text === text);
    await explorer.reveal('next/0');
    await explorer.tap('next/0');
    await explorer.untilRun('the likeliest token', ({ ids }) => ids[at] === likeliest(logits[at])[0]);
});

test('two masked language models are compared at one mask, and a click on another mask asks both there', { needs: 'families/bert' }, async (explorer) => {
    const { folder, text, ids, masks } = opened(families[0]);
    const other = variation(folder, { 'config.json': JSON.stringify({ ...JSON.parse(readFileSync(`${folder}/config.json`, 'utf8')), layer_norm_eps: 0.1 }) }, 'other');
    await explorer.openModel(folder, text);
    await explorer.click('compare');
    await explorer.click('compare/models');
    await explorer.until('the invitation', () => explorer.rect('missing'));
    await explorer.drop(other);
    await explorer.untilRun('the second model', ({ second_pieces: pieces }) => pieces?.length === ids.length);
    const both = () => sentence(explorer).then(({ predicted, second_predicted: second }) => [predicted, second]);
    assert.ok(masks[0] !== ids.length - 1);
    await explorer.until('both at the first mask', both, ([one, two]) => one === masks[0] && two === masks[0]);
    await explorer.click(`compare/first/${masks[1]}`);
    await explorer.until('both at the second', both, ([one, two]) => one === masks[1] && two === masks[1]);
    assert.deepEqual(await explorer.notices('error'), []);
});
