// Drives the built page in Chromium: node tests/browser/run.mjs [PART OF A TEST'S NAME]
// SITE: the folder of the page, build/site by default; CHROMIUM: the browser, /usr/bin/chromium by default.
// DRIVE_SECONDS: how long one test drives the page at random, a minute by default; DRIVE_SEED: the seed for
// its actions, by default a new one each time. For an hour:
//   DRIVE_SECONDS=3600 node tests/browser/run.mjs driven
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { serve } from '../../tools/lib/serve.mjs';
import { launchOptions } from './lib/browser.mjs';
import { site } from './lib/bundled.mjs';
import { runAll } from './lib/suite.mjs';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const variants = ['relaxed-threads', 'simd-threads', 'relaxed', 'simd'].filter((name) => existsSync(`${site}/explorer-${name}.wasm`));
if (variants.length === 0) {
    console.error(`There is no page in ${site}: tools/serve --build-only builds it.`);
    process.exit(1);
}

const started = Date.now();
const server = await serve({ folder: site });
const launch = () => chromium.launch({ ...launchOptions, args: [...launchOptions.args, '--process-per-site'] });
const browsers = await Promise.all(Array.from({ length: 6 }, launch));
const topics = readdirSync(here('.')).filter((name) => name.endsWith('.test.mjs')).sort()
    .map((name) => ({ topic: name.replace('.test.mjs', ''), file: new URL(name, import.meta.url) }));

let counts;
try {
    counts = await runAll({ topics, filter: process.argv[2] ?? '', variants, browsers, site: server.url, failures: here('../../build/browser') });
} finally {
    await Promise.all(browsers.map((browser) => browser.close()));
    await server.close();
}
const { passed, failed, skipped } = counts;
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped in ${((Date.now() - started) / 1000).toFixed(0)} s (${variants.join(', ')})`);
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
