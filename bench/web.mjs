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
export const inChromium = [
    { threads: 1, ours: [relaxed, simd] },
    { threads: 2, ours: [threaded, { ...relaxed, name: 'core, relaxed, one thread' }] },
];

export const titleOf = (threads) => `In Chromium, ${threads === 1 ? 'one thread' : `${threads} threads`}`;

// Calls use(inPage, version of the browser), where inPage(name, argument) is the answer of a function of web/page.mjs.
export async function page(use) {
    const server = await serve({ folder: here('..') });
    const browser = await chromium.launch({
        executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
        args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update',
            '--disable-sync', '--no-first-run'],
    });
    // A page of its own for every case: the memory of WebAssembly never shrinks.
    const inPage = async (name, argument) => {
        const fresh = await browser.newPage();
        await fresh.goto(`${server.url}bench/web/index.html`);
        const wanted = [name, argument, './page.mjs'];
        const answer = await fresh.evaluate(async ([f, a, module]) => (await import(module))[f](a), wanted);
        await fresh.close();
        return answer;
    };
    try {
        return await use(inPage, browser.version());
    } finally {
        await browser.close();
        await server.close();
    }
}

export const runWeb = (part, tell) => page(async (inPage, version) => {
    const answers = [];
    const cases = (await inPage('list', relaxed)).filter(({ kind, name }) => kind !== 'gguf' && name.includes(part));
    for (const { threads, ours } of inChromium) {
        const title = titleOf(threads);
        const results = [];
        for (const task of cases) {
            results.push(await inPage('run', { ours, threads, task }));
            tell(title, results.at(-1));
        }
        answers.push({ title, results, versions: [`Chromium ${version}`] });
    }
    return answers;
});
