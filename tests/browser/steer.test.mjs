// Tests Steer: a direction is chosen, its dial moved by mouse and keyboard, and what comes next moves with it; the
// change behaves like every other one, and two sets of texts typed here give a direction, too.
import assert from 'node:assert/strict';
import { bundled } from './lib/bundled.mjs';
import { tiny } from './lib/models.mjs';
import { phone, skip, test } from './lib/suite.mjs';

/** The dial of the only change, which has a direction. */
async function dial(explorer) {
    const changes = await explorer.linked('changes');
    return changes === undefined ? undefined : Number(changes.split(',')[6]);
}
async function done(explorer) {
    await explorer.idle();
}
async function open(explorer) {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.dismiss();
    const { fragment } = await explorer.state();
    await explorer.visit(`${fragment}&lens=steer`);
    await explorer.untilState('the lens', ({ lens, spoken }) => lens === 'steer' && spoken.startsWith('Turn the dial'));
    await done(explorer);
}
async function chooseKind(explorer, kind) {
    const option = `steer/kind/${kind}`;
    await explorer.click('steer/kind');
    await explorer.until('the list', () => explorer.rect(option));
    await explorer.settled();
    const { x, y } = await explorer.rect(option);
    await explorer.page.mouse.click(x, y);
}
const logitsBut = (explorer, before) => explorer.until('other logits', () => explorer.logits(), (now) => now.some((logit, i) => logit !== before[i]));

test('Steer: a direction is chosen and its dial moved by mouse and keyboard, with chip, B, undo and link', async (explorer) => {
    const { page } = explorer;
    await open(explorer);
    const plain = await explorer.logits();
    await chooseKind(explorer, 'unembedding');
    await explorer.until('the change', () => explorer.linked('changes'), (now) => /^residual_in,\d+,,,,add,0\.5,unembedding_\d+$/.test(now ?? ''));
    await explorer.found('changed/0');
    const steered = await logitsBut(explorer, plain);
    await done(explorer);
    assert.match((await explorer.state()).spoken, /^Adding the unembedding of “.+” before layer \d+ raises “.+” from .+ to .+\./);

    await explorer.drag('steer/dial', 30);
    const dragged = await explorer.until('the dial by mouse', () => dial(explorer), (now) => now > 0.5);
    await logitsBut(explorer, steered);
    await done(explorer);
    await explorer.focus('slider', 'dial');
    await explorer.press('ArrowRight');
    await explorer.until('one step up', () => dial(explorer), (now) => Math.abs(now - dragged - 0.01) < 1e-9);
    await explorer.press('Home');
    await explorer.until('the lowest dial', () => dial(explorer), (now) => now === -2);
    await done(explorer);
    const down = await explorer.logits();
    assert.match((await explorer.state()).spoken, /^Subtracting the unembedding of /);

    await page.locator('#stage').focus();
    await explorer.press('b');
    await explorer.until('the run before', () => explorer.logits(), (now) => now.every((logit, i) => logit === plain[i]));
    await explorer.press('b');
    await explorer.until('the changed run', () => explorer.logits(), (now) => now.every((logit, i) => logit === down[i]));

    // The link brings the change back, and so does undo.
    const { fragment } = await explorer.state();
    await explorer.click('changed/0/drop');
    await explorer.until('no change', () => explorer.linked('changes'), (now) => now === undefined);
    await page.click('#undo');
    await explorer.until('the change again', () => dial(explorer), (now) => now === -2);
    await explorer.click('changed/0/drop');
    await explorer.until('no change', () => dial(explorer), (now) => now === undefined);
    await explorer.until('the plain run', () => explorer.logits(), (now) => now.every((logit, i) => logit === plain[i]));
    await explorer.visit(fragment);
    await explorer.until('the change of the link', () => dial(explorer), (now) => now === -2);
    await explorer.until('its run', () => explorer.logits(), (now) => now.every((logit, i) => logit === down[i]));
});

test('Steer: positive minus negative texts are typed, several on each side', async (explorer) => {
    const { page } = explorer;
    await open(explorer);
    const [a, b, c, d] = tiny.words.filter((word) => /^[a-z]+$/.test(word));
    await chooseKind(explorer, 'contrast');
    for (const [side, lines] of Object.entries({ positive: [`${a} ${b}`, c], negative: [d, `${b} ${a} ${d}`] })) {
        await explorer.click(`contrast/${side}`);
        await explorer.press('Control+A');
        await page.keyboard.type(lines[0]);
        await explorer.press('Enter');
        await page.keyboard.type(lines[1]);
        await explorer.until(side, () => explorer.linked(`contrast.${side}`), (now) => now === lines.join('\n'));
    }
    await done(explorer);
    assert.match(await explorer.linked('changes'), /^residual_in,\d+,,,,add,0\.5,contrast$/);
    const { spoken, fragment } = await explorer.state(), steered = await explorer.logits();
    assert.match(spoken, /^Adding positive minus negative texts before layer \d+ /);
    await explorer.click('changed/0/drop');
    const plain = await logitsBut(explorer, steered);
    await page.click('#undo');
    await explorer.until('the steered run', () => explorer.logits(), (now) => now.every((logit, i) => logit === steered[i]));
    await page.click('#undo');  // what was typed on the negative side
    await explorer.until('the negative texts before', () => explorer.linked('contrast.negative'), (now) => now === undefined);
    await explorer.visit(fragment);
    await explorer.until('the texts of the link', () => explorer.linked('contrast.negative'), (now) => now === `${d}\n${b} ${a} ${d}`);
    await explorer.until('their run', () => explorer.logits(), (now) => now.every((logit, i) => logit === steered[i]));
    assert.notDeepEqual(plain, steered);
});

test('Steer: on a phone a tap adds a token, and another one takes it back', { context: phone, fragment: 'v=1&subject=sentence&lens=steer' }, async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    await explorer.untilState('the lens', ({ lens, spoken }) => lens === 'steer' && spoken.startsWith('Turn the dial'));
    await done(explorer);
    await explorer.tap('settings');
    await explorer.found('steer/try/token');
    await explorer.settled();
    await explorer.tap('steer/try/token');
    await explorer.until('the change', () => dial(explorer), (now) => now === 0.5);
    await done(explorer);
    await explorer.tap('changed/0/drop');
    await explorer.until('no change', () => dial(explorer), (now) => now === undefined);
});

test('Steer: on a phone, texts are typed line by line with the phone’s keyboard', {
    context: phone, fragment: 'v=1&subject=sentence&lens=steer&changes=residual_in,2,,,,add,0.5,contrast',
}, async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    const { page } = explorer;
    await explorer.untilState('the lens', ({ lens, spoken }) => lens === 'steer' && spoken.startsWith('Adding positive minus negative texts'));
    await done(explorer);
    const field = page.locator('textarea[data-field="contrast/positive"]');
    await field.waitFor({ state: 'attached' });
    await field.focus();
    await field.fill('The girl sang');
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.keyboard.type('The aunt slept');
    await explorer.until('two texts', () => explorer.linked('contrast.positive'), (now) => now === 'The girl sang\nThe aunt slept');
});
