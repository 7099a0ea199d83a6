// The server of tools/serve: files as they lie, and compressed where the request takes that.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { serve } from '../../../tools/lib/serve.mjs';

const compress = fileURLToPath(new URL('../../../tools/lib/compress.mjs', import.meta.url));

/** A folder that is gone after the test. */
function site(t) {
    const folder = mkdtempSync(join(tmpdir(), 'site-'));
    t.after(() => rmSync(folder, { recursive: true }));
    mkdirSync(join(folder, 'models'));
    writeFileSync(join(folder, 'main.js'), 'export const zeros = 0;\n'.repeat(100));
    writeFileSync(join(folder, 'models', 'model.safetensors'), new Uint8Array(1000));
    return folder;
}

const ask = (url, headers = {}) => new Promise((resolve, reject) => {
    get(url, { headers }, (response) => {
        const parts = [];
        response.on('data', (part) => parts.push(part)).on('end', () => resolve({ ...response.headers, status: response.statusCode, body: Buffer.concat(parts) }));
    }).on('error', reject);
});

test('text and programs are compressed beside themselves, weights are not, and nothing twice', (t) => {
    const folder = site(t);
    execFileSync(process.execPath, [compress, folder]);
    const all = () => readdirSync(folder, { recursive: true }).sort();
    assert.deepEqual(all(), ['main.js', 'main.js.br', 'main.js.gz', 'models', join('models', 'model.safetensors')]);
    writeFileSync(join(folder, 'main.js.br'), 'as it was');
    utimesSync(join(folder, 'main.js.br'), new Date(0), new Date(0));
    execFileSync(process.execPath, [compress, folder]);
    assert.equal(all().length, 5);
});

test('a request gets the best encoding that it accepts', async (t) => {
    const folder = site(t);
    execFileSync(process.execPath, [compress, folder]);
    const server = await serve({ folder });
    t.after(() => server.close());
    const plain = await ask(`${server.url}main.js`);
    assert.equal(plain['content-encoding'], undefined);
    const wanted = plain.body.toString();
    /** @type {[string, string, (bytes: Buffer) => Buffer][]} */
    const encodings = [['gzip, deflate, br, zstd', 'br', brotliDecompressSync], ['gzip', 'gzip', gunzipSync], ['br;q=0, gzip;q=0.5', 'gzip', gunzipSync]];
    for (const [accept, encoding, read] of encodings) {
        const answer = await ask(`${server.url}main.js`, { 'Accept-Encoding': accept });
        assert.equal(answer['content-encoding'], encoding);
        assert.equal(answer['content-type'], 'text/javascript; charset=utf-8');
        assert.equal(answer.vary, 'Accept-Encoding, Sec-Fetch-Dest');
        assert.notEqual(answer.etag, plain.etag);
        assert.equal(read(answer.body).toString(), wanted);
        assert.equal((await ask(`${server.url}main.js`, { 'Accept-Encoding': accept, 'If-None-Match': answer.etag })).status, 304);
    }
    assert.equal((await ask(`${server.url}main.js`, { 'Accept-Encoding': 'identity, br;q=0.0' }))['content-encoding'], undefined);
});

test('what is compressed from an older file is not sent', async (t) => {
    const folder = site(t);
    execFileSync(process.execPath, [compress, folder]);
    const later = new Date(Date.now() + 5000);
    writeFileSync(join(folder, 'main.js'), 'new');
    utimesSync(join(folder, 'main.js'), later, later);
    const server = await serve({ folder });
    t.after(() => server.close());
    const answer = await ask(`${server.url}main.js`, { 'Accept-Encoding': 'br, gzip' });
    assert.equal(answer['content-encoding'], undefined);
    assert.equal(answer.body.toString(), 'new');
});

test('a page is isolated by the headers of its window, and in a frame by its own', async (t) => {
    const folder = site(t);
    writeFileSync(join(folder, 'index.html'), '<!doctype html>');
    const { url, close } = await serve({ folder });
    t.after(close);
    const page = await ask(url), frame = await ask(url, { 'sec-fetch-dest': 'iframe' });
    const own = 'document-isolation-policy', window = 'cross-origin-embedder-policy';
    assert.deepEqual([page[window], page[own]], ['require-corp', undefined]);
    assert.deepEqual([frame[window], frame[own]], [undefined, 'isolate-and-require-corp']);
});
