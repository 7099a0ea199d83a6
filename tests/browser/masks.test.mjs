// Tests lens Masks: masks chosen, typed and composed; what a mask keeps, what rows lose, and what a model
// predicts under it.
import assert from 'node:assert/strict';
import { openRows } from './lib/hidden.mjs';
import { tiny } from './lib/models.mjs';
import { near } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';

const fragment = 'v=1&lens=masks';
const first = 900000;  // columns of the lens's numbers in older links: packed_masks_cell
const columns = { count: first, lostOfAll: first + 1, lostOfOwn: first + 2, probability: first + 3, empty: first + 100 };
const single = 2e-6;  // sums of weights in f32, which are at most 1

const number = (explorer, row, column) => explorer.explain('number', row, column);
const cells = (n, allows) => Array.from({ length: n }, (_, q) => Array.from({ length: n }, (__, k) => Number(allows(q, k)))).flat();
const sum = (numbers) => numbers.reduce((a, b) => a + b, 0);

function sentence(kept, of, without = 0) {
    const share = 100 * kept / of;
    const empty = without === 0 ? 'and every query has a key.' : `and ${without} ${without === 1 ? 'query has' : 'queries have'} no key.`;
    return `This mask keeps ${kept.toLocaleString('en')} of ${of.toLocaleString('en')} cells (${share.toFixed(share >= 0.95 || share === 0 ? 0 : share >= 0.095 ? 1 : 2)} %), ${empty}`;
}
const untilSpoken = (explorer, said) => explorer.until(said, async () => (await explorer.state()).spoken, (spoken) => spoken === said);

test('a window, and any n: what is kept is what its formula says', { fragment }, async (explorer) => {
    await untilSpoken(explorer, sentence(6, 9));
    await explorer.click('masks/preset/window of 16');
    await explorer.until('the window', () => explorer.linked('masks.mask'), (mask) => mask === 'window(15,0)');
    await explorer.click('masks/size/any n');
    await untilSpoken(explorer, sentence(16 * 1024 - 120, 1024 * 1024));
    await explorer.drag('masks/n', 60);
    const n = Number(await explorer.until('a larger n', () => explorer.linked('masks.n'), (text) => Number(text) > 1024));
    await untilSpoken(explorer, sentence(16 * n - 120, n * n));
    // The kernel's tiles of 48 × 64 without an allowed cell.
    let tiles = 0, skipped = 0;
    for (let q = 0; q < n; q += 48) {
        for (let k = 0; k < n; k += 64) {
            ++tiles;
            skipped += k > Math.min(q + 47, n - 1) || Math.min(k + 63, n - 1) < q - 15 ? 1 : 0;
        }
    }
    near([(await number(explorer, 1, columns.count)).f64], [skipped / tiles], 1e-12, 'tiles skipped');
    await explorer.press('Control+Z', 'Control+Z', 'Control+Z');
    await untilSpoken(explorer, sentence(6, 9));
});

test('16,384 queries are drawn and counted, and the page stays awake to a click', { fragment: `${fragment}&masks.mask=causal(0)%26strided(8)&masks.n=16384` }, async (explorer) => {
    const n = 16384;
    let kept = 0;
    for (let q = 0; q < n; ++q) {
        kept += Math.floor(q / 8) + 1;
    }
    await untilSpoken(explorer, sentence(kept, n * n));
    await explorer.until('the whole map', () => explorer.rect('masks/map/complete'));
    await explorer.click('masks/preset/causal');
    await untilSpoken(explorer, sentence(n * (n + 1) / 2, n * n));
});

test('neither a focus that moves nor the mouse that does not, as Chromium says after a layout, lets a held key go', { fragment }, async (explorer) => {
    await explorer.click('masks/text');
    await explorer.settled();
    const { x, y } = await explorer.rect('masks/text');
    await explorer.page.evaluate(([clientX, clientY]) => {
        const canvas = document.getElementById('canvas');
        addEventListener('keydown', ({ code }) => {
            if (code === 'ControlLeft') {
                canvas.dispatchEvent(new FocusEvent('blur'));
            } else if (code === 'KeyA') {
                canvas.dispatchEvent(new MouseEvent('mousemove', { clientX, clientY, bubbles: true }));
            }
        });
    }, [x, y]);
    await explorer.page.keyboard.down('Control');
    await explorer.settled();
    await explorer.press('a');
    await explorer.page.keyboard.up('Control');
    await explorer.settled();
    await explorer.page.keyboard.type('window(0,0)');
    await explorer.until('all of it was chosen', () => explorer.linked('masks.mask'), (mask) => mask === 'window(0,0)');
});

test('a mask is typed, and what is no mask leaves the picture as it is', { fragment }, async (explorer) => {
    await explorer.click('masks/text');
    await explorer.settled();
    await explorer.press('Control+A');
    await explorer.page.keyboard.type('causal(0) & !strided(2');
    await explorer.until('the fault', () => explorer.rect('masks/fault'));
    assert.equal(await explorer.linked('masks.mask'), undefined);
    await explorer.page.keyboard.type(')');
    await explorer.until('the mask', () => explorer.linked('masks.mask'), (mask) => mask === 'causal(0) & !strided(2)');
    const allows = (q, k) => k <= q && (q - k) % 2 !== 0;
    await untilSpoken(explorer, sentence(sum(cells(3, allows)), 9, 1));
    const shown = [];
    for (let q = 0; q < 3; ++q) {
        for (let k = 0; k < 3; ++k) {
            shown.push((await number(explorer, q, k)).f64);
        }
    }
    assert.deepEqual(shown, cells(3, allows));
    // Query 0 has no key: zeros, equal weights, NaN, the sink.
    const convention = async (i) => (await number(explorer, 0, columns.empty + 16 * i)).f64;
    assert.deepEqual([await convention(0), await convention(1), await convention(2), await convention(3)], [0, 1 / 3, 'nan', 0]);
    await explorer.press('Enter');
    await explorer.settled();  // the field has the keys of its last frame
    await explorer.press('Control+Z');
    await untilSpoken(explorer, sentence(6, 9));
});

test('what rows of the example lose is what its weights say, and a click on a cell explains it', { fragment: `${fragment}&masks.mask=window(0,0)` }, async (explorer) => {
    const weights = await explorer.attention(0, 0);
    await explorer.until('the curve', () => explorer.rect('chart/masks/lost'));
    for (const [q, row] of weights.entries()) {
        const { f32, f64, operands } = await number(explorer, q, columns.lostOfOwn);
        near([f32, f64], Array(2).fill(sum(row) - row[q]), single, `row ${q}`);
        assert.equal(operands.length, 2);
    }
    await explorer.click('masks/map/1/2');
    await explorer.untilState('the pin', ({ pin }) => pin?.[0] === 'masks.mask.1.2');
    assert.match((await number(explorer, 1, 2)).title, /^Mask\["sat", "mat"\]$/);
});

test('with a model: what a head loses, and the next token under the mask', { fragment }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('lens/masks');
    await explorer.until('the lens', async () => (await explorer.state()).lens, (lens) => lens === 'masks');
    const { tokens } = await explorer.state();
    await untilSpoken(explorer, sentence(tokens * (tokens + 1) / 2, tokens ** 2));
    const logits = await explorer.logits();
    const most = Math.max(...logits), exps = logits.map((x) => Math.exp(x - most)), all = sum(exps);
    await explorer.click('masks/model/under this mask');
    await explorer.until('the run', () => explorer.rect('masks/after/0'));
    // The model's own mask changes nothing.
    const best = logits.indexOf(most);
    near([(await number(explorer, best, columns.probability)).f64], [exps[best] / all], 1e-6, 'the likeliest token');
    await explorer.click('masks/term/0/remove');
    await explorer.click('masks/preset/causal');
    await explorer.click('masks/text');
    await explorer.settled();
    await explorer.press('Control+A');
    await explorer.page.keyboard.type('window(1,0)');
    await explorer.until('the window', () => explorer.linked('masks.mask'), (mask) => mask === 'window(1,0)');
    await explorer.until('the curves', () => explorer.rect('chart/masks/lost'));
    const weights = await explorer.attention(0, 0);
    for (const q of [0, 1, 2, tokens - 1]) {
        const lost = sum(weights[q].filter((_, k) => k < q - 1 || k > q));
        const { f64 } = await explorer.until(`row ${q}`, () => number(explorer, q, columns.lostOfOwn));
        near([f64], [lost], single, `row ${q}`);
    }
    await explorer.until('the run', () => number(explorer, best, columns.probability), (why) => why && why.f64 !== exps[best] / all);

    // Its link reopens it in the same state.
    await explorer.settled();
    const { fragment: link, spoken } = await explorer.state();
    assert.match(link, /masks\.run=1/);
    await explorer.click('lens/overview');
    await explorer.visit(link);
    await untilSpoken(explorer, spoken);
    await explorer.until('the run again', () => explorer.rect('masks/after/0'));
});

test('the text of a library is copied', { fragment, context: { permissions: ['clipboard-read', 'clipboard-write'] } }, async (explorer) => {
    await explorer.click('masks/copy');
    await explorer.until('the list', () => explorer.rect('masks/copy/NumPy'));
    await explorer.settled();
    await explorer.click('masks/copy/NumPy');
    await explorer.until('the text', () => explorer.page.evaluate(() => navigator.clipboard.readText()), (text) => text === [
        '# True where a query may look at a key: causal(0)', 'import numpy as np', '', 'n_q, n_k = 3, 3',
        'q, k = np.arange(n_q)[:, None], np.arange(n_k)[None, :]', 'allowed = np.broadcast_to((k <= q), (n_q, n_k))', '',
    ].join('\n'));
});

test('the keyboard alone chooses, types, changes terms in brackets and paints', { fragment }, async (explorer) => {
    const element = (key) => explorer.page.locator(`[data-key="${key}"]`);
    await openRows(explorer, element('masks/text'), 1000);
    await explorer.until('the elements', () => element('masks/text').count());
    await element('masks/preset/causal').focus();
    await explorer.press('ArrowRight', 'Enter');
    await explorer.until('the window', () => explorer.linked('masks.mask'), (mask) => mask === 'window(15,0)');
    await element('masks/text').focus();
    await explorer.settled();
    await explorer.press('End');
    await explorer.page.keyboard.type(' & padding(2)');
    await explorer.until('the term', () => explorer.linked('masks.mask'), (mask) => mask === 'window(15,0) & padding(2)');
    await explorer.press('Tab');
    await explorer.settled();
    await element('masks/term/1/keys').focus();
    await explorer.settled();
    await explorer.press('ArrowUp');
    await explorer.until('the number', () => explorer.linked('masks.mask'), (mask) => mask === 'window(15,0) & padding(3)');
    await element('masks/term/1/brackets').focus();
    await explorer.press('Enter');
    await explorer.until('the list', () => explorer.rect('masks/term/1/brackets/or strided'));
    await element('masks/term/1/brackets/or strided').focus();
    await explorer.press('Enter');
    await explorer.until('the brackets', () => explorer.linked('masks.mask'), (mask) => mask === 'window(15,0) & (padding(3) | strided(4))');
    await explorer.settled();
    await element('masks/term/1/1/stride').focus();
    await explorer.settled();
    await explorer.press('ArrowDown');
    await explorer.until('the number within', () => explorer.linked('masks.mask'), (mask) => mask === 'window(15,0) & (padding(3) | strided(3))');
    await element('masks/term/1/1').focus();
    await explorer.press('Enter');
    await explorer.until('the opposite within', () => explorer.linked('masks.mask'), (mask) => mask === 'window(15,0) & (padding(3) | !strided(3))');
    await element('masks/term/1/dissolve').focus();
    await explorer.press('Enter');
    await explorer.until('no brackets', () => explorer.linked('masks.mask'), (mask) => mask === 'window(15,0) & padding(3) & !strided(3)');
    await element('masks/paint').focus();
    await explorer.press('Enter');
    await explorer.settled();
    const before = (await number(explorer, 0, 1)).f64;
    await element('masks/map').locator('[tabindex="0"]').first().focus();
    await explorer.press('ArrowRight', 'Enter');
    await explorer.until('the cell', () => number(explorer, 0, 1), (why) => why.f64 !== before);
    assert.match(await explorer.linked('masks.mask'), /cells\(1,\[0,1,1,2\]\)$/);
});

test('terms in brackets are changed, joined and dissolved by the mouse', { fragment: `${fragment}&masks.mask=causal(0)%26!(padding(1)%7Cwindow(2,0)%26strided(2))` }, async (explorer) => {
    const becomes = (mask) => explorer.until(mask, () => explorer.linked('masks.mask'), (now) => now === mask);
    const choose = async (menu, item) => {
        await explorer.click(menu);
        await explorer.until('the list', () => explorer.rect(`${menu}/${item}`));
        await explorer.settled();
        await explorer.click(`${menu}/${item}`);
    };
    await explorer.settled();
    await explorer.click('masks/term/1/1/0/back/less');
    await becomes('causal(0) & !(padding(1) | window(1,0) & strided(2))');
    await explorer.click('masks/term/1/1/1');
    await becomes('causal(0) & !(padding(1) | window(1,0) & !strided(2))');
    await explorer.click('masks/term/1/not');
    await becomes('causal(0) & (padding(1) | window(1,0) & !strided(2))');
    await choose('masks/term/1/1/add', 'prefix');
    await becomes('causal(0) & (padding(1) | window(1,0) & !strided(2) & prefix(0))');
    await explorer.click('masks/term/1/1/2/remove');
    await becomes('causal(0) & (padding(1) | window(1,0) & !strided(2))');
    await untilSpoken(explorer, sentence(sum(cells(3, (q, k) => k <= q && (k < 1 || (k >= q - 1 && (q - k) % 2 !== 0)))), 9));
    await explorer.click('masks/term/1/1/dissolve');
    await becomes('causal(0) & (padding(1) | window(1,0) | !strided(2))');
    await choose('masks/term/1/0/brackets', 'and the next term');
    await becomes('causal(0) & (padding(1) & window(1,0) | !strided(2))');
    await explorer.click('masks/term/1/join/and');
    await becomes('causal(0) & padding(1) & window(1,0) & !strided(2)');
    await explorer.press('Control+Z');
    await becomes('causal(0) & (padding(1) & window(1,0) | !strided(2))');
    await explorer.click('masks/term/1/remove');
    await explorer.until('the first term alone', () => explorer.linked('masks.mask'), (now) => now === undefined);
});

const stroke = (explorer, from, to) => explorer.dragBetween(from, to, 6);

test('a drag paints every cell on its way as the first, in one step of undo', { fragment }, async (explorer) => {
    await explorer.click('masks/paint');
    await explorer.settled();
    const cell = (q, k) => explorer.reveal(`masks/map/${q}/${k}`);
    await stroke(explorer, await cell(0, 1), await cell(0, 2));
    await explorer.until('the two cells', () => explorer.linked('masks.mask'), (mask) => mask === 'causal(0) | cells(1,[0,1,1,3])');
    await untilSpoken(explorer, sentence(8, 9));
    // The stroke starts at a visible cell and passes over visible and hidden ones: all of them become hidden.
    await stroke(explorer, await cell(2, 0), await cell(0, 2));
    await untilSpoken(explorer, sentence(5, 9));
    const allows = (q, k) => (k <= q || q === 0) && q + k !== 2;
    const shown = [];
    for (let q = 0; q < 3; ++q) {
        for (let k = 0; k < 3; ++k) {
            shown.push((await number(explorer, q, k)).f64);
        }
    }
    assert.deepEqual(shown, cells(3, allows));
    const { fragment: link } = await explorer.state();
    await explorer.press('Control+Z');
    await untilSpoken(explorer, sentence(8, 9));
    await explorer.press('Control+Z');
    await untilSpoken(explorer, sentence(6, 9));
    await explorer.visit(link);
    await untilSpoken(explorer, sentence(5, 9));
});

test('16,384 queries are painted square by square with one drag', { fragment: `${fragment}&masks.mask=everything&masks.n=16384` }, async (explorer) => {
    const n = 16384;
    await untilSpoken(explorer, sentence(n * n, n * n));
    await explorer.click('masks/paint');
    await explorer.settled();
    const { left, top, right, bottom } = await explorer.reveal('masks/map');
    await stroke(explorer, { x: left + 2, y: top + 2 }, { x: right - 2, y: bottom - 2 });
    await explorer.until('the stroke', () => explorer.linked('masks.mask'), (mask) => mask?.startsWith('!cells('));
    const [, unit] = /^!cells\((\d+),/.exec(await explorer.linked('masks.mask'));
    await untilSpoken(explorer, sentence(n * n - n * Number(unit), n * n));
    await explorer.press('Control+Z');
    await untilSpoken(explorer, sentence(n * n, n * n));
});
