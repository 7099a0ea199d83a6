// Tests subject Training: a network learns on the page.
import assert from 'node:assert/strict';
import { test } from './lib/suite.mjs';

// Small, so that some steps take almost no time even if the browser draws without a GPU.
const small = 'lens=training&train=induction,layers:1,heads:2,d:16,context:16,batch:2,steps:400';

const taken = (explorer, least) => explorer.until(`step ${least} of training`, () => explorer.training(),
    (run) => run && run.taken >= least);

test('a run begins, pauses, goes on, and can be gone back through', { fragment: small.replace('steps:400', 'steps:20000') }, async (explorer) => {
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

    const { left, right, y } = await explorer.rect('chart/loss');
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

// Counts pixels of a map that are far bluer than red, and far redder than blue, like the two ends of the
// diverging scale.
async function signs(explorer, name) {
    await explorer.reveal(name);
    const { pixels, width, channels } = await explorer.picture();
    const canvas = await explorer.page.locator('#canvas').boundingBox(), map = await explorer.rect(name);
    let blue = 0, orange = 0, bytes = '';
    for (let y = Math.ceil(map.top - canvas.y); y < map.bottom - canvas.y - 1; ++y) {
        for (let x = Math.ceil(map.left - canvas.x); x < map.right - canvas.x - 1; ++x) {
            const at = (y * width + x) * channels, by = pixels[at + 2] - pixels[at];
            blue += Number(by > 60);
            orange += Number(by < -60);
            bytes += pixels.toString('latin1', at, at + 3);
        }
    }
    return { blue, orange, bytes };
}

test('the maps show the gradient of the loss by each weight, in the link and back by undo', { fine: true, fragment: `${small}&step=40` }, async (explorer) => {
    await taken(explorer, 40);
    await explorer.settled();
    const weights = await signs(explorer, 'training/map/0.0');
    assert.equal(weights.orange, 0);
    await explorer.click('training/stage/gradient');
    await explorer.until('the link', () => explorer.linked('maps'), (maps) => maps === 'gradient');
    const gradient = await signs(explorer, 'training/map/0.0');
    assert.ok(gradient.blue > 50 && gradient.orange > 50, JSON.stringify([gradient.blue, gradient.orange]));

    await explorer.page.reload();
    await explorer.started();
    await taken(explorer, 40);
    await explorer.settled();
    assert.ok((await signs(explorer, 'training/map/0.0')).bytes === gradient.bytes, 'the link gives another picture');

    await explorer.click('training/stage/weights');
    await explorer.until('the link', () => explorer.linked('maps'), (maps) => maps === undefined);
    assert.ok((await signs(explorer, 'training/map/0.0')).bytes === weights.bytes, 'the weights are other ones');
    await explorer.press('Control+z');
    await explorer.until('undo', () => explorer.linked('maps'), (maps) => maps === 'gradient');
    assert.ok((await signs(explorer, 'training/map/0.0')).bytes === gradient.bytes, 'undo gives another picture');

    await explorer.click('training/ablate/0.0');
    await explorer.until('the head to be left out', () => explorer.linked('train'), (plan) => /off:0\.0/.test(plan ?? ''));
    await explorer.click('training/step');
    await taken(explorer, 41);
    const without = await signs(explorer, 'training/map/0.0');
    assert.deepEqual([without.blue, without.orange], [0, 0]);
});

test('another preset is another run', { fragment: 'lens=training' }, async (explorer) => {
    await explorer.click('training/preset/Reversal');
    await explorer.until('the preset', () => explorer.linked('train'), (plan) => plan === 'reversal');
    await explorer.click('training/layers/less');
    await explorer.until('one layer', () => explorer.linked('train'), (plan) => /layers:1/.test(plan ?? ''));
});

test('while nothing is trained, no frame is drawn', { fragment: `${small}&step=6` }, async (explorer) => {
    await taken(explorer, 6);
    const frames = await explorer.settled(60);
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

test('rarer numbers stand behind one button, and − and + end where a plan does', { fragment: small }, async (explorer) => {
    const plan = (what, pattern) => explorer.until(what, () => explorer.linked('train'), (text) => pattern.test(text ?? ''));
    assert.equal(await explorer.rect('training/window/less'), undefined);
    await explorer.click('more/training/settings');
    await explorer.click('training/window/less');
    await plan('a window', /window:8/);
    await explorer.click('training/context/less');
    await plan('shorter sequences', /context:8/);
    await explorer.click('training/context/less');
    await explorer.settled();
    await plan('no shorter ones', /context:8/);
    await explorer.click('training/window/more');
    await plan('no window', /^(?!.*window)/);
    await explorer.click('training/width/more');
    await plan('wider', /d:24/);
    await explorer.click('training/vocabulary/less');
    await plan('fewer symbols', /vocabulary:32/);
    await explorer.click('training/batch/more');
    await plan('larger batches', /batch:4/);
    await explorer.click('training/steps/more');
    await plan('as many steps as the preset', /^(?!.*steps)/);
    await explorer.click('training/mlp/on');
    await plan('an MLP', /mlp:1/);
    await explorer.click('training/step');
    assert.ok((await taken(explorer, 1)).losses.every(Number.isFinite));
    await explorer.click('more/training/settings');
    await explorer.until('them to go', async () => await explorer.rect('training/window/less') === undefined);
    assert.deepEqual(await explorer.notices(), []);
});

const phone = { context: { viewport: { width: 390, height: 844 } }, fragment: `${small}&step=4` };
test('on a phone every control can be reached and none is cut', phone, async (explorer) => {
    await explorer.click('settings');
    await taken(explorer, 4);
    await explorer.until('the rarer numbers', () => explorer.rect('training/mlp/on'));
    const all = await explorer.landmarks();
    const [left, , right] = all['panel/lens'];
    for (const [name, rect] of Object.entries(all).filter(([each]) => each.startsWith('training/'))) {
        assert.ok(rect[0] >= left && rect[2] <= right, `${name}: ${JSON.stringify(rect)}`);
    }
    for (const name of ['training/window/more', 'training/save', 'training/compare']) {
        await explorer.reveal(name);
    }
});

const own = 'lens=training&train=own-text,layers:1,heads:2,d:16,context:8,batch:1,steps:20';
test('a text is learned when Train is pressed, which is disabled while there is too little of it', { fragment: own }, async (explorer) => {
    for (const text of ['', 'a']) {
        await explorer.write(text);
        await explorer.settled();
        await explorer.click('training/train');
    }
    await explorer.write('abcdefghijk');
    await explorer.settled();
    assert.equal(await explorer.training(), null);
    await explorer.click('training/train');
    assert.ok((await taken(explorer, 20)).losses.every(Number.isFinite));
    assert.deepEqual(await explorer.notices(), []);
});

test('at its last step a run is made longer, and undo makes it short again', { fragment: `${small.replace('steps:400', 'steps:4')}&step=4` },
    async (explorer) => {
        await taken(explorer, 4);
        await explorer.settled();
        await explorer.click('training/faster');
        await explorer.click('training/extend');
        await taken(explorer, 8);
        assert.match(await explorer.linked('train') ?? '', /,steps:8$/);
        await explorer.press('Control+z');
        await explorer.until('undo', () => explorer.linked('train'), (plan) => /steps:4$/.test(plan));
        assert.deepEqual(await explorer.notices(), []);
    });

test('a vocabulary that the text does not support is as large as it can be', { fragment: own.replace('d:16', 'd:16,vocabulary:2048') },
    async (explorer) => {
        await explorer.write('the cat sat on the mat. '.repeat(200));
        await explorer.click('training/train');
        assert.ok((await taken(explorer, 20)).losses.every(Number.isFinite));
        assert.deepEqual(await explorer.notices(), []);
    });

test('a learning rate of 0 in a link is refused, one of 1e9 breaks the run and what was good stays', { fragment: 'lens=training&train=induction,rate:0' },
    async (explorer) => {
        await explorer.untilNotice(/^The link's value 'induction,rate:0' for 'train' is not the plan of a training run/);
        await explorer.dismiss();
        await explorer.visit(`${small},at:9,rate:1e9&training=on`);
        const says = await explorer.untilNotice(/no longer a finite number/, 'error');
        assert.match(says, /^[^\n]+\.$/);
        await explorer.settled();
        const run = await explorer.training();
        assert.ok(run.taken >= 8 && run.shown === run.taken, JSON.stringify(run));
        await explorer.dismiss();
        await explorer.click('training/slower');
        await explorer.until('a slower branch', () => explorer.linked('train'), (plan) => /,rate:333333333\.\d+$/.test(plan));
    });

test('a tab that is closed in mid-run closes, and its link goes on from the start', { fragment: `${small.replace('steps:400', 'steps:20000')}&training=on` },
    async (explorer) => {
        await taken(explorer, 8);
        const tab = await explorer.page.context().newPage();
        await tab.goto(explorer.page.url());
        await tab.waitForFunction(() => globalThis.explorer?._probe_frame_count() > 4);
        const asked = [];
        tab.on('dialog', (dialog) => asked.push(dialog.dismiss()));
        await Promise.all([tab.waitForEvent('close'), tab.close({ runBeforeUnload: true })]);
        assert.equal(asked.length, 0);
        await explorer.page.reload();
        await explorer.started();
        await taken(explorer, 8);
    });
