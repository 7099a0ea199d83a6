// Tests networks trained on the page: opened as the model of a sentence, saved, and dropped onto another
// page.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { emptyFolder, tiny } from './lib/models.mjs';
import { test } from './lib/suite.mjs';

const at = (step) => `lens=training&train=induction,d:32,context:32,batch:2&step=${step}`;
const name = (step) => `trained here: induction, step ${step}`;

const shown = (explorer, step) => explorer.until(`step ${step}`, () => explorer.training(), (run) => run?.shown === step);

const opened = (explorer, step) => explorer.untilRun(`the network of step ${step}`,
    ({ subject, model, tokens, query }) => subject === 'sentence' && model === name(step) && tokens === 32 && query === 31);

// Layers of heads of rows.
const weights = (explorer) => Promise.all([0, 1].map((layer) => Promise.all([0, 1, 2, 3].map((head) => explorer.attention(layer, head)))));

const fault = (explorer) => explorer.page.innerText('#sentence-fault');

test('a network is trained, opened with its own symbols, and left by Back', { each: true, fragment: 'lens=training' }, async (explorer) => {
    await explorer.click('training/train');
    await explorer.until('eight steps', () => explorer.training(), (run) => run?.taken >= 8);
    await explorer.click('training/pause');
    await explorer.settled();
    const { shown: step } = await explorer.training();
    const { fragment } = await explorer.state();
    await explorer.click('training/open');
    const { text, pieces } = await explorer.untilRun('the network', ({ subject, model, tokens }) => subject === 'sentence' && model === name(step) && tokens === 64);
    assert.equal(await explorer.page.inputValue('#sentence'), text);
    assert.equal(pieces.join(' '), text);
    assert.equal(await explorer.page.innerText('#model-name'), name(step));
    const rows = await explorer.attention(1, 0);
    assert.ok(rows.every((row) => Math.abs(row.reduce((a, b) => a + b) - 1) < 1e-5));

    await explorer.write('A B C | A B');
    const { ids } = await explorer.untilRun('six symbols', ({ tokens }) => tokens === 6);
    assert.deepEqual(ids, [1, 2, 3, 0, 1, 2]);
    await explorer.click('next/step');
    await explorer.untilRun('a seventh, generated', ({ text: now, tokens }) => tokens === 7 && /^A B C \| A B \S+$/.test(now));
    await explorer.write('A AB');
    await explorer.until('what is no symbol', () => fault(explorer), (says) => /^'AB' has no token/.test(says));
    await explorer.write('A B');
    await explorer.untilRun('two symbols', ({ tokens }) => tokens === 2);
    assert.equal(await fault(explorer), '');

    for (let i = 0; i < 8 && (await explorer.state()).subject !== 'training'; ++i) {
        const { fragment: before } = await explorer.state();
        await explorer.page.goBack();  // back past the typed text, too
        await explorer.untilState('a step back', ({ fragment: now }) => now !== before);
    }
    await explorer.untilState('the training', ({ subject }) => subject === 'training');
    await shown(explorer, step);
    assert.equal(await explorer.linked('train'), new URLSearchParams(fragment).get('train') ?? undefined);
});

test('a link to it trains it again, to the last bit', { fragment: at(12) }, async (explorer) => {
    await shown(explorer, 12);
    await explorer.click('training/open');
    await opened(explorer, 12);
    const [before, { fragment, layer, head }] = [await weights(explorer), await explorer.state()];
    const link = await explorer.until('the address to say so', () => explorer.page.evaluate(() => location.href), (href) => href.endsWith(`#${fragment}`));
    await explorer.page.goto('about:blank');
    await explorer.page.goto(link);
    await explorer.started();
    const again = await opened(explorer, 12);
    assert.deepEqual(await weights(explorer), before);
    assert.deepEqual([again.fragment, again.layer, again.head], [fragment, layer, head]);
    assert.deepEqual(await explorer.notices(), []);
});

test('undo brings back what was there, and redo the network', { fragment: at(8) }, async (explorer) => {
    await shown(explorer, 8);
    await explorer.click('training/open');
    await opened(explorer, 8);
    const before = await weights(explorer);
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.page.click('#undo');  // undoes its text
    await explorer.page.click('#undo');  // undoes the model
    await opened(explorer, 8);
    assert.deepEqual(await weights(explorer), before);
    await explorer.page.click('#undo');
    await explorer.untilState('the training', ({ subject }) => subject === 'training');
    await explorer.page.click('#redo');
    await opened(explorer, 8);
    assert.deepEqual(await weights(explorer), before);
});

test('it is saved as on a model hub, and its .zip and its folder open on a fresh page', { fragment: at(12) }, async (explorer) => {
    await shown(explorer, 12);
    const [download] = await Promise.all([explorer.page.waitForEvent('download'), explorer.click('training/save')]);
    assert.equal(download.suggestedFilename(), 'induction-step-12.zip');
    const folder = emptyFolder(), archive = join(folder, 'saved.zip');
    await download.saveAs(archive);
    execFileSync('python3', ['-m', 'zipfile', '-t', archive]);
    execFileSync('python3', ['-m', 'zipfile', '-e', archive, folder]);
    const saved = join(folder, 'induction-step-12');
    assert.deepEqual(readdirSync(saved).sort(), ['README.md', 'config.json', 'model.safetensors', 'tokenizer.json']);
    assert.match(readFileSync(join(saved, 'README.md'), 'utf8'), /#v=1&subject=training&train=induction,d:32,context:32,batch:2&step=12\n/);

    await explorer.click('training/open');
    const { text } = await opened(explorer, 12);
    const before = await weights(explorer);
    const original = join(folder, 'induction-step-12.zip');
    await download.saveAs(original);
    for (const dropped of [original, saved]) {
        await explorer.page.goto('about:blank');
        await explorer.open(explorer.variant);
        await explorer.drop(dropped);
        await explorer.untilNotice(/^induction-step-12 is open\. Not needed: README\.md\.$/);
        await explorer.write(text);
        await explorer.untilRun('its run', ({ model, tokens }) => model === 'induction-step-12' && tokens === 32);
        assert.ok(await explorer.rect('sentence/alphabet'));
        assert.deepEqual(await weights(explorer), before);
    }
});

test('a text of one\'s own, learned: its network opens with the tokenizer that it made',
    { fragment: 'lens=training&train=own-text,layers:1,heads:2,d:16,context:16,batch:1,vocabulary:300,steps:4' }, async (explorer) => {
        await explorer.openModel(tiny.folder, tiny.text);
        await explorer.click('subject/training');
        await explorer.write('The cat sat on the mat and the dog sat on the log. '.repeat(100));
        await explorer.click('training/train');
        await explorer.until('the run', () => explorer.training(), (run) => run?.taken === 4);
        assert.equal((await explorer.state()).text, tiny.text, 'the text of the open model stays');
        assert.equal(await fault(explorer), '');
        await explorer.click('training/open');
        const { pieces, text } = await explorer.untilRun('the network', ({ subject, tokens }) => subject === 'sentence' && tokens === 16);
        assert.ok(text.startsWith('The cat sat on'));
        assert.equal(pieces.join('').replaceAll('·', ' '), text);
        await explorer.page.goBack();
        await explorer.untilState('the training', ({ subject }) => subject === 'training');
        assert.match(await explorer.page.inputValue('#sentence'), /^(The cat sat on the mat and the dog sat on the log\. ){100}$/);
        await shown(explorer, 4);
        assert.deepEqual(await explorer.notices('error'), []);
    });
