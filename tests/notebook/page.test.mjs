// Tests what the package makes without a notebook: pages that open from a disk, and python -m attention_explorer.
// SITE and PAGE, as in tests/python/staged.py: the built site, and its page as one file.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Explorer } from '../browser/lib/explorer.mjs';
import { launch } from './lib/chromium.mjs';
import { python, workplace } from './lib/jupyter.mjs';

const tests = fileURLToPath(new URL('../python', import.meta.url));
/** @type {ReturnType<typeof workplace>} */
let place;
/** @type {import('../browser/node_modules/playwright-core').Browser} */
let browser;

before(async () => {
    place = workplace({});
    browser = await launch();
});
after(async () => {
    await browser?.close();
    place?.remove();
});

const run = (...lines) => execFileSync(python, ['-c', lines.join('\n')], { cwd: place.work, env: place.env, stdio: 'pipe' });

async function opened(address, use, { offline = false } = {}) {
    const context = await browser.newContext({ offline, viewport: { width: 1300, height: 900 } });
    try {
        const explorer = new Explorer(await context.newPage(), address.split('#')[0], '');
        await explorer.page.goto(address);
        await explorer.started();
        await use(explorer);
        assert.deepEqual(explorer.problems, []);
    } finally {
        await context.close();
    }
}

const open = async (explorer) => (await explorer.until('the tensors', () => explorer.tensors(), ({ open: all, phase }) => phase === null && all)).open;

test('saved tensors open from a disk with their mask, tokens and rule', { timeout: 60_000 }, async () => {
    run('import numpy as np', 'from attention_explorer import save',
        'q = np.ones((2, 3, 4)); k = np.ones((1, 5, 4))',
        'mask = np.ones((3, 5), bool); mask[:, 0] = False',
        'save("a.html", q=q, k=k, mask=mask, causal="past", scaled=False, query_tokens=["a", "b", "c"], key_tokens=list("vwxyz"))');
    await opened(`file://${place.work}/a.html`, async (explorer) => {
        const { summary } = await open(explorer);
        assert.match(summary, /^2 heads · 3 queries × 5 keys · d_k 4/);
        await explorer.idle();
        assert.equal(await explorer.linked('rule'), 'past,unscaled');
        const { title, f32 } = await explorer.explain('weight', 1, 3);
        assert.deepEqual([title, f32], ['Weights["b", "y"]', Math.fround(1 / 3)]);
        assert.equal((await explorer.explain('raw', 1, 3)).f32, 4);
    }, { offline: true });
});

test('a saved model opens from a disk and reads its text', { timeout: 60_000 }, async () => {
    run('import sys', `sys.path.insert(0, ${JSON.stringify(tests)})`, 'from storyteller import storyteller', 'from attention_explorer import save',
        'save("b.html", *storyteller(), "The girl sang. It was")');
    await opened(`file://${place.work}/b.html`, async (explorer) => {
        const { model, text, ids } = await explorer.until('the run', () => explorer.state(), (state) => state.ids?.length > 4);
        assert.deepEqual([model, text], ['my-storyteller', 'The girl sang. It was']);
        await explorer.until('its logits', () => explorer.logits(), (logits) => logits?.length === 2048);
        assert.ok(ids.length < 20);
    }, { offline: true });
});

test('python -m attention_explorer shows files on one port, with threads', { timeout: 60_000 }, async () => {
    run('import numpy as np', 'np.savez("run.npz", q=np.ones((2, 3, 4)), k=np.ones((2, 3, 4)))');
    const server = spawn(python, ['-m', 'attention_explorer', join(place.work, 'run.npz')], { env: place.env });
    try {
        const line = await new Promise((resolve) => { server.stdout.once('data', (text) => resolve(String(text).trim())); });
        await opened(line.replace('Open ', ''), async (explorer) => {
            assert.match((await open(explorer)).summary, /^2 heads · 3 queries × 3 keys/);
            assert.equal(await explorer.page.evaluate(() => crossOriginIsolated), true);
        });
    } finally {
        server.kill('SIGINT');
        assert.equal(await new Promise((resolve) => { server.on('exit', resolve); }), 0);
    }
});
