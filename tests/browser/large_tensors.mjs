// How a large .npy opens in the page, of [12, 12, 1024, 1024] in float32 (604 MB): node tests/browser/large_tensors.mjs
// Prints times from the drop, the longest task of the page's thread, and memory: of the program's heap and of the browser's
// process at its peak.
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { serve } from '../../tools/lib/serve.mjs';
import { site } from './lib/bundled.mjs';
import { launchOptions } from './lib/browser.mjs';
import { Explorer } from './lib/explorer.mjs';
import { npyHeader } from './lib/tensors.mjs';

const [layers, heads, n] = [12, 12, 1024];
const folder = mkdtempSync(join(tmpdir(), 'tensors-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

// Causal rows that lean towards their end, a little otherwise in every head.
function head(sharpness) {
    const cells = new Float32Array(n * n);
    for (let q = 0; q < n; ++q) {
        const row = cells.subarray(q * n, q * n + q + 1).map((_, k) => Math.exp((sharpness * (k - q)) / n));
        const sum = row.reduce((a, b) => a + b, 0);
        cells.set(row.map((w) => w / sum), q * n);
    }
    return cells;
}

const path = join(folder, 'attention.npy');
const file = openSync(path, 'w');
writeSync(file, npyHeader([layers, heads, n, n]));
const kinds = [0, 4, 16, 64, 256, 1024].map(head);
for (let i = 0; i < layers * heads; ++i) {
    writeSync(file, kinds[i % kinds.length]);
}
closeSync(file);

// Of the browser's processes that draw pages: {now, peak} in MB of the largest.
function renderer() {
    const all = execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' }).split('\n').filter((line) => line.includes('--type=renderer'));
    const sizes = all.map((line) => {
        const status = readFileSync(`/proc/${line.trim().split(' ')[0]}/status`, 'utf8');
        return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1000;
    });
    return Math.max(...sizes);
}

const server = await serve({ folder: site });
const browser = await chromium.launch(launchOptions);
try {
    const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
    const explorer = new Explorer(page, server.url);
    for (const variant of ['relaxed-threads', 'relaxed']) {
        await explorer.open(variant, 'v=1&lens=tensors').catch(() => {});
        if (await page.evaluate(() => Boolean(globalThis.explorer))) {
            console.log(variant);
            break;
        }
    }
    const heap = () => page.evaluate(() => explorer.wasmMemory.buffer.byteLength / 1e6);
    const before = [await heap(), renderer()];
    await page.evaluate(() => {
        globalThis.tasks = [];
        new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: 'longtask' });
    });
    const began = Date.now();
    const since = () => `${((Date.now() - began) / 1000).toFixed(1)} s`;
    const wait = async (what, holds) => {
        for (let state; !holds(state = await explorer.tensors());) {
            if (Date.now() - began > 120000) {
                throw new Error(`waited in vain for ${what}: ${JSON.stringify(state)} ${await explorer.notices()}`);
            }
            await page.waitForTimeout(50);
        }
        console.log(`${what}: ${since()}`);
    };
    await explorer.drop(path);
    await wait('open', ({ open }) => open);
    await wait('all heads', ({ open }) => open.heads_exact === layers * heads);
    await explorer.until('rest', () => explorer.ask('busy'), (busy) => !busy);
    console.log(`heap: ${before[0].toFixed(0)} MB before, ${(await heap()).toFixed(0)} MB after`);
    console.log(`browser's process at its peak: ${before[1].toFixed(0)} MB before, ${renderer().toFixed(0)} MB after`);
    const tasks = await page.evaluate(() => tasks);
    console.log(`tasks of more than 50 ms: ${tasks.length}, the longest ${Math.max(0, ...tasks).toFixed(0)} ms`);
    console.log((await explorer.tensors()).open.remarks.join('\n') || 'nothing odd');
    await page.screenshot({ path: process.argv[2] ?? join(tmpdir(), 'large_tensors.png') });
} finally {
    await browser.close();
    await server.close();
}
