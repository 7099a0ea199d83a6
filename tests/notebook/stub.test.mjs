// Tests the stub against a fake model, in a page with the policy that VS Code sets on its notebooks.
// PAGE: the explorer's page as one file; without it, only a page that speaks as it does is tried.
/* global cells, stub, FakeModel */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { npy } from '../browser/lib/tensors.mjs';
import { launch } from './lib/chromium.mjs';
import { policy } from './lib/policy.mjs';

const here = (path) => new URL(path, import.meta.url);
const read = (path) => readFileSync(here(path), 'utf8');
const stubPath = here('../../python/attention_explorer/stub.js');

const notebook = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<title>Notebook</title>
<script>
globalThis.violations = [];
addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => violations.push(violatedDirective + ' ' + blockedURI));
${read('lib/fake_model.js')}
</script>
<script type="module">${read('../../python/attention_explorer/stub.js').replace('export default', 'globalThis.stub =')}</script>
</html>`;

const fake = read('lib/fake_page.html');
let browser, server, page, problems;

before(async () => {
    browser = await launch();
    server = createServer((_, response) => response.writeHead(200, { 'Content-Type': 'text/html' }).end(notebook));
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(undefined)); });
});
after(async () => {
    await browser?.close();
    server?.close();
});

// No frame may cause errors, refusals of the policy, or requests to other hosts.
function watch() {
    page.on('pageerror', (error) => problems.push(error.message));
    page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
    page.on('request', (request) => !/^(http:\/\/127\.0\.0\.1|blob:|data:)/.test(request.url()) && problems.push(request.url()));
}

beforeEach(async () => {
    page = await browser.newPage();
    problems = [];
    watch();
    await page.clock.install();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.evaluate((text) => { globalThis.fake = text; }, fake);
});
afterEach(async () => {
    assert.deepEqual(await page.evaluate(() => globalThis.violations), []);
    assert.deepEqual(problems, []);
    await page.close();
});

// Shows cells, one for each size of its file, with the same page.
const show = (sizes, name = 'page', alive = true) => page.evaluate(([all, named, answers]) => {
    globalThis.cells ??= [];
    for (const size of all) {
        const bytes = new Uint8Array(size).map((_, i) => i * 31 >> 3);
        const model = new FakeModel({ page: globalThis.fake, name: named, link: 'v=1&lens=map', files: [{ path: 'tensors/t.safetensors', bytes }] });
        model.alive = answers;
        const el = document.createElement('div');
        document.body.append(el);
        cells.push({ model, el, bytes, end: stub.render({ model, el }) });
    }
}, [sizes, name, alive]);

// Resolves to the answer once it is true. The pages' clock stands still, Playwright's own waiting with it.
async function until(ask, argument) {
    for (const end = performance.now() + 20_000; performance.now() < end;) {
        const answer = await page.evaluate(ask, argument);
        if (answer) {
            return answer;
        }
        await page.clock.runFor(5);
        await new Promise((resolve) => { setTimeout(resolve, 5); });
    }
    throw new Error(`waited in vain for ${ask}; the cells say ${await page.evaluate(() => globalThis.cells?.map(({ el }) => el.textContent))}`);
}

const heard = (cell = 0) => until((i) => {
    const all = cells[i].el.querySelector('iframe')?.contentWindow.heard;
    return all?.filter(({ type }) => type === 'state').length >= 2 && all;
}, cell);

const own = (ask, cell = 0) => page.evaluate(ask, cell);

test('the stub is small', () => {
    assert.ok(statSync(stubPath).size <= 20_000);
});

test('a cell gets page, files and link, and shows the link again once the files are open', async () => {
    await show([9_000_001]);
    const bytes = Buffer.from(Uint8Array.from({ length: 9_000_001 }, (_, i) => i * 31 >> 3));
    assert.deepEqual(await heard(), [
        { explorer: 1, type: 'state', link: 'v=1&lens=map' },
        { explorer: 1, type: 'open', id: 'files', files: [['tensors/t.safetensors', bytes.length, createHash('sha256').update(bytes).digest('hex')]] },
        { explorer: 1, type: 'state', link: 'v=1&lens=map' },
    ]);
    const { messages, mostInFlight, largest } = await own((i) => cells[i].model);
    assert.deepEqual(messages.map(({ type, number }) => [type, number]), [['fetch', undefined], ['taken', 0], ['taken', 1], ['taken', 2], ['taken', 3]]);
    assert.deepEqual([mostInFlight, largest], [1, 4_000_000]);
    assert.equal(await page.locator('iframe').evaluate((frame) => frame.style.height), '400px');
});

test('a hundred megabytes', { timeout: 60_000 }, async () => {
    await show([100_000_000]);
    const [, { files: [[, size]] }] = await heard();
    assert.equal(size, 100_000_000);
    const { mostInFlight, largest, lastTaken } = await own((i) => cells[i].model);
    assert.deepEqual([mostInFlight, largest, lastTaken], [1, 4_000_000, 25]);
});

test('the page is sent once, however many cells there are and whenever they come', async () => {
    await show([10, 20, 30, 40]);
    for (const cell of [0, 1, 2, 3]) {
        await heard(cell);
    }
    await show([50]);
    await heard(4);
    assert.equal(await page.evaluate(() => cells.reduce((sum, { model }) => sum + model.pages, 0)), 1);
    await show([60], 'another version');
    await heard(5);
    assert.equal(await own((i) => cells[i].model.pages, 5), 1);
});

test('if the cell that fetches the page goes, another one fetches it', async () => {
    await show([10], 'page', false);
    await show([20, 30]);
    await page.evaluate(() => cells[0].end());
    await heard(1);
    await heard(2);
    const wanted = await page.evaluate(() => cells.map(({ model }) => model.messages.filter(({ page: asked }) => asked).length));
    assert.deepEqual([wanted[0], wanted[1] + wanted[2]], [1, 1]);
});

test('the kernel hears of the latest selection and link, at most ten times a second', async () => {
    await show([10]);
    await heard();
    await page.evaluate(async () => {
        const { say } = cells[0].el.querySelector('iframe').contentWindow;
        for (let i = 0; i < 1000; ++i) {
            say({ type: 'selection', layer: 0, head: i, query: null, value: 0.5 });
            say({ type: 'state', link: `v=1&head=${i}` });
        }
    });
    for (let ms = 0; ms < 1000; ms += 10) {
        await page.clock.runFor(10);
        await page.evaluate((i) => cells[0].el.querySelector('iframe').contentWindow.say({ type: 'selection', head: i }), ms);
    }
    await page.evaluate(() => cells[0].el.querySelector('iframe').contentWindow.say({ type: 'selection', layer: 2, head: 3 }));
    await page.clock.runFor(500);
    const saved = await page.evaluate(() => cells[0].model.saved);
    assert.ok(saved.length > 5, `${saved.length}`);
    saved.slice(1).forEach(({ at }, i) => assert.ok(at - saved[i].at >= 100, `${at - saved[i].at} ms`));
    assert.deepEqual(saved.at(-1).selection, { layer: 2, head: 3 });
    assert.ok(saved.some(({ link }) => link === 'v=1&head=999'));
    assert.ok(!saved.some(({ link }) => link === 'v=1&head=998'));
    assert.ok(saved.every((each) => Object.keys(each).every((key) => ['at', 'link', 'selection'].includes(key))));
});

test('Python sets the state', async () => {
    await show([10]);
    await heard();
    await page.evaluate(() => cells[0].model.tell({ type: 'state', link: 'v=1&lens=flow' }));
    await until(() => cells[0].el.querySelector('iframe').contentWindow.heard.at(-1).link === 'v=1&lens=flow');
});

test('a frame that the notebook moves opens its files and its last link again', async () => {
    await show([10]);
    await heard();
    await page.evaluate(() => cells[0].el.querySelector('iframe').contentWindow.say({ type: 'state', link: 'v=1&head=7' }));
    await page.clock.runFor(500);
    await page.evaluate(() => document.body.append(cells[0].el));
    const again = await heard();
    assert.deepEqual(again.map(({ type, link, files }) => link ?? [type, files.length]), ['v=1&head=7', ['open', 1], 'v=1&head=7']);
});

test('other frames and other messages are not heard', async () => {
    await show([10, 10]);
    await heard(0);
    await heard(1);
    await page.evaluate(() => {
        postMessage({ explorer: 1, type: 'selection', head: 1 }, '*');
        cells[0].el.querySelector('iframe').contentWindow.parent.postMessage({ type: 'selection', head: 2 }, '*');
        cells[1].el.querySelector('iframe').contentWindow.say({ type: 'selection', head: 3 });
    });
    await page.clock.runFor(500);
    assert.deepEqual(await page.evaluate(() => cells.map(({ model }) => model.saved.map(({ selection }) => selection).filter(Boolean))), [[], [{ head: 3 }]]);
});

test('a view lives on without its kernel', async () => {
    await show([10]);
    await heard();
    await page.evaluate(() => {
        cells[0].model.alive = false;
        cells[0].el.querySelector('iframe').contentWindow.say({ type: 'selection', head: 1 });
    });
    await page.clock.runFor(500);
    assert.equal(await page.locator('iframe').count(), 1);
    await page.evaluate(() => {
        cells[0].model.alive = true;
        cells[0].el.querySelector('iframe').contentWindow.say({ type: 'selection', head: 2 });
    });
    await page.clock.runFor(500);
    assert.deepEqual(await page.evaluate(() => cells[0].model.saved.map(({ selection }) => selection).filter(Boolean)), [{ head: 2 }]);
});

test('a kernel that does not answer is a sentence, and the next run works', async () => {
    await show([10], 'page', false);
    assert.equal(await page.locator('[role=status]').textContent(), 'The explorer is coming from the kernel …');
    await page.clock.runFor(20_500);
    assert.equal(await page.locator('[role=status]').textContent(), 'The kernel does not answer: run this cell again.');
    await show([10]);
    await heard(1);
});

test('a view that ends leaves nothing behind', async () => {
    await show([10, 10]);
    await heard(0);
    await heard(1);
    await page.evaluate(() => {
        cells[0].el.querySelector('iframe').contentWindow.say({ type: 'selection', head: 1 });
    });
    await page.evaluate(() => cells[0].end());
    await page.clock.runFor(500);
    const { listeners, saved, messages, children } = await page.evaluate(() => ({
        listeners: cells[0].model.listeners, saved: cells[0].model.saved, messages: cells[0].model.messages, children: cells[0].el.childElementCount,
    }));
    assert.deepEqual([listeners, saved.some(({ selection }) => selection), children, messages.at(-1).type], [0, false, 0, 'gone']);
    assert.equal(await page.locator('iframe').count(), 1);
});

test('the explorer itself opens tensors and tells what is chosen', { skip: !process.env.PAGE, timeout: 120_000 }, async () => {
    await page.close();
    page = await browser.newPage({ viewport: { width: 1200, height: 800 } });
    watch();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const text = readFileSync(process.env.PAGE, 'utf8').replace('<html lang="en" hidden>', '<html lang="en" hidden data-notebook>');
    await page.evaluate(([whole, numbers]) => {
        const files = [{ path: 'tensors/attention.npy', bytes: Uint8Array.from(atob(numbers), (letter) => letter.charCodeAt(0)) }];
        const model = new FakeModel({ page: whole, height: 700, link: 'v=1&subject=tensors&files=attention.npy&layer=0&head=1&query=2', files });
        const el = document.createElement('div');
        document.body.append(el);
        globalThis.cells = [{ model, el, end: stub.render({ model, el }) }];
    }, [text, npy([2, 3, 3], [1, 0, 0, 0.5, 0.5, 0, 0.25, 0.25, 0.5, 1, 0, 0, 0.25, 0.75, 0, 0.5, 0.25, 0.25]).toString('base64')]);
    const selection = () => page.evaluate(() => cells[0].model.get('selection'));
    for (const end = performance.now() + 60_000; (await selection())?.query !== 2;) {
        assert.ok(performance.now() < end, `the kernel has heard ${JSON.stringify(await selection())}`);
        await new Promise((resolve) => { setTimeout(resolve, 100); });
    }
    const { subject, lens, layer, head, query } = await selection();
    assert.deepEqual({ subject, lens, layer, head, query }, { subject: 'tensors', lens: 'overview', layer: 0, head: 1, query: 2 });
});
