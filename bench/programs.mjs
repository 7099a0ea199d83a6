// The programs that print tables of their own.
//   node programs.mjs NAME  Runs bench_NAME natively and in headless Chromium, and puts its tables into results/.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { chromium } from '../tests/browser/node_modules/playwright-core/index.mjs';
import { launchOptions } from '../tests/browser/lib/browser.mjs';
import { serve } from '../tools/lib/serve.mjs';
import { here, measuredOn } from './machine.mjs';
import { keep } from './results.mjs';

// Without MODULARIZE a program takes its settings from the global object Module, and begins as soon as its script is loaded.
async function inPage(browser, url, script) {
    const page = await browser.newPage();
    await page.goto(`${url}bench/web/program.html`);
    const printed = await page.evaluate((source) => new Promise((resolve, reject) => {
        const lines = [];
        globalThis.Module = {
            print: (line) => lines.push(line),
            printErr: (line) => console.error(line),
            onExit: (code) => (code ? reject(new Error(`${source} ends with ${code}`)) : resolve(`${lines.join('\n')}\n`)),
            onAbort: (why) => reject(new Error(`${source} aborts: ${why}`)),
        };
        document.head.append(Object.assign(document.createElement('script'), { src: source }));
    }), `/build/web/bench/${script}`);
    await page.close();
    return printed;
}

/**
 * Runs a program natively and as WebAssembly in headless Chromium, each alone.
 *
 * @param {string} name
 * @returns {Promise<[string, string][]>} where, and what it printed
 */
export async function everywhere(name) {
    const native = execFileSync(here(`../build/native/bench/${name}-native`), [], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
    const server = await serve({ folder: here('..') });
    const browser = await chromium.launch(launchOptions);
    try {
        return [
            ['Natively', native],
            ['In Chromium, relaxed', await inPage(browser, server.url, `${name}-relaxed.js`)],
            ['In Chromium, simd', await inPage(browser, server.url, `${name}-simd.js`)],
        ];
    } finally {
        await browser.close();
        await server.close();
    }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const name = process.argv[2];
    const where = measuredOn();
    const parts = (await everywhere(`bench_${name}`)).map(([title, table]) => `## ${title}, one thread\n\n${table}`);
    const content = [...parts, where].join('\n');
    console.log(content);
    keep(name, content);
}
