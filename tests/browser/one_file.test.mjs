// Tests the page as one file: saved on the site, it opens from a disk and without a network, and everything in it
// works but the hub.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { bundled } from './lib/bundled.mjs';
import { Explorer } from './lib/explorer.mjs';
import { tiny } from './lib/models.mjs';
import { near } from './lib/numbers.mjs';
import { skip, test } from './lib/suite.mjs';
import { causalRows, npy, npyHeader, written } from './lib/tensors.mjs';

const rounding = 2e-4;  // the file has another build of the program than the site: other orders of sums

let saved = 0;

// Saves what is on screen and uses the file, in a browser that is not connected.
async function inOneFile(explorer, use) {
    const { page } = explorer;
    await page.click('#model');
    const [download] = await Promise.all([page.waitForEvent('download'), page.click('#save-page')]);
    await explorer.untilNotice(/^The page is saved, \d+(\.\d)? MB: it opens without a network/);
    assert.equal(download.suggestedFilename(), 'attention-explorer.html');
    const path = join(tmpdir(), `attention-explorer-${process.pid}-${++saved}.html`);
    await download.saveAs(path);
    const context = await page.context().browser().newContext({ offline: true, acceptDownloads: true });
    try {
        const file = new Explorer(await context.newPage(), `file://${path}`, 'simd');
        await file.page.goto(`file://${path}`);
        await file.started();
        await use(file);
        assert.deepEqual(file.problems, []);
    } finally {
        await context.close();
        rmSync(path);
    }
}

test('one file: the worked example, edited, in which everything still can be changed', { fragment: 'v=1&lens=worked', limit: 180_000 }, async (explorer) => {
    await explorer.type('w_k/0/1', '3');
    await explorer.until('the edit', async () => (await explorer.matrix('w_k'))[0][1], (number) => number === 3);
    const weights = await explorer.matrix('weight');
    await inOneFile(explorer, async (file) => {
        near(await file.matrix('weight'), weights, rounding, 'the weights');
        await file.type('w_q/0/0', '2');
        await file.until('another edit', async () => (await file.matrix('w_q'))[0][0], (number) => number === 2);
        await file.press('Control+z');
        await file.until('it to be undone', async () => (await file.matrix('w_q'))[0][0], (number) => number === 1);
        // The address keeps what was changed, and a lesson of the site is there.
        assert.match(await file.page.evaluate(() => location.hash), /W_K=4x4/);
        await file.page.evaluate(() => { location.hash = 'v=1&lesson=one-token-back'; });
        await file.until('the lesson', () => file.rect('lesson/title'));
        await file.page.click('#model');
        await file.page.click('#open-hub');
        await file.untilNotice(/^This page is one file and asks no network for anything: models of the hub open on the explorer’s site\.$/);
        // It can be saved again.
        await inOneFile(file, async (again) => {
            await again.until('the lesson', () => again.rect('lesson/title'));
        });
    });
});

test('one file: a sentence with its model; another one is read without workers', { fragment: 'v=1&subject=sentence', limit: 180_000 }, async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    await explorer.until('the run', () => explorer.logits(), (logits) => logits?.length > 0);
    const before = await explorer.state(), logits = await explorer.logits();
    await inOneFile(explorer, async (file) => {
        await file.until('the run', () => file.logits(), (now) => now?.length > 0);
        const now = await file.state();
        assert.equal(now.text, before.text);
        assert.deepEqual(now.ids, before.ids);
        near([await file.logits()], [logits], rounding * Math.max(...logits.map(Math.abs)), 'the logits');
        await file.write('The girl sang. '.repeat(300));  // so long that the site reads it in a worker
        await file.until('its tokens', () => file.state(), ({ ids: longer }) => longer?.length > before.ids.length);
    });
});

test('one file: a model that was dropped', { fragment: 'v=1&subject=sentence' }, async (explorer) => {
    await explorer.openModel(tiny.folder);
    await explorer.write(tiny.text);
    await explorer.untilRun('the run', ({ text }) => text === tiny.text);
    const { model, ids } = await explorer.state();
    await inOneFile(explorer, async (file) => {
        await file.until('the model', () => file.state(), (now) => now.ids?.length > 0);
        assert.equal((await file.state()).model, model);
        assert.deepEqual((await file.state()).ids, ids);
    });
});

test('one file: tensors of one’s own, with what was set', { fragment: 'v=1&lens=tensors' }, async (explorer) => {
    const rows = causalRows(5);
    await explorer.drop(...written({ 'attention.npy': npy([5, 5], rows.flat()) }));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open, phase }) => phase === null && open);
    await explorer.page.evaluate(() => { location.hash += '&pin=weight.4.1'; });
    await explorer.untilState('a pin', ({ pin }) => pin);
    await inOneFile(explorer, async (file) => {
        await file.until('the tensors', () => file.tensors(), ({ open, phase }) => phase === null && open);
        await file.untilState('the pin', ({ pin }) => pin);
        assert.equal((await file.explain('weight', 4, 1)).f32, Math.fround(rows[4][1]));
    });
});

test('one file: tensors that are too large for it are a sentence', { fragment: 'v=1&lens=tensors' }, async (explorer) => {
    const n = 2080;  // 17 MB
    const weights = Buffer.from(new Float32Array(n * n).fill(1 / n).buffer);
    await explorer.drop(...written({ 'attention.npy': Buffer.concat([npyHeader([n, n], '<f4'), weights]) }));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open, phase }) => phase === null && open);
    await explorer.page.click('#model');
    await explorer.page.click('#save-page');
    await explorer.untilNotice(/^attention\.npy has 17 MB: a page takes up to 16 MB\. Send the link instead, or open something smaller\.$/, 'error');
});
