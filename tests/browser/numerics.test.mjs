// Tests Numerics: the errors of a head in small formats, against JavaScript's own rounding to f32; the way to where a
// format fails; keyboard, undo, link and table; and the same on a phone.
import assert from 'node:assert/strict';
import { tiny } from './lib/models.mjs';
import { phone, test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

// A head of one component, whose scores are query · key; the largest is 12, and exp(12) is too large for f16.
const queries = [1, 0.5, -0.25], keys = [3, 11, 12], values = [0.1, 0.7, -0.3];
const files = { 'q.npy': npy([1, 3, 1], queries), 'k.npy': npy([1, 3, 1], keys), 'v.npy': npy([1, 3, 1], values) };
const f32 = Math.fround;

/** Softmax of a row, each operation rounded. */
function weights(scores, rounded) {
    const max = Math.max(...scores), exponentials = scores.map((score) => rounded(Math.exp(rounded(score - max))));
    let sum = 0;
    for (const each of exponentials) sum = rounded(sum + each);
    return exponentials.map((each) => rounded(each / sum));
}

async function open(explorer, settings = '') {
    await explorer.visit(`v=1&subject=tensors&lens=numerics${settings}`);
    await explorer.drop(...written(files));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open: given, phase }) => given && phase === null);
    await explorer.untilState('the lens', ({ lens, spoken }) => lens === 'numerics' && spoken.startsWith('In '));
    await explorer.idle();
}
const linked = (explorer, key, value) => explorer.until(`${key} ${value}`, () => explorer.linked(key), (now) => now === value);

test('Numerics: errors in f32 are those of rounded JavaScript numbers, and a click shows the worst cell', async (explorer) => {
    await open(explorer, '&numerics.format=f32');
    const errors = queries.map((query) => {
        const exact = weights(keys.map((key) => query * key), (x) => x);
        return weights(keys.map((key) => f32(query * key)), f32).map((weight, key) => Math.abs(weight - exact[key]));
    });
    const { spoken } = await explorer.state();
    assert.match(spoken, /^In f32, the weights of .+ off by at most .+ \(bf16: .+\)\./);
    const number = async (...cell) => Number((await explorer.explained(['numerics', ...cell].join('.'))).f64);
    // Math.exp may differ from the page's in the last bit of a double.
    for (const [query, row] of errors.entries()) {
        for (const [key, error] of row.entries()) {
            assert.ok(Math.abs(await number('error', 'weight', query, key) - error) < 1e-15, `weight ${query}, ${key}`);
        }
    }
    assert.ok(Math.abs(await number('largest', 'weight', 'f32') - Math.max(...errors.flat())) < 1e-15);
});

test('Numerics: without the maximum f16 fails at one exponential, and the lens leads there and back', async (explorer) => {
    await open(explorer);
    await explorer.click('numerics/try/max');
    await linked(explorer, 'numerics.max', 'kept');
    await explorer.untilState('the failure', ({ spoken }) => spoken.startsWith('In f16, exp(12.0) for query 0 × key 2 overflows.'));
    await explorer.idle();
    await explorer.click('numerics/way/0/0');
    await linked(explorer, 'numerics.stage', 'exponential');
    assert.equal(await explorer.linked('pin'), 'numerics.error.exponential.0.2');
    await explorer.press('Control+Z');
    await linked(explorer, 'numerics.stage', 'output');
    await explorer.press('Control+Z');  // the pin
    await explorer.press('Control+Z');
    await linked(explorer, 'numerics.max', undefined);
    await explorer.untilState('what was before', ({ spoken }) => spoken.startsWith('In f16, the weights of '));
});

test('Numerics: format and stage are chosen by fingers on a phone', { context: phone }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const { fragment } = await explorer.state();
    await explorer.visit(`${fragment}&lens=numerics&numerics.format=e4m3&numerics.stage=output`);
    await explorer.untilState('the lens', ({ lens, spoken }) => lens === 'numerics' && spoken.startsWith('In fp8 e4m3, the output of '));
    await explorer.idle();
    assert.ok(await explorer.rect('numerics/largest/0/0'));
});
