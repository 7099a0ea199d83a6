// Tests the whole wire of anywidget but for anywidget: a view in Python, the stub, and the explorer itself, under VS Code's policy.
// SITE and PAGE, as in tests/python/staged.py: the built site, and its page as one file.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { launch } from './lib/chromium.mjs';
import { framed } from './lib/framed.mjs';
import { python, workplace } from './lib/jupyter.mjs';
import { policy } from './lib/policy.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const notebook = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Notebook</title>
<div style="height: 3000px"></div>
</html>`;

/** @type {ReturnType<typeof workplace>} */
let place;
/** @type {import('../browser/node_modules/playwright-core').Browser} */
let browser;
let server;

before(async () => {
    place = workplace({});
    browser = await launch();
    server = createServer((_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(notebook));
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(undefined)); });
});
after(async () => {
    await browser?.close();
    server?.close();
    place?.remove();
});

// Shows what lines of Python make. `ask` runs more of them and resolves to what they call answer.
async function shown(lines, use) {
    const kernel = spawn(python, [here('lib/bridge.py'), lines.join('\n')], { cwd: place.work, env: place.env, stdio: ['pipe', 'pipe', 'inherit'] });
    const page = await browser.newPage({ viewport: { width: 1200, height: 900 } });
    const problems = [];
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    try {
        const tell = (message) => kernel.stdin.write(`${JSON.stringify(message)}\n`);
        let answered, started;
        const ready = new Promise((resolve) => { started = resolve; });
        createInterface(kernel.stdout).on('line', (line) => {
            const said = JSON.parse(line);
            if ('stub' in said) {
                started(said);
            } else if ('answer' in said) {
                answered(said.answer);
            } else {
                page.evaluate(({ content, buffers }) => globalThis.tell(content, buffers), said).catch(() => {});
            }
        });
        const { stub, values } = await ready;
        await page.exposeFunction('toKernel', tell);
        await page.goto(`http://127.0.0.1:${server.address().port}/`);
        await page.addScriptTag({ type: 'module', content: stub.replace('export default', 'globalThis.stub =') });
        await page.evaluate((given) => {
            const listeners = new Set(), changes = {};
            globalThis.tell = (content, buffers) => {
                const views = buffers.map((each) => new DataView(Uint8Array.from(atob(each), (letter) => letter.charCodeAt(0)).buffer));
                [...listeners].forEach((listener) => listener(content, views));
            };
            const el = document.createElement('div');
            document.body.prepend(el);
            globalThis.stub.render({
                el,
                model: {
                    get: (name) => given[name],
                    set: (name, value) => { changes[name] = value; },
                    save_changes: () => globalThis.toKernel({ changes }),
                    on: (_, listener) => listeners.add(listener),
                    off: (_, listener) => listeners.delete(listener),
                    send: (content) => globalThis.toKernel({ content }),
                },
            });
        }, values);
        const ask = (run) => new Promise((resolve) => {
            answered = resolve;
            tell({ run });
        });
        await use(await framed(page, page.locator('iframe')), ask, page);
        assert.deepEqual(problems, []);
    } finally {
        await page.close();
        kernel.stdin.end();
    }
}

const open = async (explorer) => (await explorer.until('the tensors', () => explorer.tensors(), ({ open: all, phase }) => phase === null && all)).open;

test('Python knows what is chosen, and chooses', { timeout: 90_000 }, () => shown([
    'import numpy as np', 'from attention_explorer import show', 'rng = np.random.default_rng(1)',
    'q, k = rng.standard_normal((2, 3, 2, 4, 8))', 'view = show(q=q, k=k, tokens=list("abcd"), causal=True, height=700)',
], async (explorer, ask) => {
    assert.match((await open(explorer)).summary, /^3 layers × 2 heads · 4 queries × 4 keys/);
    await explorer.idle();
    await explorer.click('map/2/1');
    const selection = () => ask('answer = view.selection');
    const chosen = await explorer.until('the click in Python', selection, (told) => told?.cell);
    const { subject, layer, head, query, key, query_token: asking, key_token: asked, cell, value } = chosen;
    assert.deepEqual({ subject, layer, head, query, key, asking, asked, cell },
        { subject: 'tensors', layer: 0, head: 0, query: 2, key: 1, asking: 'c', asked: 'b', cell: 'weight.2.1' });
    const [, weight] = await ask('s = (q[0, 0, 2] @ k[0, 0, :3].T) / 8 ** 0.5; answer = (np.exp(s) / np.exp(s).sum()).tolist()');
    assert.ok(Math.abs(value - weight) < 1e-6, `${value}, ${weight}`);
    assert.equal(await explorer.linked('rule'), 'causal');
    const link = await explorer.until('the link in Python', () => ask('answer = view.state'), (state) => /pin=weight/.test(state));
    await ask(`view.state = ${JSON.stringify(link.replace('query=2', 'query=3'))} + "&layer=2"`);
    const told = await explorer.until('the state in the page', selection, (now) => now.layer === 2);
    assert.equal(told.query, 3);
}));

test('a model comes with its text', { timeout: 90_000 }, () => shown([
    'import sys', `sys.path.insert(0, ${JSON.stringify(here('../python'))})`, 'from storyteller import storyteller',
    'from attention_explorer import show', 'view = show(*storyteller(), "The girl sang. It was", height=700)',
], async (explorer, ask) => {
    const { model, text } = await explorer.until('the run', () => explorer.state(), (state) => state.model === 'my-storyteller' && state.ids?.length > 4);
    assert.deepEqual([model, text], ['my-storyteller', 'The girl sang. It was']);
    await explorer.until('its logits', () => explorer.logits(), (logits) => logits?.length === 2048);
    const { subject } = await explorer.until('it in Python', () => ask('answer = view.selection'), (chosen) => chosen?.subject === 'sentence');
    assert.equal(subject, 'sentence');
}));

test('the wheel is the notebook’s until the view has the focus', { timeout: 90_000 }, () => shown([
    'import numpy as np', 'from attention_explorer import show', 'view = show(attention=np.eye(4), height=500)',
], async (explorer, _, page) => {
    await open(explorer);
    await explorer.idle();
    const { x, y } = await explorer.found('panel/lens');
    await explorer.page.mouse.move(x, y);
    await page.mouse.wheel(0, 120);
    await explorer.until('the notebook to scroll', () => page.evaluate(() => scrollY), (at) => at > 0);
}));
