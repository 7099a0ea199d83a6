// Tests Knock-out: how far a logit falls without a head or an edge, against a model with these switched off
// permanently, and the results of the presets in the bundled model.
import assert from 'node:assert/strict';
import { bundled } from './lib/bundled.mjs';
import { tiny } from './lib/models.mjs';
import { near as allNear } from './lib/numbers.mjs';
import { skip, test } from './lib/suite.mjs';

const own = { fall: 0, direct: 1000, look: 2000, patch: 3000, cut: 4000, strongest: 4001, estimate: 10_000 };
const near = (actual, expected, tolerance, what) => allNear([actual], [expected], tolerance, what);
const told = (explorer, row, column) => explorer.explain('number', row, column);
const changed = (explorer, holds) =>
    explorer.until(`a changed run: ${holds}`, () => explorer.ask('subject', 'sentence'), (now) => now.changed === holds);
const best = (list) => list.indexOf(Math.max(...list));

async function press(explorer, name) {
    await explorer.reveal(name);
    await explorer.settled();
    await explorer.click(name);
}

async function open(explorer) {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.dismiss();
    await explorer.click('lens/knockout');
    await explorer.untilState('the lens', ({ lens }) => lens === 'knockout');
    await explorer.settled();
}

test('Knock-out: a logit falls by what the model loses with the head switched off', async (explorer) => {
    await open(explorer);
    const token = best(tiny.logits), row = tiny.ids.length - 1;
    assert.match((await explorer.state()).spoken, / matters most: without it, /);
    const { f64: fall } = await told(explorer, own.fall + 1, 0);
    const weights = tiny.attention[1][0][row];
    near((await told(explorer, own.look + 1, 0)).f64, Math.max(...weights), 2e-5, 'the strongest weight of the row');
    await press(explorer, 'knockout/fall/1/0');
    await explorer.untilState('the head', ({ layer, head, pin }) => layer === 1 && head === 0 && pin?.[0] === 'knockout.head_ablation.1.0');
    const { fragment } = await explorer.state();
    await press(explorer, 'knockout/off');
    await changed(explorer, true);
    await explorer.settled();
    near(tiny.logits[token] - (await explorer.logits())[token], fall, 4e-5, 'the fall of the logit');
    await explorer.press('Control+Z');
    await changed(explorer, false);
    assert.equal((await explorer.state()).fragment, fragment);
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Knock-out: an edge falls by what the model loses without it, and a link opens the lens as it was', async (explorer) => {
    await open(explorer);
    await press(explorer, 'knockout/part/edges');
    await explorer.until('the edges', () => explorer.linked('knockout.part'), (part) => part === 'edges');
    await explorer.settled();
    const token = best(tiny.logits), row = tiny.ids.length - 1;
    const { layer, head, fragment, spoken } = await explorer.state();
    assert.match(spoken, /^If .+ does not see .+, the logit of .+ (falls|rises) by [\d.]+ from [\d.−]+/);
    const { f64: fall } = await told(explorer, own.cut, 0);
    await explorer.visit(`${fragment}&changes=mask,${layer},${head},${row},0,zero`);
    await changed(explorer, true);
    await explorer.settled();
    near(tiny.logits[token] - (await explorer.logits())[token], fall, 4e-5, 'the fall of the logit');
    await explorer.visit(fragment);
    await changed(explorer, false);
    await explorer.settled();
    assert.equal((await explorer.state()).spoken, spoken, 'the link opens it as it was');
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Knock-out: the presets in the model that comes with the page', { fragment: 'v=1&subject=sentence&model=storyteller&text=A&lens=knockout' }, async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    await explorer.untilState('the storyteller', ({ model, tokens }) => model === 'storyteller' && tokens > 0);
    const findings = [
        ['pronoun', 'Layer 2 · head 1 matters most: without it, “animal” over “street” falls from ', ': at “tired”, from layer 3 on at “The”.'],
        ['induction', 'Layer 0 · head 1 matters most: without it, “stone” over “king” falls from ', ': at “stone” in every layer.'],
    ];
    for (const [preset, said, path] of findings) {
        await explorer.settled();
        await press(explorer, `knockout/preset/${preset}`);
        const { spoken } = await explorer.untilState('the finding', ({ lens, spoken: now }) => lens === 'knockout' && now.startsWith(said));
        assert.match(spoken, /^Layer \d · head \d matters most: without it, .+ falls from [\d.]+ to [-\d.]+\. .+\.$/);
        await press(explorer, 'knockout/part/patching');
        await explorer.untilState('what is patched', ({ spoken: now }) => now.startsWith('With the residual of the second text') && now.endsWith(path));
        await press(explorer, 'knockout/part/heads');
    }
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Knock-out with the keyboard alone: every control has the focus and answers', async (explorer) => {
    await open(explorer);
    const { page } = explorer;
    await explorer.enter('radio', 'mean');
    await explorer.until('the mean', () => explorer.linked('knockout.removal'), (removal) => removal === 'mean');
    await explorer.settled();
    const grid = page.getByRole('grid', { name: /^Falls without it/ });
    await grid.getByRole('gridcell').first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await explorer.untilState('the pin', ({ pin, head }) => pin?.[0] === 'knockout.head_ablation.0.1' && head === 1);
    await explorer.enter('radio', 'edges');
    await explorer.until('the edges', () => explorer.linked('knockout.part'), (part) => part === 'edges');
    await explorer.enter('radio', 'patching');
    await explorer.until('the patching', () => explorer.linked('knockout.part'), (part) => part === 'patching');
    await explorer.enter('radio', 'MLP');
    await explorer.until('the site', () => explorer.linked('knockout.site'), (site) => site === 'mlp_output');
    await explorer.enter('radio', 'first into second');
    await explorer.until('the direction', () => explorer.linked('knockout.into'), (into) => into === 'second');
    assert.deepEqual(await explorer.notices('error'), []);
});
