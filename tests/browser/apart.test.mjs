// Tests the lenses that analyse a model, on a model whose heads share keys and values, on encoders and on a
// network that learns on the page: against golden weights, products of the weights in their files, and models
// whose weights lack a head.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { family, safetensors, variation } from './lib/models.mjs';
import { multiply, near as allNear, transpose } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';

const near = (actual, expected, tolerance, what) => allNear([actual], [expected], tolerance, what);
const sum = (list) => list.reduce((all, each) => all + each, 0);
const best = (list) => list.indexOf(Math.max(...list));
const told = (explorer, row, column) => explorer.explain('number', row, column);
const knockout = { fall: 0, direct: 1000, look: 2000, cut: 4000 };

async function open(explorer, { folder, text }, lens) {
    await explorer.openModel(folder, text);
    await explorer.dismiss();
    await explorer.click(`lens/${lens}`);
    await explorer.untilState('the lens', ({ lens: now }) => now === lens);
    await explorer.settled();
}

// The model with some columns of a matrix [out, in] of f32 set to 0.
function withoutColumns(folder, tensor, first, count) {
    const file = readFileSync(join(folder, 'model.safetensors'));
    const length = Number(file.readBigUInt64LE(0)), header = JSON.parse(file.toString('utf8', 8, 8 + length));
    const { dtype, shape: [rows, columns], data_offsets: [begin] } = header[tensor];
    assert.equal(dtype, 'F32');
    for (let row = 0; row < rows; ++row) {
        for (let column = first; column < first + count; ++column) {
            file.writeFloatLE(0, 8 + length + begin + 4 * (row * columns + column));
        }
    }
    return variation(folder, { 'model.safetensors': file }, 'without');
}

const written = {
    qwen3: (layer) => `model.layers.${layer}.self_attn.o_proj.weight`,
    distilbert: (layer) => `distilbert.transformer.layer.${layer}.attention.out_lin.weight`,
};
for (const [name, kind] of [['qwen3', 'whose heads share keys and values'], ['distilbert', 'an encoder']]) {
    test(`Knock-out: ${name}, ${kind}, loses what it loses with the head’s weights at 0`, { needs: `families/${name}` }, async (explorer) => {
        const model = family(name);
        await open(explorer, model, 'knockout');
        const logits = model.logits.at(-1), token = best(logits), { attention, tolerance } = model;
        const layer = 0, head = attention[0].length - 1, row = model.ids.length - 1;
        const { f64: fall } = await told(explorer, knockout.fall + layer, head);
        assert.match((await explorer.state()).spoken, / matters most: without it, /);
        near((await told(explorer, knockout.look + layer, head)).f64, Math.max(...attention[layer][head][row]), tolerance.attention, 'the strongest weight');
        const tensor = written[name](layer);
        const size = safetensors(join(model.folder, 'model.safetensors'))(tensor)[0].length / attention[0].length;
        const without = withoutColumns(model.folder, tensor, head * size, size);
        await explorer.openModel(without, model.text);
        await explorer.settled();
        near(logits[token] - (await explorer.logits())[token], fall, 2 * tolerance.logits + 4e-5, 'the fall of the logit');
        assert.ok(Math.abs(fall) > 20 * tolerance.logits, `a fall that can be told from rounding: ${fall}`);
        assert.deepEqual(await explorer.notices('error'), []);
    });
}

// 1 − the mean of √JSD, in bits, over all rows; an encoder's rows see every key.
function alike(one, other) {
    const entropy = (row) => sum(row.filter((w) => w > 0).map((w) => -w * Math.log2(w)));
    const distances = one.map((p, i) => Math.sqrt(Math.max(0,
        entropy(p.map((w, j) => (w + other[i][j]) / 2)) - (entropy(p) + entropy(other[i])) / 2)));
    return 1 - sum(distances) / distances.length;
}

test('Heads: an encoder’s write what adds up, and look as alike as its golden weights', { needs: 'families/distilbert' }, async (explorer) => {
    const model = family('distilbert');
    await open(explorer, model, 'heads');
    const heads = model.attention[0].length, n = model.ids.length, { layer } = await explorer.state();
    near((await told(explorer, 7, 0)).f64, heads * n * n, 0, 'the numbers of all maps');
    await explorer.click('heads/part/what each writes');
    await explorer.until('what each writes', () => explorer.linked('heads.part'), (part) => part === 'writes');
    await explorer.settled();
    const shares = [];
    for (let i = 0; i <= heads; ++i) {
        shares.push((await told(explorer, 3000 + i, 0)).f64);
    }
    near(sum(shares), 1, 1e-5, 'the shares of heads and bias');
    await explorer.click('heads/part/how alike');
    await explorer.until('how alike', () => explorer.linked('heads.part'), (part) => part === 'alike');
    await explorer.settled();
    near((await told(explorer, 5000, 1)).f64, alike(model.attention[layer][0], model.attention[layer][1]), 1e-4, 'how alike heads 0 and 1 look');
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Circuits: an encoder’s head looks for what the products of its weights say', { needs: 'families/distilbert' }, async (explorer) => {
    const model = family('distilbert');
    await open(explorer, model, 'circuits');
    const { layer, head } = await explorer.state();
    assert.equal(layer, 0);
    const weight = safetensors(join(model.folder, 'model.safetensors'));
    const at = (name) => weight(`distilbert.${name}`);
    const words = at('embeddings.word_embeddings.weight'), gain = at('embeddings.LayerNorm.weight'), bias = at('embeddings.LayerNorm.bias');
    const d = words[0].length, heads = model.attention[0].length, size = d / heads;
    const read = words.map((row) => {
        const mean = sum(row) / d, deviation = Math.sqrt(sum(row.map((x) => (x - mean) ** 2)) / d + 1e-12);
        return row.map((x, i) => (x - mean) / deviation * gain[i] + bias[i]);
    });
    const project = (name) => {
        const w = at(`transformer.layer.0.attention.${name}.weight`).slice(head * size, (head + 1) * size);
        const b = at(`transformer.layer.0.attention.${name}.bias`).slice(head * size, (head + 1) * size);
        return multiply(read, transpose(w)).map((row) => row.map((x, a) => x + b[a]));
    };
    const qk = multiply(project('q_lin'), transpose(project('k_lin')));
    for (const [i, j] of [[model.ids[1], model.ids[2]], [0, 5], [3, 3]]) {
        near((await told(explorer, i, j)).f32, qk[i][j] / Math.sqrt(size), 2e-5, `the score of ${i} for ${j}`);
    }
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Cache: an encoder has none, and the lens says why', { needs: 'families/distilbert' }, async (explorer) => {
    const model = family('distilbert');
    await open(explorer, model, 'cache');
    await explorer.until('what is missing', () => explorer.rects('missing'), ([rect]) => Boolean(rect));
    assert.deepEqual(await explorer.notices('error'), []);
});

// A network of one layer that has been trained for some steps.
const learnt = 'train=induction,layers:1,heads:2,d:16,context:16,batch:2,steps:400&step=8';
/** @type {[string, RegExp, number[][]][]} */
const visits = [
    ['heads', /^\d+ tokens of 16 numbers go through 2 heads of 8, /, [[7, 0]]],
    ['knockout', / matters most: without it, /, [[knockout.fall, 0], [knockout.fall, 1], [knockout.direct, 0], [knockout.look, 1]]],
    ['layers', /adds most to its logit \([\d.]+\)\.$/, [[6000, 0], [6000, 1], [6001, 0], [6002, 0]]],
    ['circuits', /^From its weights alone, /, [[0, 1], [3, 2]]],
    ['cache', /^Because .+ of keys and values are kept, /, [[1, 8]]],
];
for (const [lens, said, cells] of visits) {
    test(`${lens} on a network that learns in the page`, { fragment: `v=1&subject=training&lens=${lens}&${learnt}` }, async (explorer) => {
        await explorer.until('step 8 of training', () => explorer.training(), (run) => run && run.taken >= 8);
        await explorer.settled();
        await explorer.untilState('what it says', ({ lens: now, spoken }) => now === lens && said.test(spoken));
        for (const [row, column] of cells) {
            const { f32, f64 } = await told(explorer, row, column);
            assert.ok(Number.isFinite(f64), `${row}, ${column}: ${f64}`);
            near(f32, f64, 2e-5 * (1 + Math.abs(f64)), `${row}, ${column} in f32`);
        }
        assert.deepEqual(await explorer.notices('error'), []);
    });
}
