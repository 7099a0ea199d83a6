// Packs build/site into one file: node package.mjs [--model NAME]... [--view FRAGMENT] [--out FILE]
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';

import { isNeeded, oneFile } from '../../web/shell/one_file.js';

const root = fileURLToPath(new URL('../..', import.meta.url));
const site = join(root, 'build/site');

/** @param {string} sentence */
function fail(sentence) {
    console.error(`package: ${sentence}`);
    process.exit(1);
}

const { values } = parseArgs({
    options: {
        model: { type: 'string', multiple: true, default: [] },
        view: { type: 'string', default: '' },
        out: { type: 'string', default: join(root, 'build/attention-explorer.html') },
    },
});
/** @type {Record<string, number>} */
const manifest = JSON.parse(await readFile(join(site, 'manifest.json'), 'utf8'));
const bundled = new Set(Object.keys(manifest).map((path) => /^models\/([^/]+)\//.exec(path)?.[1]).filter(Boolean));
for (const name of values.model) {
    if (!bundled.has(name)) {
        fail(`the site has no model “${name}”; it has ${[...bundled].join(', ')}`);
    }
}
const paths = Object.keys(manifest).filter((path) => isNeeded(path)
    || values.model.some((name) => path.startsWith(`models/${name}/`)));
const parts = await Promise.all(paths.map(async (path) => ({ path, bytes: new Blob([await readFile(join(site, path))]) })));
const page = await oneFile(parts, values.view.replace(/^#/, ''), async (bytes) => gzipSync(await bytes.arrayBuffer(), { level: 9 }));
await writeFile(values.out, Buffer.from(await page.arrayBuffer()));
console.log(`${values.out}: ${(page.size / 1e6).toFixed(2)} MB`);
