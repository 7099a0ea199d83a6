// Maps in the page, as a person meets them: files dropped onto subject "Your tensors" in headless Chromium, which draws without
// a GPU; on one thread, 1440 × 900. {case: [what, figure, bar]…} for bench/results/maps.md.
//
// A task is what keeps the page's thread busy at a time. Without a GPU it has to wait, in and after every frame, until the
// picture is drawn and read back; those waits are left out of tasks and told of by themselves.
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from '../tests/browser/node_modules/playwright-core/index.mjs';
import { launchOptions } from '../tests/browser/lib/browser.mjs';
import { Explorer } from '../tests/browser/lib/explorer.mjs';
import { npyHeader } from '../tests/browser/lib/tensors.mjs';
import { serve } from '../tools/lib/serve.mjs';
import { here } from './machine.mjs';

const folder = mkdtempSync(join(tmpdir(), 'maps-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

// Uniform in −√3 … √3, so of variance 1: a generator of numbers without a library (Marsaglia's xorshift32).
let seed = 1;
function random() {
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    return (((seed >>> 0) / 2 ** 32) * 2 - 1) * Math.sqrt(3);
}

function write(name, shape, parts) {
    const path = join(folder, name), file = openSync(path, 'w');
    writeSync(file, npyHeader(shape));
    for (const part of parts) {
        writeSync(file, part);
    }
    closeSync(file);
    return path;
}

function tensors(shape) {
    const count = shape.reduce((a, b) => a * b);
    return ['q', 'k', 'v'].map((name) => write(`${name}.npy`, shape, [Float32Array.from({ length: count }, random)]));
}

// Finished causal weights of 144 heads: rows that lean towards their end, a little otherwise in every head.
function finished(n) {
    const head = (sharpness) => {
        const cells = new Float32Array(n * n);
        for (let q = 0; q < n; ++q) {
            const row = cells.subarray(q * n, q * n + q + 1).map((_, k) => Math.exp((sharpness * (k - q)) / n));
            const sum = row.reduce((a, b) => a + b, 0);
            cells.set(row.map((w) => w / sum), q * n);
        }
        return cells;
    };
    const kinds = [0, 4, 16, 64, 256, 1024].map(head);
    return write('attention.npy', [12, 12, n, n], Array.from({ length: 144 }, (_, i) => kinds[i % kinds.length]));
}

// Of the browser's processes that draw pages the memory of the largest, in bytes: at its peak, of which a file's bytes and what
// the browser does with them on their way are a part.
function peak() {
    const all = execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' }).split('\n').filter((line) => line.includes('--type=renderer'));
    const sizes = all.map((line) => readFileSync(`/proc/${line.trim().split(' ')[0]}/status`, 'utf8'))
        .map((status) => Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024);
    return Math.max(...sizes);
}

const patience = 300000;  // ms
const ms = (value) => `${value.toFixed(0)} ms`;
const mb = (bytes) => `${(bytes / 1e6).toFixed(0)} MB`;

class Measured {
    constructor(browser, page, site) {
        this.browser = browser;
        this.page = page;
        this.explorer = new Explorer(page, site, 'relaxed');
    }

    static async open(browser, site) {
        const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
        await page.addInitScript(() => {
            localStorage.setItem('start', 'done');  // newcomers are greeted by a lesson, and by folded groups
            localStorage.setItem('groups', '0');  // no group of lenses is folded
        });
        const measured = new Measured(browser, page, site);
        await measured.explorer.open('relaxed', 'v=1&subject=tensors&files=q.npy,k.npy,v.npy&rule=causal');
        await measured.explorer.settled();
        return measured;
    }

    heap() { return this.page.evaluate(() => explorer.wasmMemory.buffer.byteLength); }

    // Acts and waits for the milestones, {name: test of what is seen}: when each first held, in ms from the act on.
    async times(act, milestones) {
        await this.page.evaluate(() => {
            /** @type {any[]} */
            const seen = globalThis.seen = [];
            const parsed = (answer) => JSON.parse(explorer.UTF8ToString(answer));
            const key = explorer._malloc(8);
            explorer.stringToUTF8('tensors', key, 8);
            const look = () => {
                const { open } = parsed(explorer._probe_subject(key)), shown = parsed(explorer._probe_landmarks());
                seen.push({
                    at: performance.now(), open: Boolean(open), heads_sampled: open?.heads_sampled, heads_exact: open?.heads_exact,
                    map_sampled: 'map/sampled' in shown, map_complete: 'map/complete' in shown,
                });
                requestAnimationFrame(look);
            };
            requestAnimationFrame(look);
        });
        const began = await this.page.evaluate(() => performance.now()), reached = {};
        await act();
        for (const end = Date.now() + patience; Object.keys(reached).length < Object.keys(milestones).length;) {
            await this.page.waitForTimeout(50);
            for (const now of await this.page.evaluate(() => globalThis.seen.splice(0))) {
                for (const [name, holds] of Object.entries(milestones)) {
                    if (reached[name] === undefined && holds(now)) {
                        reached[name] = now.at - began;
                    }
                }
            }
            if (Date.now() > end) {
                throw new Error(`waited in vain; reached: ${JSON.stringify(reached)} ${await this.explorer.notices()} ${JSON.stringify(await this.explorer.tensors())}`);
            }
        }
        return reached;
    }

    // What the page's thread did meanwhile: {tasks, frames, pictures}, in ms, the longest first; of frames the processor's time,
    // of pictures the wait.
    async thread(act) {
        await this.browser.startTracing(this.page, { categories: ['toplevel', 'gpu', 'devtools.timeline'] });
        const result = await act();
        const { traceEvents } = JSON.parse((await this.browser.stopTracing()).toString());
        const mains = new Set(traceEvents.filter((e) => e.name === 'thread_name' && e.args.name === 'CrRendererMain').map((e) => e.pid));
        const events = traceEvents.filter((e) => mains.has(e.pid) && e.dur);
        const reads = events.filter((e) => e.name === 'ImplementationBase::WaitForCmd');
        const inside = (part, whole) => part.tid === whole.tid && part.ts >= whole.ts && part.ts < whole.ts + whole.dur;
        const own = (e) => (e.dur - reads.filter((read) => inside(read, e)).reduce((sum, { dur }) => sum + dur, 0)) / 1000;
        const sorted = (all) => all.sort((a, b) => b - a);
        return {
            result,
            tasks: sorted(events.filter((e) => /RunTask/.test(e.name) && reads.some(({ tid }) => tid === e.tid)).map(own)),
            frames: sorted(events.filter((e) => e.name === 'FireAnimationFrame').map((e) => e.tdur / 1000)),
            pictures: sorted(events.filter((e) => e.name === 'GLES2::ReadPixels').map(({ dur }) => dur / 1000)),
        };
    }
}

const longest = ({ tasks }) => `${tasks[0].toFixed(1)} ms; ${tasks.filter((t) => t > 16).length} of ${tasks.length} over 16 ms`;
const waits = ({ pictures }) => `${pictures.length} × ${ms(pictures[pictures.length >> 1] ?? 0)}`;

async function oneHead(measured, n, bars) {
    const files = tensors([n, 64]), before = await measured.heap();
    const thread = await measured.thread(() => measured.times(() => measured.explorer.drop(...files),
        { first: (seen) => seen.map_sampled, complete: (seen) => seen.map_complete }));
    const rows = [
        ['from the drop to the first picture', ms(thread.result.first), bars.first],
        ['to the complete pyramid', ms(thread.result.complete), bars.complete],
        ['longest task', longest(thread), '16 ms'],
        ['pictures, and the wait for one', waits(thread), ''],
        ['heap, beyond Q, K and V', mb(await measured.heap() - before - 3 * n * 64 * 4), bars.memory],
    ];
    if (bars.moves) {
        await measured.explorer.settled();
        const moves = await measured.thread(() => pan(measured));
        rows.push(['pan and zoom, a frame’s processor time: median', `${moves.frames[moves.frames.length >> 1].toFixed(1)} ms`, '8 ms'],
            ['the longest', `${moves.frames[0].toFixed(1)} ms; ${moves.frames.filter((t) => t > 8).length} of ${moves.frames.length} over 8 ms`, '8 ms']);
    }
    return rows;
}

// Into the map, along it, out again.
async function pan({ page, explorer }) {
    const { x, y } = await explorer.reveal('map');
    const frame = () => page.evaluate(() => new Promise(requestAnimationFrame));
    await page.mouse.move(x, y);
    await page.keyboard.down('Control');
    for (let notch = 0; notch < 24; ++notch) {
        await page.mouse.wheel(0, -100);
        await frame();
    }
    await page.keyboard.up('Control');
    await page.mouse.down();
    for (let step = 0; step < 30; ++step) {
        await page.mouse.move(x - 4 * step, y - 3 * step);
        await frame();
    }
    await page.mouse.up();
    await page.keyboard.down('Control');
    for (let notch = 0; notch < 24; ++notch) {
        await page.mouse.wheel(0, 100);
        await frame();
    }
    await page.keyboard.up('Control');
    await explorer.settled();
}

async function allHeads(measured, shape) {
    const files = tensors(shape).slice(0, 2), heads = shape[0];
    const thread = await measured.thread(() => measured.times(() => measured.explorer.drop(...files),
        { open: (seen) => seen.open, sampled: (seen) => seen.heads_sampled === heads, exact: (seen) => seen.heads_exact === heads }));
    const { open, sampled, exact } = thread.result;
    return [
        ['from the attention to a picture of every head', ms(sampled - open), '300 ms'],
        ['to the exact grid', ms(exact - open), '4000 ms'],
        ['longest task', longest(thread), '16 ms'],
        ['pictures, and the wait for one', waits(thread), ''],
    ];
}

async function largeFile(measured) {
    const file = finished(1024), before = await measured.heap(), peakBefore = peak();
    const thread = await measured.thread(() => measured.times(() => measured.explorer.drop(file),
        { open: (seen) => seen.open, exact: (seen) => seen.heads_exact === 144 }));
    return [
        ['from the drop to its first map', ms(thread.result.open), ''],
        ['to the exact grid', ms(thread.result.exact), ''],
        ['heap of the page, beyond what it was', mb(await measured.heap() - before), 'one copy: 604 MB'],
        ['peak of the browser’s process, beyond what it was', mb(peak() - peakBefore), ''],
        ['longest task', longest(thread), '16 ms'],
        ['pictures, and the wait for one', waits(thread), ''],
    ];
}

// Every lens as it opens and while the mouse goes over it from top to bottom.
async function everyLens(measured) {
    const { page, explorer } = measured;
    await explorer.drop(...tensors([16384, 64]));
    await explorer.settled(patience / 1000);
    const rows = [];
    const lenses = Object.keys(await explorer.landmarks()).filter((name) => name.startsWith('lens/'));
    // V8 compiles a function when it is first called, which is a part of the frames of a first visit.
    for (const visit of ['first visit', 'second visit']) {
        for (const lens of lenses) {
            const thread = await measured.thread(async () => {
                await explorer.click(lens);
                const { left, top, right, bottom } = await explorer.rect('panel/lens');
                for (let step = 0; step < 60; ++step) {
                    await page.mouse.move(left + (right - left) * (0.1 + 0.8 * ((step * 0.618) % 1)), top + ((bottom - top) * step) / 60);
                    await page.evaluate(() => new Promise(requestAnimationFrame));
                }
            });
            const { frames } = thread;
            rows.push([`${visit}, ${lens.split('/')[1]}: a frame’s processor time, median and longest`,
                `${frames[frames.length >> 1].toFixed(1)} and ${frames[0].toFixed(1)} ms; ${frames.filter((t) => t > 8).length} of ${frames.length} over 8 ms`, '8 ms'],
            ['longest task', longest(thread), '16 ms']);
        }
    }
    return rows;
}

const cases = {
    'one head, 16,384 tokens, d = 64': (measured) => oneHead(measured, 16384, { first: '300 ms', complete: '1200 ms', memory: '64 MB', moves: true }),
    'one head, 65,536 tokens, d = 64': (measured) => oneHead(measured, 65536, { first: '', complete: '20000 ms', memory: '1 GB' }),
    '12 × 12 heads, 1,024 tokens, d = 64, from Q and K': (measured) => allHeads(measured, [144, 1024, 64]),
    '24 × 16 heads, 512 tokens, d = 64, from Q and K': (measured) => allHeads(measured, [384, 512, 64]),
    'every lens, 16,384 tokens, d = 64': everyLens,
    'finished weights, 604 MB: [12, 12, 1024, 1024]': largeFile,
};

// Of the cases whose names have this part: {case: rows}.
export async function measureMapsInPage(part = '') {
    const server = await serve({ folder: process.env.SITE ?? here('../build/site') });
    const tables = {};
    try {
        for (const [name, measure] of Object.entries(cases)) {
            if (!name.includes(part)) {
                continue;
            }
            const browser = await chromium.launch(launchOptions);
            try {
                const measured = await Measured.open(browser, server.url);
                tables[name] = await measure(measured);
                if (measured.explorer.problems.length > 0) {
                    throw new Error(measured.explorer.problems.join('\n'));
                }
            } finally {
                await browser.close();
            }
        }
    } finally {
        await server.close();
    }
    return tables;
}
