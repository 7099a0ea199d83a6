// Tests the page on a host that sends no headers, like many that serve plain files: the second visit has threads and needs no
// network, and a new build replaces the old one as a whole.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { extname, join } from 'node:path';
import { chromium } from 'playwright-core';
import { launchOptions } from './lib/browser.mjs';
import { bundled, site, worked } from './lib/bundled.mjs';
import { certificateFor } from './lib/certificate.mjs';
import { Explorer } from './lib/explorer.mjs';
import { test } from './lib/suite.mjs';

const name = 'explorer.test';
const types = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.wasm': 'application/wasm' };
const textOf = (path) => readFileSync(join(site, path), 'utf8');

// Serves the site with changed files; nothing while it is not connected.
class Host {
    connected = true;
    broken = false;  // it answers that it cannot
    changed = {};
    requests = [];

    async listen() {
        this.server = createServer(certificateFor([name]), (request, response) => {
            const path = new URL(request.url, 'https://host').pathname.slice(1) || 'index.html';
            this.requests.push(path);
            const file = join(site, path);
            if (!this.connected) {
                request.socket.destroy();
            } else if (this.broken) {
                response.writeHead(503).end();
            } else if (path in this.changed || existsSync(file)) {
                response.writeHead(200, { 'Content-Type': types[extname(path)] ?? 'application/octet-stream' });
                response.end(this.changed[path] ?? readFileSync(file));
            } else {
                response.writeHead(404).end();
            }
        });
        await new Promise((resolve) => { this.server.listen(0, '127.0.0.1', () => resolve(undefined)); });
        const { port } = /** @type {import('node:net').AddressInfo} */ (this.server.address());
        this.url = `https://${name}:${port}/`;
    }

    // Goes on to a build with another main.js.
    deploy(mark) {
        const main = `${textOf('main.js')}\nglobalThis.build = '${mark}';\n`;
        const hash = createHash('sha256').update(main).digest('hex');
        const worker = textOf('offline_worker.js').replace(/("main\.js":")[0-9a-f]{64}/, `$1${hash}`).replace(/(?<=build:")[0-9a-f]+/, mark);
        this.changed = { 'main.js': main, 'offline_worker.js': worker };
    }
}

// Uses the page in a browser of its own, which takes the host's certificate.
async function onHost(use, context = {}) {
    const host = new Host();
    await host.listen();
    const browser = await chromium.launch({
        ...launchOptions, args: [...launchOptions.args, `--host-resolver-rules=MAP ${name} 127.0.0.1`, '--ignore-certificate-errors'],
    });
    try {
        const visits = await browser.newContext({ ignoreHTTPSErrors: true, ...context });
        const open = async (fragment = worked || 'v=1&lens=worked', query = '') => {
            const visit = new Explorer(await visits.newPage(), host.url, '');
            await visit.page.goto(`${host.url}${query}#${fragment}`);
            await visit.started();
            return visit;
        };
        await use({ host, open });
    } finally {
        await browser.close();
        host.server.closeAllConnections();
        await new Promise((resolve) => { host.server.close(resolve); });
    }
}

const patient = 120_000;  // ms in which all files come twice, on a machine that does other things
const isKept = (visit) => visit.until('the site to be kept', () => visit.page.evaluate(async () => (await navigator.serviceWorker.getRegistration())?.active?.state), (state) => state === 'activated', patient);
const waits = (visit) => visit.until('another build to wait', () => visit.page.evaluate(async () => (await navigator.serviceWorker.getRegistration()).waiting?.state), (state) => state === 'installed', patient);
const isIsolated = (visit) => visit.page.evaluate(() => crossOriginIsolated);
const buildOf = (visit) => visit.page.evaluate(() => globalThis.build ?? 'first');
const reload = async (visit) => {
    await visit.page.reload();
    await visit.started();
};
const drop = (visit, ending) => visit.page.evaluate(async (end) => {
    for (const key of await caches.keys()) {
        const cache = await caches.open(key);
        await Promise.all((await cache.keys()).filter(({ url }) => url.endsWith(end)).map((request) => cache.delete(request)));
    }
}, ending);

test('offline: the second visit has threads, and then the network is not needed, neither for a model nor for a lesson', { start: false, limit: 300_000 }, () => onHost(async ({ host, open }) => {
    const first = await open();
    assert.equal(await isIsolated(first), false);
    await isKept(first);
    assert.equal(await isIsolated(first), false, 'no page is reloaded');
    await first.page.close();
    host.connected = false;
    host.requests = [];
    const visit = await open();
    assert.equal(await isIsolated(visit), true);
    await visit.type('w_k/0/1', '3');
    await visit.until('the edit', async () => (await visit.matrix('w_k'))[0][1], (number) => number === 3);
    await visit.page.evaluate(() => { location.hash = 'v=1&lesson=one-token-back'; });
    await visit.until('a lesson', () => visit.rect('lesson/title'));
    if (!bundled.absent) {
        await visit.page.evaluate((model) => { location.hash = `v=1&subject=sentence&model=${model}&text=The%20animal%20slept`; }, bundled.name);
        await visit.until('a run', () => visit.logits(), (logits) => logits?.length > 0);
    }
    assert.deepEqual(visit.problems, []);
    assert.deepEqual(host.requests.filter((path) => path !== 'offline_worker.js'), []);
}));

test('offline: a new build comes as a whole at the next start; an open page keeps the old one', { start: false, limit: 300_000 }, () => onHost(async ({ host, open }) => {
    const old = await open();
    await isKept(old);
    await reload(old);
    host.deploy('b001');
    await old.page.evaluate(async () => { await (await navigator.serviceWorker.getRegistration()).update(); });
    await waits(old);
    await reload(old);
    assert.equal(await buildOf(old), 'first', 'the old shell with the new server');
    await old.page.close();
    host.connected = false;
    const next = await open();
    assert.equal(await buildOf(next), 'b001');
    const kept = await next.page.evaluate(async () => (await caches.keys()).length);
    assert.equal(kept, 1, 'builds that are kept');
    // The server goes back.
    host.connected = true;
    host.changed = {};
    await next.page.evaluate(async () => { await (await navigator.serviceWorker.getRegistration()).update(); });
    await waits(next);
    await next.page.close();
    assert.equal(await buildOf(await open()), 'first');
}));

test('offline: half a cache is mended from the same build, and given up for another', { start: false, limit: 300_000 }, () => onHost(async ({ host, open }) => {
    const visit = await open();
    await isKept(visit);
    await drop(visit, '.wasm');
    host.requests = [];
    await reload(visit);
    assert.ok(host.requests.some((path) => path.endsWith('.wasm')));
    host.connected = false;
    await reload(visit);  // it is whole again
    // A server that is broken for a while has no other build.
    host.connected = host.broken = true;
    await drop(visit, 'tour.md');
    await reload(visit);
    host.broken = false;
    await reload(visit);
    host.connected = false;
    await reload(visit);
    assert.deepEqual(visit.problems.filter((text) => !/ERR_|Failed to load/.test(text)), []);
    host.connected = true;
    await drop(visit, 'main.js');
    host.deploy('b002');
    await reload(visit);
    assert.equal(await buildOf(visit), 'b002');
}));

test('offline: a browser that refuses the worker has the page as before; a framed page is isolated by itself', { start: false, limit: 300_000 }, async () => {
    await onHost(async ({ open }) => {
        const visit = await open();
        assert.equal(await isIsolated(visit), false);
        assert.deepEqual(visit.problems.filter((text) => !text.endsWith('blocked by Playwright')), []);
    }, { serviceWorkers: 'block' });
    await onHost(async ({ open }) => {
        await isKept(await open());
        const visit = await open(undefined, '?embed');
        const headers = await visit.page.evaluate(async () => Object.fromEntries((await fetch('index.html?embed')).headers));
        assert.equal(headers['cross-origin-opener-policy'], undefined);
    });
});
