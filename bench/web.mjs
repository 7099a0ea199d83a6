// The same in headless Chromium, everyone in one page.
import { chromium } from 'playwright-core';
import { serve } from '../tools/lib/serve.mjs';
import { here } from './machine.mjs';

// Of the core: its builds, the one that the others are compared with first.
const relaxed = { name: 'core, relaxed', module: '/build/web/bench/bench-relaxed.mjs', threads: 1 };
const simd = { name: 'core, simd', module: '/build/web/bench/bench-simd.mjs', threads: 1 };
const threaded = {
    name: 'core, relaxed-threads', module: '/build/web/bench/bench-relaxed-threads.mjs', threads: 2,
};
const tables = [
    { threads: 1, ours: [relaxed, simd] },
    { threads: 2, ours: [threaded, { ...relaxed, name: 'core, relaxed, one thread' }] },
];

export async function runWeb(part, tell) {
    const server = await serve({ folder: here('..') });
    const browser = await chromium.launch({
        executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
        args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update',
            '--disable-sync', '--no-first-run'],
    });
    // A page of its own for every case: the memory of WebAssembly never shrinks.
    const inPage = async (name, argument) => {
        const page = await browser.newPage();
        await page.goto(`${server.url}bench/web/index.html`);
        const wanted = [name, argument, './page.mjs'];
        const answer = await page.evaluate(async ([f, a, module]) => (await import(module))[f](a), wanted);
        await page.close();
        return answer;
    };
    const answers = [];
    try {
        const cases = (await inPage('list', relaxed)).filter(({ name }) => name.includes(part));
        for (const { threads, ours } of tables) {
            const title = `In Chromium, ${threads === 1 ? 'one thread' : `${threads} threads`}`;
            const results = [];
            for (const task of cases) {
                results.push(await inPage('run', { ours, threads, task }));
                tell(title, results.at(-1));
            }
            answers.push({ title, results, versions: [`Chromium ${browser.version()}`] });
        }
    } finally {
        await browser.close();
        await server.close();
    }
    return answers;
}
