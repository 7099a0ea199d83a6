// Tests how the page is made one file.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import test from 'node:test';
import { gunzipSync } from 'node:zlib';
import { isNeeded, oneFile } from '../../../web/shell/one_file.js';

const index = await readFile(new URL('../../../index.html', import.meta.url), 'utf8');
const part = (/** @type {string} */ path, /** @type {BlobPart} */ contents) => ({ path, bytes: new Blob([contents]) });
const parts = [part('index.html', index), part('one_file_start.js', 'const end = "</script>";')];

/** @param {string} html */
const blocks = (html) => Object.fromEntries([...html.matchAll(/<script type="text\/plain" data-file="([^"]*)">([^<]*)<\/script>/g)]
    .map(([, path, text]) => [path, gunzipSync(Buffer.from(text, 'base64'))]));

test('every file lies in the page as it was, whatever its bytes and its name', async () => {
    const bytes = Uint8Array.from({ length: 100_000 }, (_, i) => (i * i) % 251);
    const html = await (await oneFile([...parts, part('a "b" <c>&.bin', bytes)], 'v=1&T=0.5')).text();
    const held = blocks(html);
    assert.deepEqual(new Uint8Array(held['a &#34;b&#34; &#60;c>&#38;.bin']), bytes);
    assert.equal(held.view.toString(), 'v=1&T=0.5');
    assert.deepEqual(JSON.parse(held['manifest.json'].toString()), {
        'index.html': Buffer.byteLength(index), 'one_file_start.js': 24, 'a "b" <c>&.bin': bytes.length,
    });
});

test('the page asks nobody for anything, and its start ends no block early', async () => {
    const html = await (await oneFile(parts, '')).text();
    assert.match(html, /content="default-src 'none';[^"]*connect-src 'none'/);
    const shell = html.replace(/<script type="text\/plain"[^]*?<\/script>/g, '');
    assert.doesNotMatch(shell, /<(script|link)[^>]*(src|href)="(?!data:)/);
    assert.match(shell, /const end = "<\\\/script>";<\/script>/);
    assert.ok(html.trimEnd().endsWith('</html>'));
});

test('a page that is not as expected is refused', async () => {
    await assert.rejects(oneFile(parts.slice(1), ''), /^Error: index\.html is missing\.$/);
    await assert.rejects(oneFile([part('index.html', '<html lang="en"></html>'), parts[1]], ''), /^Error: index\.html has no /);
});

test('one build of the program, no workers and no models are needed', () => {
    const all = ['main.js', 'kept_worker.js', 'explorer-simd.wasm', 'explorer-simd.rest.wasm', 'explorer-simd-threads.wasm', 'explorer-relaxed.mjs', 'models/storyteller/config.json', 'lessons/tour.md'];
    assert.deepEqual(all.filter(isNeeded), ['main.js', 'explorer-simd.wasm', 'explorer-simd.rest.wasm', 'lessons/tour.md']);
});
