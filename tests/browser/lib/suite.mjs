// Registers tests and runs them, each on a fresh page.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { Explorer } from './explorer.mjs';
import { shared } from './models.mjs';

/** @import { Browser, BrowserContext, BrowserContextOptions } from 'playwright-core' */

/**
 * @typedef {object} Options
 * @property {string} [needs] a folder of the shared data; if it is absent, as on a user's machine, the test
 *     is skipped
 * @property {boolean} [each] in every build of the program, not only the best
 * @property {string} [fragment]
 * @property {boolean} [newcomer] the browser has never been here; by default, it has
 * @property {boolean} [fine] at one pixel per point, for pictures and for exact turns of the wheel, which
 *     Chromium counts in pixels
 * @property {BrowserContextOptions} [context]
 * @property {boolean} [start] false leaves opening to the body and checks no picture
 * @property {RegExp[]} [expected] patterns of console messages that belong to the test
 * @property {number} [limit] ms that it may take
 *
 * @typedef {(explorer: Explorer) => Promise<void>} Body
 * @typedef {Options & {name: string, body: Body}} Test
 */

/**
 * Where a test runs.
 *
 * @typedef {{browser: Browser, site: string, variant: string, failures: string, label: string}} Where
 */

const usual_limit = 90000;  // ms per test; none comes near it on an idle machine
// Pixels per point: a browser without a GPU spends most of its time on pixels, and most tests read none.
const coarse = 0.5;
const few = 4;

/** The context of a test on a phone. */
export const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** @type {Test[]} */
const registered = [];

class Skipped extends Error {}

// A test that cannot run here calls this with the reason.
export function skip(reason) {
    throw new Skipped(reason);
}

/**
 * Registers a test, whose body has the open page.
 *
 * @overload
 * @param {string} name
 * @param {Body} body
 * @returns {void}
 */
/**
 * @overload
 * @param {string} name
 * @param {Options} options
 * @param {Body} body
 * @returns {void}
 */
/**
 * @param {string} name
 * @param {[Body] | [Options, Body]} rest
 */
export function test(name, ...rest) {
    const [options, body] = rest.length === 1 ? [{}, rest[0]] : rest;
    registered.push({ ...options, name, body });
}

// Without a GPU the browser spends a third of a test's time on drawing, and most tests look at the picture
// only at their end: on coarse pages nothing reaches the canvas until then, nor does the canvas reach the
// page.
function drawOnDemand() {
    const { prototype } = WebGL2RenderingContext;
    globalThis.drawing = false;
    document.addEventListener('DOMContentLoaded', () => {
        const canvas = document.getElementById('canvas');
        if (canvas) {
            canvas.style.opacity = '0';
        }
    });
    for (const name of /** @type {const} */ (['clear', 'drawArrays', 'drawArraysInstanced', 'drawElements'])) {
        const draw = /** @type {(...values: any[]) => void} */ (prototype[name]);
        prototype[name] = function (...values) {
            if (globalThis.drawing || this.getParameter(this.FRAMEBUFFER_BINDING)) {
                draw.apply(this, values);
            }
        };
    }
}

/**
 * @param {Browser} browser
 * @param {BrowserContextOptions} options
 */
async function newContext(browser, options) {
    const context = await browser.newContext(options);
    if (options.deviceScaleFactor === coarse) {
        await context.addInitScript(drawOnDemand);
    }
    return context;
}

/**
 * A test without special options opens its page in a context that stays. With --process-per-site it shares
 * the process of a page that stays, too, and with it the compiled program, which saves a quarter of a page's
 * cost. Data stored by a test is cleared.
 *
 * @typedef {{context: BrowserContext, clear: () => Promise<unknown>}} Shared
 *
 * @type {WeakMap<Browser, Map<number, Promise<Shared>>>}
 */
const contexts = new WeakMap();

/**
 * @param {Where} where
 * @param {BrowserContextOptions & {deviceScaleFactor: number}} options
 */
function sharedContext({ browser, site, variant }, options) {
    const all = contexts.get(browser) ?? new Map();
    contexts.set(browser, all);
    const density = options.deviceScaleFactor;
    const open = async () => {
        const context = await newContext(browser, options), keeper = await context.newPage();
        keeper.on('crash', () => all.delete(density));
        await keeper.goto(`${site}manifest.json`);
        await keeper.evaluate(async (parts) => {
            globalThis.program = await Promise.all(parts.map((part) => WebAssembly.compileStreaming(fetch(part))));
        }, ['', '.rest'].map((part) => `explorer-${variant}${part}.wasm`));
        const devtools = await context.newCDPSession(keeper);
        const clear = () => devtools.send('Storage.clearDataForOrigin', { origin: new URL(site).origin, storageTypes: 'all' });
        return { context, clear };
    };
    if (!all.has(density)) {
        all.set(density, open());
    }
    return all.get(density);
}

/**
 * @param {Where} where
 * @param {Test} test
 */
async function withPage(where, { needs, body, fragment, fine = false, newcomer = false, context: own, start = true, expected = [], limit = usual_limit }) {
    const { browser, site, variant, failures, label } = where;
    if (needs && !existsSync(join(shared, needs))) {
        skip(`there is no ${join(shared, needs)}`);
    }
    const options = {
        viewport: { width: 1440, height: 900 }, deviceScaleFactor: fine ? 1 : coarse, locale: 'en', colorScheme: /** @type {const} */ ('light'), ...own,
    };
    const shares = start && !own && await sharedContext(where, options);
    const context = shares ? shares.context : await newContext(browser, options);
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`not done after ${limit / 1000} s`)), limit);
    });
    const page = await context.newPage();
    if (!newcomer) {
        await page.addInitScript(() => {
            // An empty page, about:blank, has no storage.
            if (location.protocol.startsWith('http')) {
                localStorage.setItem('start', 'done');
            }
        });
    }
    const explorer = new Explorer(page, site, variant);
    const reported = () => explorer.problems.filter((text) => !expected.some((pattern) => pattern.test(text)));
    const run = async () => {
        if (start) {
            await explorer.open(variant, fragment);
        }
        await body(explorer);
        if (start) {
            await explorer.finish();
        }
        if (reported().length) {
            throw new Error('all is well but for what the page reported');
        }
    };
    try {
        await Promise.race([run(), late]);
    } catch (error) {
        if (error instanceof Error && !(error instanceof Skipped)) {
            error.message = [error.message, ...reported().map((text) => `the page reported ${text}`)].join('\n');
            await keepPicture(explorer, join(failures, `${label.replace(/[^\w-]+/g, '-')}.png`), error);
        }
        throw error;
    } finally {
        clearTimeout(timer);
        await (shares ? page.close().then(shares.clear) : context.close());
    }
}

async function keepPicture(explorer, file, error) {
    const { page } = explorer;
    try {
        const patience = new Promise((resume) => { setTimeout(resume, 5000); });
        await Promise.race([explorer.draw().catch(() => {}), patience]);
        const picture = await page.screenshot({ scale: 'css', timeout: 5000 });
        mkdirSync(join(file, '..'), { recursive: true });
        writeFileSync(file, picture);
        error.message += `\nthe page then: ${file}`;
    } catch {
        error.message += '\nthe page then: no picture could be taken';
    }
}

function indent(error) {
    const where = /\(?(file:\S*\.test\.mjs:\d+)/.exec(error.stack)?.[1].replace(/.*\//, '');
    const text = stripVTControlCharacters(error.message);
    return `${text}${where ? `\nat ${where}` : ''}`.split('\n').map((line) => `             ${line}`).join('\n');
}

/**
 * Imports the topics' files and runs the tests that they register, one at a time in each browser, because a
 * browser has one clipboard and one focus.
 *
 * @param {object} options
 * @param {{topic: string, file: URL}[]} options.topics
 * @param {string} options.filter
 * @param {string[]} options.variants
 * @param {Browser[]} options.browsers
 * @param {string} options.site
 * @param {string} options.failures
 */
export async function runAll({ topics, filter, variants, browsers, ...surroundings }) {
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const waiting = [];
    for (const { topic, file } of topics) {
        registered.length = 0;
        await import(file.href);
        for (const each of registered) {
            for (const variant of each.each ? variants : variants.slice(0, 1)) {
                const label = `${topic}: ${each.name}${each.each ? ` [${variant}]` : ''}`;
                if (label.includes(filter)) {
                    waiting.push({ each: { ...each }, variant, label });
                }
            }
        }
    }
    /** @type {typeof waiting} */
    const again = [];
    await Promise.all(browsers.map(async (browser) => {
        for (let next = waiting.shift(); next; next = waiting.shift()) {
            if (!await runOne({ ...surroundings, browser, ...next }, counts)) {
                again.push(next);
            }
        }
    }));
    // A busy machine may keep a page waiting for longer than a test does: if only a few have failed, each
    // runs once more, with nothing beside it.
    for (const next of again.length <= few ? again : []) {
        --counts.failed;
        await runOne({ ...surroundings, browser: browsers[0], ...next }, counts, 'alone: ');
    }
    return counts;
}

/**
 * Resolves to true unless the test failed.
 *
 * @param {Where & {each: Test}} next
 * @param {{passed: number, failed: number, skipped: number}} counts
 */
async function runOne({ each, ...where }, counts, how = '') {
    const started = Date.now();
    const say = (word, more = '') =>
        console.log(`${word.padEnd(5)}${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${how}${where.label}${more}`);
    try {
        await withPage(where, each);
        ++counts.passed;
        say('ok');
    } catch (error) {
        const skipped = error instanceof Skipped;
        ++counts[skipped ? 'skipped' : 'failed'];
        say(skipped ? 'skip' : 'FAIL', skipped ? `: ${error.message}` : `\n${indent(error)}`);
        return skipped;
    }
    return true;
}
