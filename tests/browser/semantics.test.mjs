// Tests the page for users of screen readers: everything on the canvas is an element, and the page can be
// used through these alone.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { attention, near } from './lib/numbers.mjs';
import { bundled } from './lib/bundled.mjs';
import { tiny } from './lib/models.mjs';
import { skip, test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const subjects = ['worked', 'sentence', 'tensors', 'training'];
const lenses = ['overview', 'ladder', 'compare', 'curves', 'scale', 'masks', 'softmax', 'gradient', 'order', 'tiles', 'memory', 'geometry', 'heads', 'inverse', 'sources', 'paths', 'knockout', 'steer', 'examples', 'layers', 'circuits', 'cache', 'yours', 'numerics', 'pitfalls', 'cost', 'translation', 'properties'];

// Reports what axe finds wrong, one line each. The policy of the page forbids adding a script, but the
// developer tools' console can.
async function violations(explorer) {
    const devtools = await explorer.devtools();
    if (!await explorer.page.evaluate(() => 'axe' in globalThis)) {
        await devtools.send('Runtime.evaluate', { expression: axe });
    }
    return explorer.page.evaluate(async () => (await globalThis.axe.run(document)).violations.flatMap(({ id, nodes }) =>
        nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 120)} ${failureSummary}`)));
}

// Waits until the elements match the drawing.
async function told(explorer) {
    await explorer.settled();
    await explorer.page.waitForTimeout(300);
    await explorer.settled();
}

async function check(explorer, where) {
    await told(explorer);
    assert.deepEqual(await violations(explorer), [], where);
}

const last = tiny.ids.length - 1;
const trained = 'v=1&subject=training&train=induction,layers:1,heads:2,d:16,context:16,batch:2,steps:400&step=8';

const open = async (explorer, subject, lens) => {
    await explorer.visit(subject === 'training' ? `${trained}&lens=${lens}` : `v=1&subject=${subject}&lens=${lens}`);
    await explorer.untilState(`${subject} through ${lens}`, (state) => state.subject === subject && state.lens === lens);
    await check(explorer, `${subject} through ${lens}`);
};

// A lens has the same elements on all subjects, except for missing parts, so each is tested on one, and on a
// phone on another. In the dark, only the colours of the page's own elements differ, and those are the same
// in every lens.
for (const [name, context, turn] of /** @type {const} */ ([
    ['any lens and any subject, light', { colorScheme: 'light' }, 0],
    ['any subject, dark', { colorScheme: 'dark' }, undefined],
    ['any lens and any subject, on a phone', { viewport: { width: 390, height: 844 }, hasTouch: true }, 1],
])) {
    test(`axe finds nothing wrong with ${name}`, { fragment: trained, context, limit: 300_000 }, async (explorer) => {
        await explorer.openModel(tiny.folder, tiny.text);
        const vectors = Array.from({ length: 24 }, (_, i) => Math.sin(i));
        await explorer.drop(...written({ 'q.npy': npy([2, 3, 4], vectors), 'k.npy': npy([2, 3, 4], vectors) }));
        await explorer.until('the tensors', () => explorer.tensors(), ({ open: given, phase }) => given && phase === null);
        for (const subject of subjects) {
            await open(explorer, subject, 'overview');
        }
        const others = turn === undefined ? [] : lenses.filter((lens) => !['overview', 'translation'].includes(lens));
        for (const [i, lens] of others.entries()) {
            await open(explorer, subjects[(i + turn) % subjects.length], lens);
        }
        await explorer.visit('v=1&subject=worked&lens=translation');
        await explorer.until('the way to the translator', () => explorer.rect('missing/offer'));
        await explorer.click('missing/offer');
        await explorer.until('the translation', () => explorer.rect('translation/lines'));
        await check(explorer, 'a translation');
        await explorer.visit('v=1&subject=worked&lens=ladder&pin=weight.0.1');
        await explorer.untilState('an explanation', ({ pin }) => pin);
        await check(explorer, 'an explanation');
        await explorer.visit('v=1&lesson=lookup');
        await explorer.until('a lesson', () => explorer.rect('lesson/title'));
        await check(explorer, 'a lesson with a check');
        await explorer.visit('v=1&lesson=lookup&lesson.step=4');
        await explorer.until('its questions', () => explorer.rect('lesson/ask/0/0'));
        await check(explorer, 'a lesson with questions');
        await explorer.click('lesson/close');
        await explorer.visit('v=1&subject=worked&lens=ladder&pin=weight.0.1');
        await explorer.untilState('an explanation', ({ pin }) => pin);
        await explorer.page.click('#table');
        await check(explorer, 'the table');
        await explorer.press('Escape');
        await explorer.page.click('#find');
        await explorer.until('the palette', () => explorer.rect('palette'));
        await check(explorer, 'the palette');
    });
}

// ---- Through the tree alone -------------------------------------------------------------------------------

const pressOn = async (locator, key = 'Enter') => {
    await locator.focus();
    await locator.press(key);
};

test('a lens, a setting, a slider and a stepper are found by role and name and used by keyboard', async (explorer) => {
    const { page } = explorer;
    await pressOn(page.getByRole('radio', { name: 'causal' }));
    await explorer.until('the mask', () => explorer.linked('mask'));
    await page.getByRole('radio', { name: 'causal', checked: true }).waitFor();
    await page.getByRole('radio', { name: 'causal' }).press('ArrowRight');
    await page.getByRole('radio', { name: 'window', checked: true }).waitFor();
    await page.getByRole('radio', { name: 'window' }).press('ArrowLeft');

    const temperature = page.getByRole('slider', { name: 'temperature' });
    await explorer.focus('slider', 'temperature');  // behind More
    await pressOn(temperature, 'ArrowRight');
    await explorer.until('a temperature', () => explorer.linked('T'), (t) => t === '1.1');
    await explorer.until('the slider', () => temperature.getAttribute('aria-valuetext'), (text) => text === '1.10');
    await temperature.press('ArrowLeft');

    const tokens = page.getByRole('spinbutton', { name: 'tokens' });
    await pressOn(tokens, 'ArrowUp');
    await explorer.until('a fourth token', () => explorer.matrix('x'), (rows) => rows.length === 4);
    await explorer.until('the stepper', () => tokens.getAttribute('aria-valuenow'), (now) => now === '4');

    const before = await explorer.matrix('q');
    await page.getByRole('textbox', { name: 'seed' }).focus();
    await explorer.settled();
    await page.keyboard.press('Control+A');
    await page.keyboard.type('7');
    await page.keyboard.press('Enter');
    await explorer.until('other numbers', () => explorer.matrix('q'), (q) => q[0][0] !== before[0][0]);

    await pressOn(page.getByRole('tab', { name: 'Ladder', selected: true }), 'ArrowUp');
    await page.getByRole('tab', { name: 'Overview' }).press('Enter');
    await explorer.untilState('the lens', ({ lens }) => lens === 'overview');
    await page.getByRole('tab', { name: 'Overview', selected: true }).waitFor();
    assert.match(await page.getByRole('status').filter({ hasText: 'looks' }).first().innerText(), /\.$/, 'the sentence of the lens is a live region');
    await pressOn(page.getByRole('tab', { name: 'Training' }));
    await explorer.untilState('the subject', ({ subject }) => subject === 'training');
});

test('a cell of the worked example is reached with arrows, read, typed into and read again', async (explorer) => {
    const { page } = explorer;
    const grid = page.getByRole('grid', { name: 'X tokens' });
    await grid.waitFor();
    assert.equal(await grid.getAttribute('aria-rowcount'), '4');
    assert.deepEqual(await grid.getByRole('rowheader').allInnerTexts(), ['cat', 'sat', 'mat']);
    const cell = (row, col) => grid.getByRole('row').nth(row + 1).getByRole('gridcell').nth(col);
    assert.equal(await cell(1, 1).innerText(), '0.90');
    await cell(0, 0).focus();
    for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight']) {
        await page.keyboard.press(key);
    }
    await explorer.untilState('the inspector to explain the cell', ({ shown }) => shown?.join() === 'X,1,2,0,0');
    await page.keyboard.type('0.7');
    const field = page.getByRole('textbox', { name: 'Number' });
    await field.waitFor();
    await explorer.untilFocused(field);
    await explorer.until('what was typed', () => field.innerText(), (text) => text === '0.7');
    await page.keyboard.press('Enter');
    // It is kept in single precision.
    await explorer.until('the edit', () => explorer.matrix('x'), (rows) => Math.abs(rows[1][2] - 0.7) < 1e-6);
    await explorer.until('the cell', () => cell(1, 2).innerText(), (text) => text === '0.70');
    await explorer.until('the focus to return', () => cell(1, 2).evaluate((element) => element === document.activeElement));
    const x = [[1, 0.5, 0.2, 0.8], [0.3, 0.9, 0.7, 0.4], [0.6, 0.2, 0.7, 0.3]];
    const weights = page.getByRole('grid', { name: 'Weights' });
    const read = (await weights.getByRole('gridcell').allInnerTexts()).map(Number);
    near([read], [attention({ q: x, k: x, v: x }).weight.flat()], 0.0051, 'weights of two decimals');
});

test('a head is chosen and a cell of the map read in a sentence', async (explorer) => {
    const { page } = explorer;
    await explorer.openModel(tiny.folder, tiny.text);
    await pressOn(page.getByRole('tab', { name: 'Overview' }));
    const heads = page.getByRole('grid', { name: 'Heads' });
    await pressOn(heads.getByRole('gridcell', { name: 'layer 1, head 2' }));
    await explorer.untilState('the head', ({ layer, head }) => layer === 1 && head === 2);
    await heads.getByRole('gridcell', { name: 'layer 1, head 2', selected: true }).waitFor();
    const map = page.getByRole('grid', { name: /^Map/ });
    const n = tiny.ids.length;
    assert.equal(await map.getAttribute('aria-colcount'), String(n + 1));
    await told(explorer);
    const text = await map.getByRole('row').nth(3).getByRole('gridcell').nth(1).innerText();
    near([[Number(text)]], [[tiny.attention[1][2][2][1]]], 0.00051, 'a weight of three decimals');
});

test('a large map has all its counts and few of its cells, and arrows walk over it', { fragment: '' }, async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    const { page } = explorer;
    await explorer.openModel(bundled.folder, `${bundled.texts.tired} `.repeat(6).trim());
    await pressOn(page.getByRole('tab', { name: 'Overview' }));
    const map = page.getByRole('grid', { name: /^Map/ });
    const { tokens } = await explorer.state();
    assert.ok(tokens > 32, `${tokens} tokens`);
    await explorer.until('the map', () => map.getAttribute('aria-rowcount'), (count) => count === String(tokens + 1));
    await told(explorer);
    assert.equal(await map.getByRole('gridcell').count(), 1);
    const place = () => page.evaluate(() => ['data-row', 'data-col'].map((name) => document.activeElement?.getAttribute(name)).join());
    await map.getByRole('gridcell').focus();
    const [row, col] = (await place()).split(',').map(Number);
    for (let step = 1; step <= 3; ++step) {
        const to = row > 3 ? row - step : row + step;
        await page.keyboard.press(row > 3 ? 'ArrowUp' : 'ArrowDown');
        await explorer.until('the next cell', place, (now) => now === `${to},${col}`);
        await explorer.untilState('its explanation', ({ shown }) => shown?.slice(1, 3).join() === `${to},${col}`);
    }
});

test('the palette opens, says what it has found, and closes', async (explorer) => {
    const { page } = explorer;
    await page.keyboard.press('Control+K');
    const field = page.getByRole('combobox', { name: 'Find' });
    await explorer.untilFocused(field);
    await page.keyboard.type('scale');
    await explorer.until('the text', () => field.innerText(), (text) => text === 'scale');
    await told(explorer);
    const active = await field.getAttribute('aria-activedescendant');
    assert.equal(await page.evaluate((id) => document.getElementById(id)?.getAttribute('aria-selected'), active), 'true');
    await page.keyboard.press('Escape');
    await explorer.until('the palette to close', () => field.count(), (count) => count === 0);
    await page.keyboard.press('Control+K');
    await field.waitFor();
    await page.keyboard.type('no such thing');
    await explorer.until('the text', () => field.innerText(), (text) => text === 'no such thing');
    await page.keyboard.press('Enter');
    await told(explorer);
    await page.keyboard.press('Escape');
    await explorer.until('the palette to close', () => field.count(), (count) => count === 0);
    await page.keyboard.press('Control+K');
    await field.waitFor();
    await page.keyboard.type('scale');
    await told(explorer);
    await page.getByRole('option', { name: /^Scale.*lens$/ }).dispatchEvent('click');
    await explorer.untilState('the lens', ({ lens }) => lens === 'scale');
});

test('a list opens with the focus in it, and gives the focus back', async (explorer) => {
    const { page } = explorer;
    const button = page.getByRole('button', { name: /^Example: A/ });
    await pressOn(button);
    const options = page.getByRole('listbox', { name: 'Example' }).getByRole('option');
    await explorer.until('the focus to be in the list', () => options.first().evaluate((element) => element === document.activeElement));
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await explorer.until('the example', () => explorer.linked('ex'));
    await explorer.until('the focus to return', () => page.getByRole('button', { name: /^Example: B/ }).evaluate((element) => element === document.activeElement));
});

test('arrow keys walk over the words of a sentence in their order', async (explorer) => {
    const { page } = explorer;
    await explorer.openModel(tiny.folder, tiny.text);
    await pressOn(page.getByRole('tab', { name: 'Overview' }));
    const words = page.getByRole('listbox', { name: 'Words' }).getByRole('option');
    const keys = () => words.evaluateAll((all) => all.map((word) => word.getAttribute('data-key')));
    const inOrder = tiny.ids.map((_, i) => `token/${i}`);
    await explorer.until('the words in their order', async () => (await keys()).join(), (now) => now === inOrder.join());
    const at = async (expected) => {
        await explorer.until(expected, () => page.evaluate(() => document.activeElement?.getAttribute('data-key')), (key) => key === expected);
        await told(explorer);
        assert.deepEqual(await keys(), inOrder, 'whichever has the focus');
    };
    await pressOn(words.nth(3));
    await explorer.untilState('the word', ({ query }) => query === 3);
    for (const [key, expected] of /** @type {const} */ ([['ArrowLeft', 2], ['ArrowLeft', 1], ['ArrowLeft', 0], ['ArrowLeft', 0], ['ArrowRight', 1], ['End', last], ['ArrowRight', last], ['ArrowLeft', last - 1], ['Home', 0]])) {
        await page.keyboard.press(key);
        await at(`token/${expected}`);
    }
});

test('when what had the focus is gone, the focus is on the tab that is open', async (explorer) => {
    const { page } = explorer;
    await page.getByRole('tab', { name: 'Sentence' }).focus();
    await explorer.focus('slider', 'temperature');
    await told(explorer);
    await explorer.visit('v=1&subject=tensors');
    await explorer.until('the focus on the open tab', () => page.evaluate(() => document.activeElement?.getAttribute('data-key')), (key) => key === 'subject/tensors');
    await page.getByRole('tab', { name: 'Your tensors', selected: true }).waitFor();
});

test('files chosen by keyboard in the menu leave the focus at its button', async (explorer) => {
    const { page } = explorer;
    const focused = () => page.evaluate(() => document.activeElement?.id);
    await pressOn(page.locator('#model'));
    const choosing = page.waitForEvent('filechooser');
    await pressOn(page.locator('#open-tensors'));
    await (await choosing).setFiles(written({ 'attention.npy': npy([2, 2], [1, 0, 0.5, 0.5]) }));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open: given, phase }) => given && phase === null);
    await told(explorer);
    assert.equal(await focused(), 'model');
});

test('notices are heard, and Tab goes through the page and leaves it', async (explorer) => {
    const { page } = explorer;
    assert.equal(await page.locator('#notices').getAttribute('aria-live'), 'polite');
    await explorer.visit('v=1&lens=nowhere');
    await explorer.untilNotice(/./);
    await page.getByRole('alert').or(page.locator('#notices .notice')).first().waitFor();
    await told(explorer);
    await page.locator('#stage').focus();
    const seen = new Set();
    for (let pressed = 0; pressed < 120; ++pressed) {
        await page.keyboard.press('Tab');
        await explorer.settled(2);
        const key = await page.evaluate(() => (document.activeElement.closest('#semantics [data-key]')?.getAttribute('data-key') ?? null));
        if (key === null) {
            break;
        }
        assert.ok(!seen.has(key), `Tab comes to ${key} twice`);
        seen.add(key);
    }
    assert.ok(seen.size > 10 && seen.size < 120, `Tab stops at ${seen.size} elements`);
    assert.ok(seen.has('lens/ladder') && seen.has('more/worked/settings') && seen.has('x'), [...seen].join());
});

test('what has the focus has a ring that is seen', async (explorer) => {
    const { page } = explorer;
    await explorer.focus('slider', 'temperature');
    const { left, top, right, bottom } = await explorer.rect('temperature');
    const ring = await page.evaluate(() => {
        const { x, y, right: end, bottom: below } = document.activeElement.getBoundingClientRect();
        const { outlineStyle, opacity } = getComputedStyle(document.activeElement);
        return { place: [x, y, end, below], outlineStyle, opacity };
    });
    near([ring.place], [[left, top, right, bottom]], 1, 'it is around the control');
    assert.deepEqual([ring.outlineStyle, ring.opacity], ['solid', '1']);
});
