// Measures how long the bare address takes to its first useful picture, the attention of the opening sentence
// on the screen, and how much of that is the browser's own time:
//   node tests/browser/first_picture.mjs [RUNS]
// Prints medians and minima in milliseconds from the start of the navigation. Each run is a fresh profile.
import { chromium } from 'playwright-core';
import { serve } from '../../tools/lib/serve.mjs';
import { bundled, site } from './lib/bundled.mjs';
import { launchOptions } from './lib/browser.mjs';

if (bundled.absent) {
    console.error(`${bundled.absent}: nothing to measure.`);
    process.exit(1);
}
const runs = Number(process.argv[2] ?? 10);
const server = await serve({ folder: site });

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

const samples = {};
const note = (name, value) => (samples[name] ??= []).push(value);

for (let run = 0; run < runs; ++run) {
    const browser = await chromium.launch(launchOptions);
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.addInitScript(watchPicture);
    await page.goto(server.url);
    await page.waitForFunction(() => globalThis.marks.useful, null, { polling: 100, timeout: 30000 });
    const { marks, resources, inflated } = await page.evaluate(() => ({
        marks: globalThis.marks,
        resources: performance.getEntriesByType('resource').map((entry) => entry.toJSON())
            .map(({ name, startTime, responseEnd }) => ({ name, began: startTime, ended: responseEnd })),
        inflated: performance.getEntriesByType('navigation')[0].toJSON().responseEnd,
    }));
    const wasm = resources.find(({ name }) => name.endsWith('.wasm'));
    const weights = resources.find(({ name }) => name.endsWith('.safetensors'));
    note('document here', inflated);
    note('program asked for', wasm.began);
    note('program compiled', marks.compile[1]);
    note('weights asked for', weights.began);
    note('weights here', weights.ended);
    note('drawing contexts made, ms', marks.contexts.reduce((sum, [began, ended]) => sum + ended - began, 0));
    note('first frame on the screen', marks.first);
    note('first useful picture', marks.useful);
    note('frames until then', marks.frames);
    await browser.close();

    const plain = await chromium.launch(launchOptions);
    const empty = await plain.newPage({ viewport: { width: 1440, height: 900 } });
    await empty.goto(`${server.url}manifest.json`);
    const { picture, compile } = await empty.evaluate(bareCanvas, wasm.name);
    note('browser: an empty canvas with WebGL2 on the screen', picture);
    note('browser: compiling the program, ms', compile);
    await plain.close();
}
await server.close();

const width = Math.max(...Object.keys(samples).map((name) => name.length));
console.log(`${''.padEnd(width)}   median      min   (${runs} runs)`);
for (const [name, values] of Object.entries(samples)) {
    values.sort((a, b) => a - b);
    const median = (values[(values.length - 1) >> 1] + values[values.length >> 1]) / 2;
    console.log(`${name.padEnd(width)} ${median.toFixed(0).padStart(8)} ${values[0].toFixed(0).padStart(8)}`);
}
