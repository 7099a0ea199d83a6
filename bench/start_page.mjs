// node start_page.mjs [FOLDER]  How long the bare address takes to its first useful picture, the attention of the opening sentence on
// the screen, and how much of that is the browser's own time; FOLDER is another build's site, opened in turn. Prints medians and minima of
// ten runs in milliseconds from the start of the navigation, each run with a fresh profile; then one run each over a simulated fast 3G.
import { existsSync } from 'node:fs';
import { chromium } from '../tests/browser/node_modules/playwright-core/index.mjs';
import { launchOptions } from '../tests/browser/lib/browser.mjs';
import { serve } from '../tools/lib/serve.mjs';
import { here, measuredOn } from './machine.mjs';

const runs = 10;
// As Lighthouse has it: 1.6 Mbit/s down, 750 kbit/s up, 150 ms.
const fast3G = { offline: false, latency: 150, downloadThroughput: 200e3, uploadThroughput: 93750 };
const sites = [here('../build/site'), ...process.argv.slice(2)];
const without = sites.find((site) => !existsSync(`${site}/models/storyteller/model.safetensors`));
if (without) {
    throw new Error(`${without} has no model to open with: nothing to measure.`);
}

// Runs in the page before its own code. A picture counts once the GPU process has drawn it: reading a pixel
// waits for that.
function watchPicture() {
    /** @type {Record<string, any>} */
    const marks = globalThis.marks = {};
    const timed = (object, name, key) => {
        const original = object[name];
        object[name] = function wrapped(...args) {
            const began = performance.now();
            const note = () => { marks[key] ??= [began, performance.now()]; };
            const result = original.apply(this, args);
            if (typeof result?.then === 'function') {
                result.then(note, note);
            } else {
                note();
            }
            return result;
        };
    };
    timed(WebAssembly, 'compileStreaming', 'compile');
    timed(WebAssembly, 'instantiate', 'instantiate');
    const { getContext } = HTMLCanvasElement.prototype;
    Object.assign(HTMLCanvasElement.prototype, {
        /** @this {HTMLCanvasElement} */
        getContext(kind, ...rest) {
            const began = performance.now();
            const context = getContext.call(this, kind, ...rest);
            (marks.contexts ??= []).push([began, performance.now()]);
            return context;
        },
    });
    const drawn = () => {
        const gl = document.getElementById('canvas').getContext('webgl2');
        gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
        return performance.now();
    };
    const ask = (question) => JSON.parse(explorer.UTF8ToString(explorer[`_probe_${question}`]()));
    requestAnimationFrame(function watch() {
        const frames = globalThis.explorer?._probe_frame_count?.() ?? 0;
        if (frames > 0) {
            marks.first ??= drawn();
            if ('map/0/0' in ask('landmarks')) {
                marks.frames = frames;
                marks.useful = drawn();
                return;
            }
        }
        requestAnimationFrame(watch);
    });
}

// Runs in an empty page. It fills the same canvas with one colour and compiles the same program.
function bareCanvas(wasm) {
    document.body.style.margin = '0';
    const canvas = document.createElement('canvas');
    canvas.width = 1440;
    canvas.height = 844;
    document.body.append(canvas);
    return new Promise((resolve) => {
        requestAnimationFrame(async () => {
            const gl = canvas.getContext('webgl2');
            gl.clearColor(0.5, 0.5, 0.5, 1);
            gl.clear(gl.COLOR_BUFFER_BIT);
            gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, new Uint8Array(4));
            const picture = performance.now();
            await WebAssembly.compileStreaming(fetch(wasm));
            resolve({ picture, compile: performance.now() - picture });
        });
    });
}

/**
 * What came when.
 *
 * @param {import('playwright-core').Browser} browser
 * @param {string} url
 * @param {typeof fast3G} [network]
 */
async function start(browser, url, network) {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.addInitScript(watchPicture);
    if (network) {
        const devtools = await page.context().newCDPSession(page);
        await devtools.send('Network.enable');
        await devtools.send('Network.emulateNetworkConditions', network);
    }
    await page.goto(url, { timeout: 120000 });
    await page.waitForFunction(() => globalThis.marks.useful, null, { polling: 100, timeout: 120000 });
    const { marks, resources, inflated } = await page.evaluate(() => ({
        marks: globalThis.marks,
        resources: performance.getEntriesByType('resource').map((entry) => entry.toJSON()),
        inflated: performance.getEntriesByType('navigation')[0].toJSON().responseEnd,
    }));
    const named = (end) => resources.find(({ name }) => name.endsWith(end));
    await page.close();
    return { marks, inflated, wasm: named('.wasm'), weights: named('.safetensors') };
}

/** @param {Record<string, number[]>} samples */
function print(samples) {
    const width = Math.max(...Object.keys(samples).map((name) => name.length));
    console.log(`${''.padEnd(width)}   median      min`);
    for (const [name, values] of Object.entries(samples)) {
        values.sort((a, b) => a - b);
        const median = (values[(values.length - 1) >> 1] + values[values.length >> 1]) / 2;
        console.log(`${name.padEnd(width)} ${median.toFixed(0).padStart(8)} ${values[0].toFixed(0).padStart(8)}`);
    }
    console.log();
}

const measured = measuredOn(), servers = await Promise.all(sites.map((folder) => serve({ folder })));
const samples = sites.map(() => ({}));
for (let run = 0; run < runs; ++run) {
    for (const [which, { url }] of servers.entries()) {
        const note = (name, value) => (samples[which][name] ??= []).push(value);
        const browser = await chromium.launch(launchOptions);
        const { marks, inflated, wasm, weights } = await start(browser, url);
        await browser.close();
        note('document here', inflated);
        note('program asked for', wasm.startTime);
        note('program compiled', marks.compile[1]);
        note('weights asked for', weights.startTime);
        note('weights here', weights.responseEnd);
        note('drawing contexts made, ms', marks.contexts.reduce((sum, [began, ended]) => sum + ended - began, 0));
        note('first frame on the screen', marks.first);
        note('first useful picture', marks.useful);
        note('frames until then', marks.frames);

        const plain = await chromium.launch(launchOptions);
        const empty = await plain.newPage({ viewport: { width: 1440, height: 900 } });
        await empty.goto(`${url}manifest.json`);
        const { picture, compile } = await empty.evaluate(bareCanvas, wasm.name);
        note('browser: an empty canvas with WebGL2 on the screen', picture);
        note('browser: compiling the program, ms', compile);
        await plain.close();
    }
}
for (const [which, { url }] of servers.entries()) {
    console.log(sites[which]);
    print(samples[which]);
    const browser = await chromium.launch(launchOptions);
    const { marks, wasm, weights } = await start(browser, url, fast3G);
    await browser.close();
    const times = { 'the program here': wasm.responseEnd, 'first byte of the model': weights.responseStart, 'first picture of a lens': marks.first,
        'last byte of the model': weights.responseEnd, 'its first picture': marks.useful };
    console.log(`fast 3G: ${Object.entries(times).map(([name, at]) => `${name} ${at.toFixed(0)}`).join(', ')}\n`);
}
servers.forEach(({ close }) => close());
console.log(measured);
