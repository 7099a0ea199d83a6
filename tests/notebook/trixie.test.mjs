// Tests the road of widgets in a real notebook: Debian 13's, from its folder, with ipywidgets, a kernel, and
// npm's front end of anywidget. tests/notebook/trixie/anywidget.py stands for anywidget's Python half.
// TRIXIE: the folder that tests/notebook/trixie/make.sh makes. SITE and PAGE, as in tests/python/staged.py.
/* global Jupyter */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { launch } from './lib/chromium.mjs';
import { framed } from './lib/framed.mjs';
import { absentTrixie as absent, jupyter, trixieWorkplace } from './lib/jupyter.mjs';

const small = `import json
import numpy as np
from attention_explorer import show
rng = np.random.default_rng(1)
q, k, v = rng.standard_normal((3, 2, 4, 8)).astype(np.float32)
view = show(q=q, k=k, v=v, tokens=["The", "cat", "sat", "."], causal=True, height=700)
view`;
const told = 'print(json.dumps([view.selection, view.state]))';
const large = `q, k, v = rng.standard_normal((3, 32, 8, 512, 64), dtype=np.float32)  # 101 MB
view = show(q=q, k=k, v=v, causal=True, height=700)
view`;
const rounding = 1e-6;  // of f32 sums of a few numbers around 1

describe('in Debian 13’s notebook', { skip: absent, timeout: 600_000 }, () => {
    /** @type {ReturnType<typeof trixieWorkplace>} */
    let place;
    /** @type {import('../browser/node_modules/playwright-core').Browser} */
    let browser;
    /** @type {import('../browser/node_modules/playwright-core').Page} */
    let page;
    let server, first;
    const problems = [];
    let fetches = [];  // of each view since the page was loaded, whether it asks the kernel for the explorer as well

    before(async () => {
        place = trixieWorkplace({ 'views.ipynb': [small, told] });
        browser = await launch();
        server = await jupyter(place, '/');
        page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
        page.setDefaultTimeout(60_000);
        page.on('pageerror', ({ message }) => problems.push(message));
        page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
        page.on('request', (request) => !/^(http:\/\/127\.0\.0\.1|blob:|data:)/.test(request.url()) && problems.push(request.url()));
        page.on('websocket', (socket) => socket.on('framesent', ({ payload }) => {
            const sent = typeof payload === 'string' && JSON.parse(payload).content?.data?.content;
            if (sent?.type === 'fetch') {
                fetches.push(sent.page);
            }
        }));
        await page.goto(server.address('views.ipynb'));
        await connected();
    });
    after(async () => {
        await browser?.close();
        await server?.end();
        place?.remove();
    });

    async function connected() {
        await page.waitForFunction(() => globalThis.Jupyter?.notebook?.kernel?.is_connected() && Jupyter.notebook.kernel.info_reply.status === 'ok');
        await page.evaluate(() => Jupyter.notebook.set_autosave_interval(0));
    }

    // Runs a cell by mouse and keyboard, and resolves to what it has printed.
    async function run(at) {
        await page.locator('.cell').nth(at).locator('.CodeMirror').click();
        const last = await page.evaluate((i) => Jupyter.notebook.get_cell(i).last_msg_id, at);
        await page.keyboard.press('Control+Enter');
        await page.waitForFunction(([i, id]) => {
            const { last_msg_id: asked, kernel } = Jupyter.notebook.get_cell(i);
            const { shell_done: answered, iopub_done: printed } = kernel._msg_callbacks[asked] ?? {};
            return asked !== id && answered && printed;
        }, [at, last]);
        const outputs = await page.evaluate((i) => Jupyter.notebook.get_cell(i).output_area.toJSON(), at);
        assert.deepEqual(outputs.filter(({ output_type: type }) => type === 'error').map(({ ename, evalue }) => `${ename}: ${evalue}`), []);
        return outputs.map(({ text }) => text ?? '').join('');
    }

    // Adds a cell at the end and runs it.
    async function add(source) {
        const at = await page.evaluate((text) => {
            Jupyter.notebook.insert_cell_at_bottom('code').set_text(text);
            return Jupyter.notebook.ncells() - 1;
        }, source);
        return { at, printed: await run(at) };
    }

    async function viewOf(at) {
        const frame = page.locator('.cell').nth(at).locator('.output iframe');
        await frame.waitFor();
        const explorer = await framed(page, frame);
        const { open } = await explorer.until('the tensors', () => explorer.tensors(), ({ open: all, phase }) => phase === null && all, 120_000);
        await explorer.idle();
        return { explorer, frame, open };
    }

    // Clicks in a view. One that was out of sight is asleep, and one that has just been pressed takes the
    // wheel, by which the landmark comes into sight.
    async function click({ explorer, frame }, landmark) {
        await frame.scrollIntoViewIfNeeded();
        const asleep = frame.contentFrame().locator('.asleep');
        if (await asleep.isVisible()) {
            await asleep.click();
        }
        await explorer.click('lens/overview');
        await explorer.click(landmark);
    }

    // Runs the next cell until it prints what is expected: a view tells the kernel a tenth of a second later.
    const heard = ({ explorer }, what, holds) => explorer.until(what, async () => JSON.parse(await run(1)), holds);

    test('the next cell reads the word and the number that were clicked', async () => {
        await run(0);
        first = await viewOf(0);
        const { explorer, frame, open } = first;
        assert.equal(open.summary, '2 heads · 4 queries × 4 keys · d_k 8 · float32');
        assert.ok(await frame.evaluate((/** @type {HTMLIFrameElement} */ element) => element.contentDocument.documentElement.hasAttribute('data-notebook')));
        await click(first, 'token/3');
        const [{ query: word, query_token: letters }] = await heard(first, 'the word', ([selection]) => selection?.query === 3);
        assert.deepEqual([word, letters], [3, '.']);
        await click(first, 'map/2/1');
        const [selection, link] = await heard(first, 'the number', ([chosen]) => chosen?.cell);
        const { subject, layer, head, query, key, query_token: asking, key_token: asked, cell, value } = selection;
        assert.deepEqual({ subject, layer, head, query, key, asking, asked, cell },
            { subject: 'tensors', layer: 0, head: 0, query: 2, key: 1, asking: 'sat', asked: 'cat', cell: 'weight.2.1' });
        const { printed } = await add('s = q[0, 2] @ k[0, :3].T / 8 ** 0.5; print((np.exp(s) / np.exp(s).sum())[1])');
        assert.ok(Math.abs(value - Number(printed)) < rounding, `${value}, ${printed}`);
        assert.equal(link, (await explorer.state()).fragment);
    });

    test('the next cell chooses what is shown', async () => {
        await add('view.state = view.state.replace("query=2", "query=3")');
        await first.explorer.until('the state', () => first.explorer.linked('query'), (query) => query === '3');
        await heard(first, 'the query', ([selection]) => selection.query === 3);
    });

    test('a second view does not ask for the explorer again', async () => {
        const { at } = await add('show(attention=np.eye(5, dtype=np.float32), height=400)');
        assert.match((await viewOf(at)).open.summary, /5 queries × 5 keys/);
        assert.deepEqual(fetches, [true, false]);
    });

    test('a saved notebook is small, and the views are back as they were when its page is loaded again', async () => {
        await page.evaluate(() => Jupyter.notebook.save_notebook());
        const { size } = statSync(join(place.work, 'views.ipynb'));
        assert.ok(size < 100_000, `${size} bytes`);
        fetches = [];
        await page.reload();
        await connected();
        first = await viewOf(0);
        assert.equal(await first.explorer.linked('query'), '3');
        assert.deepEqual(fetches.sort(), [false, true]);
        await click(first, 'map/1/0');
        await heard(first, 'the number', ([selection]) => selection.cell === 'weight.1.0');
    });

    test('a hundred megabytes arrive', async () => {
        const { at } = await add(large);
        const { explorer, open } = await viewOf(at);
        assert.match(open.summary, /^32 layers × 8 heads · 512 queries × 512 keys · d_k 64/);
        const { printed } = await add('s = q[31, 7, 500] @ k[31, 7, :501].T / 8; print((np.exp(s) / np.exp(s).sum())[3]); view.state += "&layer=31&head=7"');
        await explorer.until('the last head', () => explorer.linked('layer'), (layer) => layer === '31');
        const { f32 } = await explorer.explain('weight', 500, 3);
        assert.ok(Math.abs(f32 - Number(printed)) < rounding, `${f32}, ${printed}`);
    });

    test('when the kernel has restarted, a view is still of use, and its cell runs again', async () => {
        fetches = [];
        await page.evaluate(() => new Promise((resolve) => { Jupyter.notebook.kernel.restart(resolve); }));
        await connected();
        await click(first, 'map/3/2');
        await first.explorer.until('the number', () => first.explorer.linked('pin'), (pin) => pin === 'weight.3.2');
        await run(0);
        const again = await viewOf(0);
        await click(again, 'map/2/0');
        await heard(again, 'the number', ([selection]) => selection?.cell === 'weight.2.0');
        assert.deepEqual(fetches, [false]);
        assert.equal(await page.locator('.cell').first().locator('iframe').count(), 1);
    });

    test('the browser has nothing to complain of', () => assert.deepEqual(problems, []));
});
