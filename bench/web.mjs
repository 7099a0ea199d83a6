// The same in headless Chromium: for each number of threads one page with everyone in it.
import { chromium } from 'playwright-core';
import { serve } from '../tools/lib/serve.mjs';
import { here } from './machine.mjs';

// Of the core: its builds, the one that the others are compared with first. They have one thread each.
const relaxed = { name: 'core, relaxed', module: '/build/web-relaxed/bench/bench-relaxed.mjs', threads: 1 };
const simd = { name: 'core, simd', module: '/build/web/bench/bench-simd.mjs', threads: 1 };
const tables = [
    { threads: 1, ours: [relaxed, simd] },
    { threads: 2, ours: [{ ...relaxed, name: 'core, relaxed, one thread' }] },
];

export async function runWeb(part, tell) {
    const server = await serve({ folder: here('..') });
    const browser = await chromium.launch({
        executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
        args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update',
            '--disable-sync', '--no-first-run'],
    });
    const answers = [];
    try {
        for (const { threads, ours } of tables) {
            const page = await browser.newPage();
            page.on('pageerror', (error) => console.error(`the page: ${error.message}`));
            const title = `In Chromium, ${threads === 1 ? 'one thread' : `${threads} threads`}`;
            await page.exposeFunction('tell', (result) => tell(title, result));
            await page.goto(`${server.url}bench/web/index.html`);
            const results = await page.evaluate(
                (wanted) => import('./page.mjs').then(({ run }) => run(wanted)), { ours, threads, part });
            await page.close();
            answers.push({ title, results, versions: [`Chromium ${browser.version()}`] });
        }
    } finally {
        await browser.close();
        await server.close();
    }
    return answers;
}
