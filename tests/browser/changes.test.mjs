// Tests interventions in a model's run: made with the mouse and the keyboard, in links and in undo, and
// compared with PyTorch's hooks.
import assert from 'node:assert/strict';
import { hooked, tiny } from './lib/models.mjs';
import { near } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';

const sentence = (explorer) => explorer.ask('subject', 'sentence');
const changed = (explorer, holds = true) => explorer.until(`a changed run: ${holds}`, () => sentence(explorer), (now) => now.changed === holds);

for (const { name, folder, text, cases } of hooked) {
    test(`${name}: the run goes on from a change at any site as PyTorch with a hook there`, async (explorer) => {
        await explorer.openModel(folder, text);
        const { fragment } = await explorer.state();
        // Activations of these models are within ±10, and f32 kernels leave 2e-5 of the logits
        // (tests/unit/model/golden_test.cpp).
        for (const { link, logits, weights } of cases) {
            await explorer.visit(`${fragment}&changes=${link}`);
            await explorer.untilState(link, (state) => new URLSearchParams(state.fragment).get('changes') === link);
            await explorer.idle();
            near(await explorer.logits(), logits, 1e-4, link);
            for (const [head, rows] of weights.entries()) {
                near(await explorer.attention(1, head), rows, 1e-5, `${link}, weights of head ${head}`);
            }
        }
    });
}

test('a head is switched off from the menu, B shows the run before, and link, chip and undo say so', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const plain = await explorer.logits();
    await explorer.click('change');
    await explorer.click('change/Switch this head off');
    await changed(explorer);
    const off = await explorer.logits();
    assert.notDeepEqual(off, plain);
    assert.equal(await explorer.linked('changes'), 'head_output,0,0,,,zero');
    await explorer.found('changed/measured');
    await explorer.until('what it does', () => explorer.page.evaluate(() => document.body.textContent ?? ''),
        (text) => /(Now “\w+” [\d.]+ %, before “\w+” [\d.]+ %; )?“\w+” from [\d.]+ % to [\d.]+ %/.test(text));
    await explorer.until('it to be said', () => explorer.page.innerText('#live'), (text) => /“\w+” from [\d.]+ % to [\d.]+ %/.test(text));

    await explorer.press('b');
    await changed(explorer, false);
    assert.deepEqual(await explorer.logits(), plain);
    await explorer.press('b');
    await changed(explorer);
    assert.deepEqual(await explorer.logits(), off);

    // The link restores the change, and typing continues under it.
    const { fragment } = await explorer.state();
    await explorer.click('changed/0');
    await changed(explorer, false);
    await explorer.visit(fragment);
    await changed(explorer);
    assert.deepEqual(await explorer.logits(), off);
    await explorer.write(`${tiny.text} the`);
    await explorer.untilRun('the longer text', ({ tokens }) => tokens === tiny.ids.length + 1);
    await changed(explorer);

    await explorer.click('changed/0/drop');
    await changed(explorer, false);
    await explorer.page.click('#undo');
    await changed(explorer);

    // Shows them side by side.
    await explorer.click('changed/compare');
    await explorer.untilState('lens Compare', ({ lens }) => lens === 'compare');
    await explorer.found('compare/off');
    for (const which of ['first', 'second']) {
        await explorer.found(`compare/next/${which}`);
    }
    await explorer.click('compare/off');
    await explorer.untilState('the run alone', ({ fragment: now }) => !now.includes('before='));
});

test('a pinned number of the model is typed over, and the model goes on from it', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const plain = await explorer.logits();
    const { fragment } = await explorer.state();
    await explorer.visit(`${fragment}&pin=weight.3.1`);
    await explorer.click('change/zero');
    await changed(explorer);
    const { layer, head } = await explorer.state();
    assert.equal(await explorer.linked('changes'), `weight,${layer},${head},3,1,zero`);
    assert.equal((await explorer.attention(layer, head))[3][1], 0);
    assert.notDeepEqual(await explorer.logits(), plain);
    await explorer.click('change/value');
    await explorer.press('Control+A');
    await explorer.page.keyboard.type('0.625');
    await explorer.press('Enter');
    await explorer.until('the weight typed', () => explorer.linked('changes'), (now) => now === `weight,${layer},${head},3,1,set,0.625`);
    await changed(explorer);
    await explorer.until('the weight', () => explorer.attention(layer, head), (rows) => Math.abs(rows[3][1] - 0.625) < 1e-7);
    await explorer.click('change/drop');
    await changed(explorer, false);
    assert.deepEqual(await explorer.logits(), plain);
});

test('what goes into the first layer is taken from a second sentence: the run becomes that one', async (explorer) => {
    const first = 'the cat sat near the door', second = 'the cat slept near the old';
    await explorer.openModel(tiny.folder, second);
    const wanted = await explorer.logits();
    await explorer.write(first);
    await explorer.untilRun(first, ({ pieces }) => pieces.join(' ') === first);
    const plain = await explorer.logits();
    const { fragment } = await explorer.state();
    await explorer.visit(`${fragment}&lens=compare&with=${encodeURIComponent(second)}&changes=residual_in,0,,,,patch`);
    await changed(explorer);
    assert.deepEqual(await explorer.logits(), wanted);
    await explorer.page.locator('#second-sentence').fill('the cat slept');
    await explorer.until('another run', () => explorer.logits(), (logits) => logits.some((logit, i) => logit !== wanted[i]));
    await changed(explorer);
    assert.notDeepEqual(await explorer.logits(), plain, 'three tokens are still those of the second sentence');
    await explorer.click('changed/0/drop');
    await changed(explorer, false);
    assert.deepEqual(await explorer.logits(), plain);
});
