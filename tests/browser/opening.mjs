// node opening.mjs WASM_SPLIT  Opens the bare address with a program that notes which functions run, as several users would until the
// rest of the program is there, and writes their names into web/opening.txt.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { launchOptions } from './lib/browser.mjs';
import { Explorer } from './lib/explorer.mjs';
import { baseName, functionNames } from '../../tools/lib/function_names.mjs';
import { serve } from '../../tools/lib/serve.mjs';

/** @import { Page, Route } from 'playwright-core' */

const [wasmSplit] = process.argv.slice(2);
const here = (/** @type {string} */ path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const list = here('web/opening.txt'), site = mkdtempSync(join(tmpdir(), 'opening-'));
const noRest = Uint8Array.of(0, 97, 115, 109, 1, 0, 0, 0);  // an empty program

// Runs in the page before its own code.
function keepExports() {
    const { instantiate } = WebAssembly;
    Object.assign(WebAssembly, {
        async instantiate(...given) {
            const instance = await Reflect.apply(instantiate, WebAssembly, given);
            globalThis.written ??= instance.exports?.__write_profile;
            return instance;
        },
    });
}

// Runs in the page: the profile in base64.
function profile() {
    const room = 1 << 20, address = explorer._malloc(room), size = globalThis.written(address, room);
    const bytes = new Uint8Array(explorer.wasmMemory.buffer, address, size).slice();
    explorer._free(address);
    return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
}

const hasPicture = () => globalThis.explorer?._probe_frame_count() > 0;
const hasModel = () => globalThis.explorer?._probe_frame_count() > 0 && 'map/0/0' in JSON.parse(explorer.UTF8ToString(explorer._probe_landmarks()));

/**
 * Newcomers are shown a lesson of three steps.
 *
 * @param {Page} page
 * @param {Explorer} explorer
 */
async function takesLesson(page, explorer) {
    for (let step = 1; step < 3; ++step) {
        await explorer.click('lesson/next');
        await page.waitForTimeout(600);
    }
}

/** @param {Page} page */
async function hoveredOver(page) {
    for (let y = 80; y < 900; y += 60) {
        await page.mouse.move(20, y);
        await page.mouse.move(1420, y, { steps: 40 });
    }
}

/** @param {Page} page */
async function usedByMouse(page) {
    await hoveredOver(page);
    for (const [x, y] of [[420, 300], [620, 470], [760, 640]]) {
        await page.mouse.click(x, y);
        await page.waitForTimeout(300);
        await page.mouse.wheel(0, 240);
    }
    for (const key of ['ArrowDown', 'ArrowRight', 'Escape']) {
        await page.keyboard.press(key);
        await page.waitForTimeout(100);
    }
    await page.waitForTimeout(500);
}

/** @param {Page} page */
async function usedByTouch(page) {
    for (const [x, y] of [[200, 300], [120, 430], [300, 520]]) {
        await page.touchscreen.tap(x, y);
        await page.waitForTimeout(400);
    }
}

/** @param {Route} route */
async function slowly(route) {
    await new Promise((resolve) => { setTimeout(resolve, 3000); });
    await route.continue();
}
const never = (/** @type {Route} */ route) => route.abort();

const desktop = { viewport: { width: 1440, height: 900 } };
const phone = { viewport: { width: 390, height: 844 }, deviceScaleFactor: 3, hasTouch: true, isMobile: true };
const users = [
    { options: desktop, ready: hasModel, uses: usedByMouse },
    { options: { ...desktop, deviceScaleFactor: 2, colorScheme: 'dark', reducedMotion: 'reduce' }, again: true, ready: hasModel, uses: usedByMouse },
    { options: { ...phone, colorScheme: 'dark' }, ready: hasModel, uses: usedByTouch },
    { options: phone, again: true, ready: hasModel, uses: usedByTouch },
    // The model is long in coming, it cannot be fetched, or there is none.
    { options: desktop, ready: hasPicture, meanwhile: hoveredOver, uses: usedByMouse, weights: slowly },
    { options: desktop, again: true, ready: hasPicture, meanwhile: hoveredOver, uses: usedByMouse, weights: slowly },
    { options: phone, ready: hasPicture, uses: usedByTouch, weights: never },
    { options: desktop, again: true, ready: hasPicture, uses: usedByMouse, models: never },
];

/** @type {Set<string>} */
const opened = new Set();
try {
    cpSync(here('build/site'), site, { recursive: true, filter: (path) => !/\.(br|gz)$/.test(path) });
    for (const variant of ['relaxed', 'relaxed-threads']) {
        const program = here(`build/web/web/explorer-${variant}.whole.wasm`);
        execFileSync(wasmSplit, ['--instrument', '--all-features', program, '-o', join(site, `explorer-${variant}.wasm`)]);
        writeFileSync(join(site, `explorer-${variant}.rest.wasm`), noRest);
        const names = functionNames(readFileSync(program)), server = await serve({ folder: site }), browser = await chromium.launch(launchOptions);
        for (const { options, again, ready, uses, weights, models, meanwhile } of users) {
            const page = await browser.newPage(/** @type {object} */ (options));
            await page.addInitScript(keepExports);
            if (again) {
                await page.addInitScript(() => { localStorage.setItem('start', 'known'); });
            }
            if (weights) {
                await page.route(/\.safetensors$/, weights);
            }
            if (models) {
                await page.route(/\/models\//, models);
            }
            await page.goto(`${server.url}?variant=${variant}`);
            await page.waitForFunction(ready);
            if (meanwhile) {  // a click would make the example stay
                await meanwhile(page);
                await page.waitForFunction(hasModel);
                await page.waitForTimeout(1000);
            }
            await uses(page);
            if (!again) {
                await takesLesson(page, new Explorer(page, server.url, variant));
            }
            // After eight bytes, when each function first ran, or 0; imported ones, which have names too, are left out.
            const bytes = Buffer.from(await page.evaluate(profile), 'base64'), defined = (bytes.length - 8) / 4, imported = names.length - defined;
            for (let i = 0; i < defined; ++i) {
                if (bytes.readUInt32LE(8 + 4 * i) > 0) {
                    opened.add(baseName(names[imported + i]));
                }
            }
            await page.close();
        }
        await browser.close();
        server.close();
    }
} finally {
    rmSync(site, { recursive: true });
}
writeFileSync(list, [
    '# The functions that the page runs before the rest of its program is there (cmake/SplitProgram.cmake), without the arguments of',
    '# templates. tools/opening records them; kernels are all among them, because a placeholder cannot take a vector.',
    'attn::simd::*', ...[...opened].filter((name) => !name.startsWith('attn::simd::')).sort(), ''].join('\n'));
console.log(`${opened.size} functions are in ${list}.`);
