// Packs everything twice by tools/package and uses each package where there is nothing else of the project.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));
const packages = join(root, 'build/packages');
const place = mkdtempSync(join(tmpdir(), 'packages-'));
after(() => rmSync(place, { recursive: true }));

const run = (/** @type {string} */ program, /** @type {string[]} */ ...given) => execFileSync(program, given, { cwd: place, encoding: 'utf8' });
const named = (/** @type {RegExp} */ pattern) => readdirSync(packages).find((name) => pattern.test(name));
const sums = () => readFileSync(join(packages, 'SHA256SUMS'), 'utf8');

run(join(root, 'tools/package'));

test('the sums are those of the files, and the same when all is packed again', () => {
    const before = sums();
    const lines = before.trim().split('\n').map((line) => line.split('  '));
    assert.deepEqual(lines.map(([, name]) => name), readdirSync(packages).filter((name) => name !== 'SHA256SUMS').sort());
    for (const [sum, name] of lines) {
        assert.equal(createHash('sha256').update(readFileSync(join(packages, name))).digest('hex'), sum, name);
    }
    run(join(root, 'tools/package'));
    assert.equal(sums(), before);
});

test('the site has everything that its manifest lists, and the licences', () => {
    const zip = named(/-site\.zip$/);
    run('/usr/bin/python3', '-m', 'zipfile', '-e', join(packages, zip), 'site');
    const folder = join(place, 'site', zip.replace('-site.zip', ''));
    const manifest = JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));
    for (const [path, size] of Object.entries(manifest)) {
        assert.equal(readFileSync(join(folder, path)).length, size, path);
    }
    assert.ok(['index.html', 'LICENSE', 'third_party_licences.txt'].every((path) => path in manifest));
});

test('the wheel keeps its record, and can be imported', () => {
    const wheel = named(/\.whl$/);
    run('/usr/bin/python3', '-m', 'zipfile', '-e', join(packages, wheel), 'wheel');
    const about = readdirSync(join(place, 'wheel')).find((name) => name.endsWith('.dist-info'));
    const record = readFileSync(join(place, 'wheel', about, 'RECORD'), 'utf8').trim().split('\n');
    for (const line of record.filter((each) => !each.endsWith(',,'))) {
        const [path, sum, size] = line.split(',');
        const bytes = readFileSync(join(place, 'wheel', path));
        assert.equal(`sha256=${createHash('sha256').update(bytes).digest('base64url')}`, sum, path);
        assert.equal(bytes.length, Number(size), path);
    }
    assert.ok(record.some((line) => line.includes('/licenses/LICENSE,')));
    const said = execFileSync('/usr/bin/python3', ['-c', 'import numpy, attention_explorer as a; a.save("page.html", q=numpy.eye(3), k=numpy.eye(3)); print(a.__file__)'],
        { cwd: place, env: { ...process.env, PYTHONPATH: join(place, 'wheel') }, encoding: 'utf8' });
    assert.ok(said.startsWith(place), said);
    assert.match(readFileSync(join(place, 'page.html'), 'utf8'), /data-file="tensors\/q\.npy"|data-file="tensors\//);
});

test('the native package runs, and a program of another project is built with it', () => {
    const tar = named(/\.tar\.gz$/);
    run('tar', '-xzf', join(packages, tar));
    const folder = join(place, tar.replace(/-linux-.*/, ''));
    assert.match(run(join(folder, 'bin/attn'), '--help'), /attn/);
    assert.ok(readFileSync(join(folder, 'share/licences/LICENSE'), 'utf8').length > 0);
    run('cmake', '-S', join(root, 'tests/install'), '-B', 'build', '-G', 'Ninja', `-DCMAKE_PREFIX_PATH=${folder}`);
    run('cmake', '--build', 'build');
});
