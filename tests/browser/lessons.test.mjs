// Takes every lesson of the site through real events, as a learner does who asks to be shown; one of them by
// keyboard alone, one by fingers, and one by hand. Lessons that are dropped, broken, large or missing are told
// in a sentence, and how far one is in a lesson is kept.
import assert from 'node:assert/strict';
import { bundled } from './lib/bundled.mjs';
import { atStep, fingers, heading, keyboard, lessonCalled, lessons, mouse, panelText, take, usable } from './lib/lessons.mjs';
import { phone, skip, test } from './lib/suite.mjs';
import { written } from './lib/tensors.mjs';

const patient = 900_000;  // ms: lessons train, translate and measure

/** @param {string} needs */
function skipWithout(needs) {
    if (['storyteller', 'translator', 'nothing'].includes(needs) && bundled.absent) {
        skip(bundled.absent);
    }
}

// ---- Every lesson -----------------------------------------------------------------------------------------

for (const lesson of lessons) {
    test(`the lesson ${lesson.name} is taken from its first step to its last`, { fragment: `v=1&lesson=${lesson.name}`, limit: patient }, async (explorer) => {
        skipWithout(lesson.needs);
        const skipped = await take(explorer, lesson, mouse(explorer));
        if (skipped.length) {
            console.log(`      ${lesson.name}: skipped ${skipped.join('; ')}`);
        }
        assert.deepEqual(await explorer.notices('error'), []);
    });
}

test('a lesson is taken by keyboard alone', { fragment: 'v=1&lesson=one-token-back', limit: patient }, async (explorer) => {
    assert.deepEqual(await take(explorer, lessonCalled('one-token-back'), keyboard(explorer)), []);
});

test('a lesson is taken on a phone', { context: phone, fragment: 'v=1&lesson=one-token-back', limit: patient }, async (explorer) => {
    assert.deepEqual(await take(explorer, lessonCalled('one-token-back'), fingers(explorer)), []);
});

// ---- By hand ----------------------------------------------------------------------------------------------

test('a check follows what is typed, and lets one go on once it holds', { fragment: 'v=1&lesson=one-token-back' }, async (explorer) => {
    const [first, second] = lessonCalled('one-token-back').steps;
    await atStep(explorer, first);
    assert.ok(!await usable(explorer, 'lesson/next'));
    await explorer.until('the weight before', () => panelText(explorer), (text) => /“sat” gives “cat” \d+ %; it should be more than 80 %\./.test(text));
    await explorer.type('w_k/0/1', '3');
    await explorer.settled();
    assert.ok(!await usable(explorer, 'lesson/next'), '3 is not enough');
    await explorer.type('w_k/0/1', '10');
    await explorer.until('Next', () => usable(explorer, 'lesson/next'));
    assert.match(await panelText(explorer), /“sat” gives “cat” (8|9)\d %, with a scaled score of/);
    await explorer.press('Control+z');
    await explorer.until('undo', async () => (await explorer.matrix('w_k'))[0][1], (number) => number < 10);
    assert.ok(await usable(explorer, 'lesson/next'), 'a step that was done stays done');
    await explorer.click('lesson/next');
    await atStep(explorer, second);
    await explorer.click('lesson/back');
    await atStep(explorer, first);
});

test('what a step locks refuses an edit in a sentence', { fragment: 'v=1&lesson=one-token-back' }, async (explorer) => {
    await atStep(explorer, lessonCalled('one-token-back').steps[0]);
    const before = await explorer.matrix('w_q');
    await explorer.type('w_q/0/0', '5');
    await explorer.untilNotice(/W_Q is locked in this step of the lesson\. Skip the step or close the lesson to change it\./);
    assert.deepEqual(await explorer.matrix('w_q'), before);
    await explorer.click('lesson/close');
    await explorer.until('the lesson to be closed', async () => !await explorer.rect('panel/lesson'));
    await explorer.dismiss();
    await explorer.type('w_q/0/0', '5');
    await explorer.until('the edit', async () => (await explorer.matrix('w_q'))[0][0], (number) => number === 5);
});

test('a hint comes on request, and after two tries by itself', { fragment: 'v=1&lesson=one-token-back' }, async (explorer) => {
    await atStep(explorer, lessonCalled('one-token-back').steps[0]);
    const hint = /The row of “cat” in K should point/;
    assert.doesNotMatch(await panelText(explorer), hint);
    for (const number of ['2', '2.5']) {
        await explorer.type('w_k/0/1', number);
        await explorer.page.waitForTimeout(2500);  // a change that is left standing is a try
    }
    await explorer.until('a hint', () => panelText(explorer), (text) => hint.test(text));
    await explorer.click('lesson/hint');
    await explorer.until('another hint', () => panelText(explorer), (text) => /raise the number in row 0, column 1/.test(text));
});

test('Ctrl+Z in the text of a lesson undoes what was typed, and nothing of the page', async (explorer) => {
    await explorer.type('w_k/0/1', '3');
    await explorer.settled();
    await explorer.press('Control+K');
    await explorer.until('the palette', () => explorer.rect('palette'));
    await explorer.page.keyboard.type('write a lesson');
    await explorer.settled();
    await explorer.press('Enter');
    await explorer.page.getByRole('textbox', { name: 'The text of the lesson' }).click();
    const draft = () => explorer.page.evaluate(() => localStorage.getItem('lesson-draft') ?? '');
    await explorer.page.keyboard.type('Q');
    await explorer.until('the letter', draft, (text) => text.includes('Q'));
    await explorer.press('Control+z');
    await explorer.until('the letter to be gone', draft, (text) => !text.includes('Q'));
    assert.equal((await explorer.matrix('w_k'))[0][1], 3);
});

test('a lesson is written with letters that no key has; what a button adds is undone with the rest', { fragment: 'v=1&pin=weight.1.0' }, async (explorer) => {
    const { page } = explorer;
    await explorer.press('Control+K');
    await explorer.until('the palette', () => explorer.rect('palette'));
    await page.keyboard.type('write a lesson');
    await explorer.settled();
    await explorer.press('Enter');
    const field = page.getByRole('textbox', { name: 'The text of the lesson' });
    await field.click();
    const text = () => field.inputValue();
    const selected = () => page.evaluate(() => {
        const it = document.activeElement;
        return it instanceof HTMLTextAreaElement ? it.value.slice(it.selectionStart, it.selectionEnd) : undefined;
    });
    await explorer.press('Control+End');
    await page.keyboard.insertText('où 猫');
    const typed = await text();
    assert.ok(typed.endsWith('où 猫'));
    await explorer.until('the draft', () => page.evaluate(() => localStorage.getItem('lesson-draft')), (draft) => draft === typed);
    await explorer.click('lesson/write/check');
    await explorer.until('a check', text, (now) => now.includes('```check\nweight("sat", "cat") > 37%'));
    // The task is selected, to be written anew.
    await explorer.until('the focus', () => selected(), (now) => now === 'Change something');
    await page.keyboard.type('Raise W_K');
    await explorer.until('the task', text, (now) => now.includes('\nRaise W_K, until'));
    while ((await text()).includes('```check')) {
        await explorer.press('Control+z');
    }
    assert.equal(await text(), typed);
    // The keyboard leaves the text, and what is wrong leads back to its line.
    await page.locator('[data-key="lesson/write/fault/0"]').waitFor({ state: 'attached' });
    await explorer.press('Tab');
    await explorer.press('Enter');
    await explorer.until('its line', () => selected(), (now) => now === '## What to do first');
});

// ---- Lessons from elsewhere -------------------------------------------------------------------------------

const mine = (title, check = 'weight("sat", "cat") > 80%') => `---\ntitle: ${title}\n---\n## Look at “sat”\nGive “cat” more than 80 %.\n\`\`\`view\nv=1&subject=worked&query=1\n\`\`\`\n\`\`\`check\n${check} | It is {weight("sat", "cat"):%}.\n\`\`\`\n`;

test('a dropped lesson opens; a broken or a large one is a sentence and leaves it open', async (explorer) => {
    const title = () => heading(explorer);
    await explorer.drop(...written({ 'mine.md': mine('Mine') }));
    await explorer.until('the dropped lesson', title, (text) => text === 'Look at “sat”');
    await explorer.until('its number', () => panelText(explorer), (text) => /It is \d+ %\./.test(text));
    await explorer.drop(...written({ 'broken.md': mine('Broken', 'weight("sat" > 1') }));
    await explorer.untilNotice(/^The lesson cannot be read: line 10, column \d+: [^\n]{5,150}\.$/, 'error');
    assert.match(await panelText(explorer), /Mine/);
    await explorer.dismiss();
    await explorer.drop(...written({ 'markup.md': '<script>alert(1)</script>\n'.repeat(20) }));
    await explorer.untilNotice(/^The lesson cannot be read: line 1: .*\.$/, 'error');
    await explorer.dismiss();
    await explorer.drop(...written({ 'large.md': mine('Large') + 'x\n'.repeat(500_000) }));
    await explorer.untilNotice(/^large\.md has more than 200 kB: split the lesson into several\.$/, 'error');
    assert.match(await panelText(explorer), /Mine/);
    const packed = await explorer.until('the whole lesson in the address', () => explorer.page.evaluate(() => location.hash.slice(1)), (hash) => /&lesson\.text~?=/.test(hash));
    await explorer.page.goto('about:blank');
    await explorer.open(explorer.variant, packed);
    await explorer.until('the lesson from its link', title, (text) => text === 'Look at “sat”');
});

test('a link to a lesson that the site does not have is a sentence, and can be closed', {
    fragment: 'v=1&lesson=nothing-here', expected: [/status of 404/],
}, async (explorer) => {
    await explorer.until('the sentence', () => panelText(explorer), (text) => /The lesson “nothing-here” could not be fetched: the site has no such file\./.test(text));
    await explorer.click('lesson/close');
    await explorer.until('it to be closed', async () => !await explorer.rect('panel/lesson'));
    assert.equal(await explorer.linked('lesson'), undefined);
});

// ---- What is kept -----------------------------------------------------------------------------------------

test('a lesson opens in its other language, and a link to a step opens its view beside an open model', { fragment: 'v=1&lesson=first-steps' }, async (explorer) => {
    await atStep(explorer, lessonCalled('first-steps').steps[0]);
    await explorer.click('lesson/language/de');
    await explorer.until('German', () => heading(explorer), (title) => title === 'Ein Wort fragt');
    assert.equal(await explorer.linked('lesson'), 'first-steps.de');
    await explorer.click('lesson/language/en');
    await atStep(explorer, lessonCalled('first-steps').steps[0]);
    skipWithout('storyteller');
    await explorer.visit('v=1&lesson=the-sink');
    await atStep(explorer, lessonCalled('the-sink').steps[0]);
    await explorer.untilState('the model', ({ model }) => model === 'storyteller');
    await explorer.visit('v=1&lesson=why-sqrt-dk&lesson.step=1');
    await atStep(explorer, lessonCalled('why-sqrt-dk').steps[1]);
    assert.equal(await explorer.linked('lens'), 'scale');
});

test('an answer may be in per cent or with a comma, and another one can be typed at once', { fragment: 'v=1&lesson=causal-mask' }, async (explorer) => {
    const said = (what, text) => explorer.until(what, () => panelText(explorer), (told) => told.includes(text));
    await atStep(explorer, lessonCalled('causal-mask').steps[0]);
    const own = await explorer.explained('weight.0.0');
    const share = 1 - Number(own.f64);
    await explorer.click('lesson/ask/0/number');
    await explorer.page.keyboard.type('10 %');
    await explorer.press('Enter');
    await said('what is said', 'Not so.');
    await explorer.press('Control+a');
    await explorer.page.keyboard.type(`${(100 * share).toFixed(1)} %`);
    await explorer.press('Enter');
    await said('that it is right', 'Right.');
    await explorer.press('Control+a');
    await explorer.page.keyboard.type('0,1');
    await explorer.press('Enter');
    await said('what is said to a comma', 'Not so.');
});

test('a step keeps its buttons in view beside the explanation of a pinned number', { fragment: 'v=1&lesson=lookup' }, async (explorer) => {
    await atStep(explorer, lessonCalled('lookup').steps[0]);
    await explorer.click('raw/0/1');
    await explorer.until('Next', () => usable(explorer, 'lesson/next'));
    await explorer.settled();
    const [next, panel] = await Promise.all([explorer.found('lesson/next'), explorer.found('panel/lesson')]);
    assert.ok(next.bottom <= panel.bottom, `Next ends at ${next.bottom}, the lesson at ${panel.bottom}`);
    await explorer.click('lesson/next');
    await atStep(explorer, lessonCalled('lookup').steps[1]);
});

test('how far one is in a lesson is kept, listed, and where it opens again', { fragment: 'v=1&lesson=one-token-back' }, async (explorer) => {
    const { steps } = lessonCalled('one-token-back');
    await atStep(explorer, steps[0]);
    await explorer.click('lesson/skip');
    await atStep(explorer, steps[1]);
    await explorer.click('lesson/close');
    await explorer.until('it to be closed', async () => !await explorer.rect('panel/lesson'));
    await explorer.page.goto('about:blank');
    await explorer.open(explorer.variant);
    await explorer.until('the list of the site', async () => await explorer.rect('learn/all') ?? await explorer.rect('group/learn'));
    await explorer.click(await explorer.rect('learn/all') ? 'learn/all' : 'group/learn');
    const row = await explorer.until('the list', () => explorer.page.$$eval('[data-key="lesson/list/one-token-back"]', (all) => all[0]?.getAttribute('aria-label')));
    assert.match(row, /^One token back.*, 8 min · the worked example · step 2$/);
    await explorer.click('lesson/list/one-token-back');
    await atStep(explorer, steps[1]);
    assert.equal(await explorer.linked('lesson'), 'one-token-back');
});
