// Tests subject Example: cells edited by typing, dragging and the wheel, and every number that follows from
// them.
import assert from 'node:assert/strict';
import { pinName } from './lib/explorer.mjs';
import { attention, near } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';

const cats = [[1, 0.5, 0.2, 0.8], [0.3, 0.9, 0.1, 0.4], [0.6, 0.2, 0.7, 0.3]];
const rounding = 1e-6;  // f32 sums of a few numbers around 1

// Compares every stage of the ladder with double precision.
async function agrees(explorer, problem, stages = ['raw', 'scaled', 'weight', 'output']) {
    const expected = attention(problem);
    for (const stage of stages) {
        near(await explorer.matrix(stage), expected[stage], rounding, stage);
    }
    return expected;
}

const ofTokens = (x, more) => ({ q: x, k: x, v: x, ...more });

async function changed(explorer, cell, holds) {
    const [name, row, column] = cell.split('/');
    const m = await explorer.until(`${cell} to change`, () => explorer.matrix(name), (now) => holds(now[row][column]));
    return m[row][column];
}

test('a typed number moves everything that follows, exactly, and undo takes it back', async (explorer) => {
    const before = await explorer.matrix('output');
    await agrees(explorer, ofTokens(cats));
    await explorer.type('x/1/1', '0.25');
    const x = [cats[0], [0.3, 0.25, 0.1, 0.4], cats[2]];
    await changed(explorer, 'x/1/1', (value) => value === 0.25);
    const { output } = await agrees(explorer, ofTokens(x));
    assert.equal((await explorer.state()).last_edit, 'X[sat, 1] 0.9 → 0.25');
    const why = await explorer.explain('output', 1, 1);
    near([why.f64], [output[1][1]], 1e-14, 'the f64 of the explanation');

    await explorer.press('Control+Z');
    await changed(explorer, 'x/1/1', (value) => value === Math.fround(0.9));
    assert.deepEqual(await explorer.matrix('output'), before);
    await explorer.page.click('#redo');
    await changed(explorer, 'x/1/1', (value) => value === 0.25);
    await agrees(explorer, ofTokens(x));
    await explorer.page.click('#undo');
    await changed(explorer, 'x/1/1', (value) => value === Math.fround(0.9));
    assert.deepEqual(await explorer.matrix('output'), before);
});

test('dragging changes a cell by hundredths, in one step of undo', async (explorer) => {
    await explorer.drag('x/2/0', 40);
    const value = await changed(explorer, 'x/2/0', (now) => now > 0.9);
    assert.ok(value <= 1.0 + rounding, `0.6 and at most 40 hundredths: ${value}`);
    await agrees(explorer, ofTokens([cats[0], cats[1], [Math.round(value * 100) / 100, 0.2, 0.7, 0.3]]));
    await explorer.press('Control+Z');
    await changed(explorer, 'x/2/0', (now) => now === Math.fround(0.6));
    assert.equal(await explorer.page.isDisabled('#undo'), true);
});

test('the wheel scrolls over a cell; with Ctrl it changes the cell by tenths and does not scroll', { fine: true }, async (explorer) => {
    await explorer.page.setViewportSize({ width: 1440, height: 600 });  // lower than the lens
    await explorer.settled();
    const { top } = await explorer.rect('x/0/1');
    await explorer.hover('x/0/1');
    await explorer.page.mouse.wheel(0, 50);
    const at = await explorer.until('the page to scroll', () => explorer.rect('x/0/1'), (now) => now.top < top);
    await agrees(explorer, ofTokens(cats));
    await explorer.wheel('x/0/1', 1);
    await changed(explorer, 'x/0/1', (value) => value === Math.fround(0.6));
    await explorer.wheel('x/0/1', -1);
    await changed(explorer, 'x/0/1', (value) => value === Math.fround(0.5));
    await explorer.wheel('x/0/1', -1);
    await changed(explorer, 'x/0/1', (value) => value === Math.fround(0.4));
    await explorer.settled();
    assert.equal((await explorer.rect('x/0/1')).top, at.top);
    await agrees(explorer, ofTokens([[1, 0.4, 0.2, 0.8], cats[1], cats[2]]));
});

test('a double click puts a cell back', { fine: true }, async (explorer) => {
    await explorer.wheel('x/0/3', -20);
    await changed(explorer, 'x/0/3', (value) => value < -1);
    await explorer.click('x/0/3', { clickCount: 2 });
    await changed(explorer, 'x/0/3', (value) => value === Math.fround(0.8));
    await agrees(explorer, ofTokens(cats));
});

test('what is not a number is one sentence, and the cell keeps its value', async (explorer) => {
    await explorer.type('x/0/0', '1.2.3');
    await explorer.untilNotice(/^'1\.2\.3' is not a number; the cell keeps its value\.$/, 'error');
    await agrees(explorer, ofTokens(cats));
});

test('Escape leaves a cell as it was', async (explorer) => {
    await explorer.click('x/0/0');
    await explorer.untilState('the cell to be pinned', ({ pin }) => pinName(pin) === 'x/0/0');
    await explorer.page.keyboard.type('77');
    await explorer.until('the field', () => explorer.rect('typing'));
    await explorer.press('Escape');
    await explorer.until('the field to close', async () => !await explorer.rect('typing'));
    await agrees(explorer, ofTokens(cats));
});

test('arrow keys walk over the cells, digits begin an edit, Escape unpins', async (explorer) => {
    await explorer.click('x/0/0');
    await explorer.untilState('the cell to be pinned', ({ pin }) => pinName(pin) === 'x/0/0');
    await explorer.press('ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowLeft', 'ArrowDown', 'ArrowDown');
    await explorer.untilState('the last row', ({ pin }) => pinName(pin) === 'x/2/1');
    // Announced to screen readers.
    await explorer.page.locator('#live', { hasText: /mat.*0\.2/ }).waitFor({ state: 'attached' });
    await explorer.page.keyboard.type('.75');
    await explorer.press('Enter');
    await changed(explorer, 'x/2/1', (value) => value === 0.75);
    await explorer.press('Escape');
    await explorer.untilState('nothing to be pinned', ({ pin }) => !pin);
});

test('hovering a cell explains it, with what the tutorial prints', async (explorer) => {
    await explorer.hover('weight/1/2');
    const { shown } = await explorer.untilState('the inspector to show it', ({ shown: at }) => pinName(at) === 'weight/1/2');
    const why = await explorer.explained(...shown);
    near([why.f32, why.f64], [0.277247, 0.277247], 5e-7, 'the weight');
    assert.match(why.note, /The Heart of Transformers” prints 0\.239, which is a misprint; the exact value is 0\.277247/);
    await explorer.hover('raw/1/2');
    await explorer.untilState('the inspector to follow', ({ shown: at }) => at?.[0] === 'raw');
    const { operands, f64 } = await explorer.explain('raw', 1, 2);
    near(operands.map(([a, b]) => a * b), cats[1].map((a, i) => a * cats[2][i]), rounding, 'the products');
    near([operands.reduce((sum, [, , product]) => sum + product, 0)], [f64], 1e-15, 'their sum');
    await explorer.page.mouse.move(2, 2);
    await explorer.untilState('the inspector to forget it', ({ shown: at }) => !at);
});

test('a click keeps the explanation while other numbers change', { fine: true }, async (explorer) => {
    await explorer.click('weight/0/1');
    await explorer.untilState('the cell to be pinned', ({ pin }) => pinName(pin) === 'weight/0/1');
    await explorer.wheel('x/0/1', 3);
    await changed(explorer, 'x/0/1', (value) => value === Math.fround(0.8));
    await explorer.page.mouse.move(2, 2);
    const { shown } = await explorer.untilState('the pinned cell', ({ shown: at }) => pinName(at) === 'weight/0/1');
    const { weight } = attention(ofTokens([[1, 0.8, 0.2, 0.8], cats[1], cats[2]]));
    near([(await explorer.explained(...shown)).f64], [weight[0][1]], 1e-14, 'the explained weight');
});
