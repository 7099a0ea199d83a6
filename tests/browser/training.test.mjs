// Lens Training: a network learns in the page.
import assert from 'node:assert/strict';
import { test } from './lib/suite.mjs';

// Small, so that some steps take no time even where the browser draws without a GPU.
const small = 'lens=training&train=induction,layers:1,heads:2,d:16,context:16,batch:2,steps:400';

const taken = (explorer, least) => explorer.until(`step ${least} of training`, () => explorer.training(),
    (run) => run && run.taken >= least);

test('a run begins, pauses, goes on, and can be gone back through', { fragment: small.replace('steps:400', 'steps:8000') }, async (explorer) => {
    await explorer.click('training/train');
    await taken(explorer, 8);
    await explorer.click('training/pause');
    await explorer.until('the run to pause', () => explorer.linked('training'), (on) => on === undefined);
    await explorer.settled();
    const paused = await explorer.training();
    assert.equal(paused.losses.length, paused.taken);
    assert.ok(paused.losses.every((loss) => loss > 0 && Number.isFinite(loss)));
    assert.equal(paused.heads.length, 2);

    await explorer.click('training/step');
    const next = await taken(explorer, paused.taken + 1);
    assert.equal(next.taken, paused.taken + 1);

    const { left, right, y } = await explorer.rect('plot/loss');
    await explorer.page.mouse.click(left + (right - left) * 0.001, y);
    const back = await explorer.until('an earlier step', () => explorer.training(), (run) => run.shown < run.taken);
    assert.equal(back.taken, next.taken);
    assert.deepEqual(back.losses, next.losses);
});

test('the same link gives the same run', { fragment: `${small}&step=12` }, async (explorer) => {
    const first = await taken(explorer, 12);
    await explorer.page.reload();
    await explorer.started();
    const second = await taken(explorer, 12);
    assert.deepEqual(second.losses.slice(0, 12), first.losses.slice(0, 12));
});

test('a head can be left out from a step on, and the run compared with the one before', { fragment: `${small}&step=8` },
    async (explorer) => {
        const before = await taken(explorer, 8);
        await explorer.settled();
        await explorer.click('training/compare');
        await explorer.until('the comparison', () => explorer.linked('versus'));
        await explorer.click('training/ablate/0.1');
        await explorer.until('the head to be left out', () => explorer.linked('train'), (plan) => /off:0\.1/.test(plan ?? ''));
        await explorer.click('training/train');
        const after = await taken(explorer, 16);
        assert.deepEqual(after.losses.slice(0, 8), before.losses.slice(0, 8));
        await explorer.press('Control+z');
        await explorer.until('undo', () => explorer.linked('train'), (plan) => !/off/.test(plan ?? ''));
    });

test('another preset is another run', { fragment: 'lens=training' }, async (explorer) => {
    await explorer.click('training/preset/Reversal');
    await explorer.until('the preset', () => explorer.linked('train'), (plan) => plan === 'reversal');
    await explorer.click('training/layers/less');
    await explorer.until('one layer', () => explorer.linked('train'), (plan) => /layers:1/.test(plan ?? ''));
});

test('while nothing is trained, no frame is drawn', { fragment: `${small}&step=6` }, async (explorer) => {
    await taken(explorer, 6);
    const frames = await explorer.settled();
    await explorer.page.waitForTimeout(1500);
    assert.equal(await explorer.frames(), frames);
});

test('a text of one\'s own is pasted into the sentence box and learned',
    { fragment: 'lens=training&train=own-text,layers:1,heads:2,d:16,context:8,batch:1,steps:20' }, async (explorer) => {
        await explorer.write('the cat sat on the mat and the dog sat on the log. '.repeat(20));
        await explorer.settled();
        await explorer.click('training/train');
        const run = await taken(explorer, 20);
        assert.ok(run.losses.every(Number.isFinite));
    });
