// Tests input that nobody should type, paste, link or drop: each gives one sentence that says what is wrong,
// and the view stays.
import assert from 'node:assert/strict';
import { tiny } from './lib/models.mjs';
import { test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

const pasting = { permissions: ['clipboard-read', 'clipboard-write'] };

// One sentence, short enough to be read.
function isSentence(text) {
    assert.match(text, /^[^\n]{10,300}[.?]$/);
    assert.doesNotMatch(text, /[.?!] [A-Z]/);
}

// Replaces the contents of the field.
async function paste(explorer, field, text) {
    await explorer.click(field);
    await explorer.settled();
    await explorer.press('Control+A');
    await explorer.page.evaluate((copied) => navigator.clipboard.writeText(copied), text);
    await explorer.press('Control+V');
}

// The text below a field.
const said = async (explorer, part) => {
    const found = explorer.page.locator('#semantics p').filter({ hasText: part });
    await found.first().waitFor({ state: 'attached' });
    return (await found.first().textContent()) ?? '';
};

test('an einsum of a megabyte is not taken, and the sum before stays', { fragment: 'v=1&lens=geometry&geometry.part=einsum', context: pasting }, async (explorer) => {
    const { spoken } = await explorer.untilState('the sum', (state) => state.spoken === 'This sum makes 9 numbers of 36 products, and it is R, the raw scores.');
    await paste(explorer, 'geometry/text', 'ij,'.repeat(350000));
    isSentence(await said(explorer, 'An einsum here has at most'));
    assert.equal(await explorer.linked('geometry.einsum'), undefined);
    assert.equal((await explorer.state()).spoken, spoken);
    await paste(explorer, 'geometry/text', 'ij->i with A');
    await explorer.until('what fits', () => explorer.linked('geometry.einsum'), (sum) => sum === 'ij->i with A');
});

test('an expression nested 10,000 deep is refused for its depth', { fragment: 'v=1&lens=masks', context: pasting }, async (explorer) => {
    const { spoken } = await explorer.untilState('the mask', (state) => state.spoken.startsWith('This mask keeps 6 of 9 cells'));
    for (const [before, after] of [['(', ')'], ['!', ''], ['!(', ')']]) {
        await paste(explorer, 'masks/text', `${before.repeat(10000)}causal(0)${after.repeat(10000)}`);
        isSentence(await said(explorer, 'nested too deeply'));
        assert.equal(await explorer.linked('masks.mask'), undefined);
        assert.equal((await explorer.state()).spoken, spoken);
        await paste(explorer, 'masks/text', 'window(0,0)');
        await explorer.until('what is a mask', () => explorer.linked('masks.mask'), (mask) => mask === 'window(0,0)');
        await paste(explorer, 'masks/text', 'causal(0)');
        await explorer.until('the mask as it was', () => explorer.linked('masks.mask'), (mask) => mask === undefined);
    }
    const deep = `${'('.repeat(10000)}causal(0)${')'.repeat(10000)}`;
    await explorer.visit(`v=1&lens=masks&masks.mask=${deep}`);
    await explorer.untilNotice(/masks\.mask/);
    assert.equal((await explorer.state()).spoken, spoken);
});

test('vectors of no component: in a link, typed and dropped', { fragment: 'v=1&lens=scale' }, async (explorer) => {
    await explorer.untilState('the lens', (state) => state.spoken.startsWith('Divided by √64, '));
    await explorer.settled();  // all pairs are drawn
    const { spoken } = await explorer.state();
    await explorer.visit('v=1&lens=scale&scale.d=0');
    isSentence(await explorer.untilNotice(/scale\.d/));
    assert.equal((await explorer.state()).spoken, spoken);
    await explorer.dismiss();
    await explorer.reveal('scale/d');
    await explorer.page.keyboard.down('Control');  // a slider's number is typed after a click with Ctrl
    await explorer.click('scale/d');
    await explorer.page.keyboard.up('Control');
    await explorer.settled();
    await explorer.press('Control+A');
    await explorer.page.keyboard.type('0');
    await explorer.press('Enter');
    await explorer.until('the least d_k that there is', () => explorer.linked('scale.d'), (d) => d === '1');
    await explorer.untilState('what is seen', (state) => state.spoken.startsWith('Divided by √1, '));
    await explorer.drop(...written({ 'q.npy': npy([3, 0], []), 'k.npy': npy([3, 0], []) }));
    isSentence(await explorer.untilNotice(/^'[qk]' is 3×0 and holds no numbers/, 'error'));
    assert.equal((await explorer.state()).lens, 'scale');
});

test('a β of 0 and of a billion: in a link and typed', { fragment: 'v=1&lens=memory' }, async (explorer) => {
    const { spoken } = await explorer.untilState('the lens', (state) => state.lens === 'memory' && state.spoken);
    for (const beta of ['0', '1e9', '-1', 'nan']) {
        await explorer.visit(`v=1&lens=memory&memory.beta=${beta}`);
        isSentence(await explorer.untilNotice(/memory\.beta/));
        assert.equal((await explorer.state()).spoken, spoken);
        await explorer.dismiss();
        await explorer.visit('v=1&lens=memory');
        await explorer.settled();
    }
    for (const beta of ['0', '1e9']) {
        await explorer.click('memory/beta-typed');
        await explorer.settled();
        await explorer.press('Control+A');
        await explorer.page.keyboard.type(beta);
        await explorer.press('Enter');
        isSentence(await explorer.untilNotice(/^The value of β must be from 0\.1 to 100\.$/, 'error'));
        assert.equal(await explorer.linked('memory.beta'), undefined);
        assert.equal((await explorer.state()).spoken, spoken);
        await explorer.dismiss();
    }
});

const lenses = ['overview', 'ladder', 'scale', 'masks', 'softmax', 'gradient', 'inverse', 'order', 'tiles', 'geometry', 'memory'];

test('a NaN in tensors: every lens shows what it can and says one sentence', { fragment: 'v=1&subject=tensors&rule=none' }, async (explorer) => {
    const numbers = Array.from({ length: 24 }, (_, i) => Math.sin(i + 1));
    const q = [...numbers], k = [...numbers].reverse(), v = numbers.map((x) => 2 * x);
    [q[9], k[5], v[2]] = [NaN, NaN, NaN];
    await explorer.drop(...written({ 'q.npy': npy([6, 4], q), 'k.npy': npy([6, 4], k), 'v.npy': npy([6, 4], v) }));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open, phase }) => open && phase === null);
    for (const lens of lenses) {
        await explorer.click(`lens/${lens}`);
        await explorer.untilState(lens, (state) => state.lens === lens);
        await explorer.settled();
        for (const query of [2, 5]) {  // with a NaN of its own, and with NaN in keys only
            await explorer.visit(`${(await explorer.state()).fragment.replace(/&query=\d+/, '')}&query=${query}`);
            await explorer.untilState('the query', (state) => state.query === query);
            await explorer.settled();
            const { spoken } = await explorer.state();
            assert.equal((await explorer.state()).lens, lens);
            assert.match(spoken, /^([^\n]{10,300}\.)?$/);
            assert.ok(spoken !== '' || await explorer.rect('missing') || ['overview', 'ladder'].includes(lens), `${lens} says something`);
        }
    }
    assert.deepEqual(await explorer.notices('error'), []);
});

// A number is changed by a factor of at most 1e9, so several are needed.
const grown = (layer, row, ...sites) => sites.map((site) => `${site},${layer},,${row},,scale,1e9`).join(';');
for (const [name, change] of [
    ['NaN', `${grown(0, 1, 'residual_in', 'residual_middle', 'residual_out')};${grown(1, 1, 'residual_in', 'residual_middle')}`],
    ['infinity', `v,1,0,2,,scale,1e9;head_output,1,0,,,scale,1e9;${grown(1, '', 'attention_output', 'residual_middle', 'residual_out')}`],
]) {
    test(`a change that leaves ${name}: the lenses on a model say one sentence and stay`, async (explorer) => {
        await explorer.openModel(tiny.folder, tiny.text);
        const { fragment } = await explorer.state();
        await explorer.visit(`${fragment}&changes=${change}`);
        await explorer.until('the changed run', () => explorer.ask('subject', 'sentence'), ({ changed }) => changed);
        for (const lens of ['heads', 'knockout', 'steer', 'sources', 'paths', 'layers', 'circuits', 'cache', 'numerics', 'pitfalls']) {
            await explorer.click(`lens/${lens}`);
            await explorer.untilState(lens, (state) => state.lens === lens);
            const parts = { heads: 5, knockout: 3, steer: 0, sources: 6, paths: 0, layers: 1, circuits: 5, cache: 3, numerics: 0, pitfalls: 0 }[lens];
            for (let part = 0; part < parts; ++part) {
                const named = Object.keys(await explorer.landmarks()).filter((landmark) => new RegExp(`^${lens}/part/[^/]+$`).test(landmark));
                if (named[part]) {
                    await explorer.reveal(named[part]);
                    await explorer.click(named[part]);
                }
                await explorer.idle();
                const { spoken, lens: now } = await explorer.state();
                assert.equal(now, lens);
                assert.match(spoken, /^[^\n]{10,600}\.$/, `${lens}, ${named[part] ?? 'alone'}: ${spoken}`);
            }
        }
        assert.equal((await explorer.ask('subject', 'sentence')).changed, true, 'the change is still there');
        assert.deepEqual(await explorer.notices('error'), []);
    });
}
