// Tests further settings of the worked example: mask, temperature, cap, scale, source, sizes, names.
import assert from 'node:assert/strict';
import { attention, near } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';

const cats = [[1, 0.5, 0.2, 0.8], [0.3, 0.9, 0.1, 0.4], [0.6, 0.2, 0.7, 0.3]];
const rounding = 1e-6;

async function agrees(explorer, problem) {
    const { weight, output } = attention({ q: cats, k: cats, v: cats, ...problem });
    near(await explorer.matrix('weight'), weight, rounding, 'weights');
    near(await explorer.matrix('output'), output, rounding, 'output');
}

test('a causal mask hides the future: exact zeros, rows that sum to one', async (explorer) => {
    await explorer.click('mask/causal');
    const weight = await explorer.until('the mask', () => explorer.matrix('weight'), (rows) => rows[0][1] === 0);
    assert.deepEqual([weight[0], weight[1][2]], [[1, 0, 0], 0]);
    near(weight.map((row) => row.reduce((a, b) => a + b)), [1, 1, 1], rounding, 'sums of rows');
    await agrees(explorer, { allowed: (q, k) => k <= q });
    await explorer.click('mask/offset/less');
    const next = await explorer.until('the offset', () => explorer.matrix('weight'), (rows) => rows[0][0] === 0);
    assert.deepEqual(next[0], [0, 0, 0]);
    await agrees(explorer, { allowed: (q, k) => k <= q - 1 });
});

test('a mask can be painted, cell by cell', async (explorer) => {
    await explorer.click('mask/painted');
    const hidden = [];
    for (const cell of ['0/1', '2/0', '2/2', '2/1']) {
        hidden.push(cell);
        await explorer.click(`masked/${cell}`);
        const [row, column] = cell.split('/');
        await explorer.until(`${cell} to be hidden`, () => explorer.matrix('masked'), (rows) => rows[row][column] === -Infinity);
        await agrees(explorer, { allowed: (q, k) => !hidden.includes(`${q}/${k}`) });
    }
    assert.deepEqual((await explorer.matrix('output'))[2], [0, 0, 0, 0], 'a row that may look nowhere gives zeros');
    await explorer.click('masked/0/1');
    await explorer.until('the cell to be shown again', () => explorer.matrix('masked'), (rows) => rows[0][1] !== -Infinity);
    await agrees(explorer, { allowed: (q) => q !== 2 });
});

test('the temperature slider divides the scores', async (explorer) => {
    await explorer.drag('temperature', 30);
    const temperature = Number(await explorer.until('a temperature', () => explorer.linked('T')));
    assert.ok(temperature > 1.2, `to the right is hotter: ${temperature}`);
    await agrees(explorer, { temperature });
    await explorer.press('Control+Z');
    await explorer.until('the temperature to return', async () => await explorer.linked('T') === undefined);
    await agrees(explorer, {});
});

test('the soft cap bends scores, and no scale is no scale', async (explorer) => {
    await explorer.drag('softcap', 12, 0.06);
    const softcap = Number(await explorer.until('a soft cap', () => explorer.linked('cap')));
    await agrees(explorer, { softcap });
    await explorer.click('scale/none');
    await explorer.until('the scale to go', () => explorer.linked('scale'), (scale) => scale === 'none');
    await agrees(explorer, { softcap, scale: 1 });
});

test('tokens are added as zeros, and removed', async (explorer) => {
    await explorer.click('size/n/more');
    await explorer.until('a fourth token', () => explorer.matrix('output'), (rows) => rows.length === 4);
    const x = [...cats, [0, 0, 0, 0]];
    await agrees(explorer, { q: x, k: x, v: x });
    await explorer.type('x/3/2', '1.5');
    x[3] = [0, 0, 1.5, 0];
    await explorer.until('the new number', () => explorer.matrix('x'), (rows) => rows[3][2] === 1.5);
    await agrees(explorer, { q: x, k: x, v: x });

    const { left, y } = await explorer.reveal('x/1/0');
    await explorer.page.mouse.click(left - 20, y);
    await explorer.click('label/remove');
    await explorer.until('sat to be gone', () => explorer.matrix('x'), (rows) => rows.length === 3);
    const rest = [x[0], x[2], x[3]];
    await agrees(explorer, { q: rest, k: rest, v: rest });
    await explorer.press('Control+Z');
    await explorer.until('sat to return', () => explorer.matrix('x'), (rows) => rows.length === 4);
    await agrees(explorer, { q: x, k: x, v: x });
});

test('a token can be renamed', async (explorer) => {
    const { left, y } = await explorer.reveal('x/1/0');
    await explorer.page.mouse.click(left - 20, y);
    await explorer.until('the name', () => explorer.rect('label/name'));
    await explorer.press('Control+A');
    await explorer.page.keyboard.type('lay');
    await explorer.press('Enter');
    await explorer.untilState('the new name', ({ last_edit: edit }) => edit === 'renamed to lay');
    assert.match((await explorer.explain('weight', 1, 0)).title, /lay/);
});

test('components can be added: d_k widens the projections', async (explorer) => {
    await explorer.click('size/d_k/more');
    await explorer.until('a fifth component', () => explorer.matrix('q'), (rows) => rows[0].length === 5);
    const q = cats.map((row) => [...row, 0]);
    await agrees(explorer, { q, k: q });
});

test('another source keeps what is on the screen', async (explorer) => {
    const before = await explorer.matrix('output');
    await explorer.click('source/Q, K, V');
    await explorer.until('the source', () => explorer.linked('source'));
    assert.deepEqual(await explorer.matrix('output'), before);
    await explorer.type('q/0/0', '2');
    await explorer.until('the edit', () => explorer.matrix('q'), (rows) => rows[0][0] === 2);
    await agrees(explorer, { q: [[2, 0.5, 0.2, 0.8], cats[1], cats[2]] });
    await explorer.click('source/scores');
    await explorer.until('the scores', () => explorer.linked('source'), (source) => source === 'scores');
    near(await explorer.matrix('output'), attention({ q: [[2, 0.5, 0.2, 0.8], cats[1], cats[2]], k: cats, v: cats }).output, rounding, 'output');
});
