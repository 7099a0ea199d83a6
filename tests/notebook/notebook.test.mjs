// Tests the package in Debian's notebook with a real kernel, where its views are plain HTML: Chromium runs the cells.
// SITE and PAGE, as in tests/python/staged.py: the built site, and its page as one file.
/* global Jupyter */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { near } from '../browser/lib/numbers.mjs';
import { launch } from './lib/chromium.mjs';
import { framed } from './lib/framed.mjs';
import { absent, converted, jupyter, proxy, workplace } from './lib/jupyter.mjs';

const rounding = 1e-6;  // of f32 sums of a few numbers around 1

const tensors = `import numpy as np
from attention_explorer import show
rng = np.random.default_rng(1)
q, k, v = rng.standard_normal((3, 2, 4, 8)).astype(np.float32)
view = show(q=q, k=k, v=v, tokens=["The", " cat", " sat", "."], causal=True, height=800)
print((q[0] @ k[0].T / 8 ** 0.5).tolist())
view`;
const twenty = (i) => `from attention_explorer import show
import numpy as np
view = show(attention=np.tril(np.ones((${i + 2}, ${i + 2}))) / np.arange(1, ${i + 3})[:, None], height=300)
view`;

const path = '/user/x/';
/** @type {ReturnType<typeof workplace>} */
let place;
/** @type {import('../browser/node_modules/playwright-core').Browser} */
let browser;

before(async () => {
    if (!absent) {
        place = workplace({
            'tensors.ipynb': [tensors], 'twenty.ipynb': Array.from({ length: 20 }, (_, i) => twenty(i)),
        });
        browser = await launch();
    }
});
after(async () => {
    await browser?.close();
    place?.remove();
});

// Opens a notebook and runs its cells by the keyboard.
async function run(page, address, count = 1) {
    const errors = [];
    page.on('pageerror', (error) => errors.push(error.message));
    await page.goto(address);
    await page.waitForFunction(() => globalThis.Jupyter?.notebook?.kernel?.is_connected());
    await page.evaluate(() => Jupyter.notebook.set_autosave_interval(0));  // saving them takes half a minute
    await page.locator('.cell .CodeMirror').first().click();
    for (let i = 0; i < count; ++i) {
        await page.keyboard.press('Shift+Enter');
    }
    await page.waitForFunction((all) => document.querySelectorAll('.output iframe').length === all, count, { timeout: 120_000 });
    return errors;
}

async function inNotebook(base, name, use, { proxied = false, cells = 1 } = {}) {
    const server = await jupyter(place, base);
    const through = proxied ? await proxy(server.port, base) : null;
    const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
    page.setDefaultTimeout(120_000);  // twenty pages are eighty megabytes
    try {
        const errors = await run(page, server.address(name, through?.port), cells);
        await use(page);
        assert.deepEqual(errors, []);
    } finally {
        await page.close();
        through?.end();
        await server.end();
    }
}

// The softmax of a row of scores.
function softmax(row) {
    const grown = row.map(Math.exp);
    const sum = grown.reduce((total, each) => total + each, 0);
    return grown.map((each) => each / sum);
}

// Compares the first head's weights with those of the scores that the cell has printed.
async function showsTensors(page, printed) {
    const explorer = await framed(page, page.locator('iframe').first());
    const { open } = await explorer.until('the tensors', () => explorer.tensors(), ({ open: all, phase }) => phase === null && all);
    assert.equal(open.summary, '2 heads · 4 queries × 4 keys · d_k 8 · float32');
    await explorer.idle();
    for (const [query, row] of JSON.parse(printed).entries()) {
        const causal = softmax(row.slice(0, query + 1));
        const weights = await Promise.all(causal.map((_, key) => explorer.explain('weight', query, key)));
        near([weights.map(({ f32 }) => f32)], [causal], rounding, `the weights of query ${query}`);
    }
    assert.equal((await explorer.explain('weight', 3, 1)).title, 'Weights[".", "·cat"]');
    return explorer;
}

test('a cell shows tensors, and says what plain HTML leaves out', { skip: absent, timeout: 120_000 }, () => inNotebook('/', 'tensors.ipynb', async (page) => {
    await showsTensors(page, await page.locator('.output_stdout pre').textContent());
    assert.match(await page.locator('.output_html').textContent(), /with anywidget installed, view\.selection follows it/);
}));

test('a number is changed by mouse and keyboard, below a path behind a proxy', { skip: absent, timeout: 120_000 }, () => inNotebook(path, 'tensors.ipynb', async (page) => {
    const explorer = await showsTensors(page, await page.locator('.output_stdout pre').textContent());
    await explorer.click('subject/worked');
    const weights = await explorer.until('the example', () => explorer.matrix('weight'));
    await explorer.type('w_k/0/1', '3');
    await explorer.until('the edit', async () => (await explorer.matrix('w_k'))[0][1], (number) => number === 3);
    assert.notDeepEqual(await explorer.matrix('weight'), weights);
}, { proxied: true }));

test('nbconvert’s page opens from a disk, without a network', { skip: absent, timeout: 120_000 }, async () => {
    const file = converted(place, 'tensors.ipynb');
    const context = await browser.newContext({ offline: true, viewport: { width: 1400, height: 1000 } });
    try {
        const page = await context.newPage();
        await page.goto(`file://${file}`);
        await showsTensors(page, await page.locator('.jp-OutputArea-output pre').first().textContent());
    } finally {
        await context.close();
    }
});

test('twenty cells', { skip: absent, timeout: 600_000 }, () => inNotebook('/', 'twenty.ipynb', async (page) => {
    const frames = page.locator('.output iframe');
    const lost = (i) => frames.nth(i).evaluate((frame) => {
        const canvas = frame.contentDocument.getElementById('canvas');
        return canvas.getContext('webgl2')?.isContextLost() ?? null;
    });
    for (let i = 0; i < 20; ++i) {
        const explorer = await framed(page, frames.nth(i));
        const { open } = await explorer.until('the tensors', () => explorer.tensors(), ({ open: all, phase }) => phase === null && all);
        assert.match(open.summary, new RegExp(`· ${i + 2} queries × ${i + 2} keys`));
    }
    assert.equal(await lost(19), false);
    assert.equal(await lost(0), true, 'a view out of sight has given its context back');
    const first = await framed(page, frames.nth(0));
    await frames.nth(0).contentFrame().locator('.asleep').click();
    await first.until('it to wake', () => lost(0), (is) => is === false);
    const frame_count = await first.frames();
    await first.hover('panel/lens');
    await first.until('it to draw', () => first.frames(), (count) => count > frame_count);
}, { cells: 20 }));
