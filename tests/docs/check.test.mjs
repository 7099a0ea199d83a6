// Compares the verdicts of `attn check` with mistakes that tests/golden/check/plant.py plants in attention
// computed by NumPy.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { attn } from '../support/attn.mjs';

const plant = fileURLToPath(new URL('../golden/check/plant.py', import.meta.url));
const python = ['/usr/bin/python3', 'python3'].find((program) => spawnSync(program, ['-c', 'import numpy']).status === 0);
const skip = !(attn && python) && 'there is no native program, or no NumPy';
const program = attn ?? '', interpreter = python ?? '';
const folder = mkdtempSync(join(tmpdir(), 'check-'));
after(() => rmSync(folder, { recursive: true }));

/** @param {string[]} cases */
function check(cases) {
    const { status, stdout, stderr } = spawnSync(program, ['check', '--json', ...cases], { encoding: 'utf8', maxBuffer: 1 << 26 });
    return { status, stderr, verdicts: JSON.parse(stdout) };
}

test('planted mistakes are named, and right results are not accused', { skip }, () => {
    // A sample of the 1,016 cases: sanitizers make a diagnosis slow.
    execFileSync(interpreter, [plant, folder, '--every', '19']);
    const { status, verdicts } = check(readdirSync(folder).map((name) => join(folder, name)));
    assert.equal(status, 1);
    let named = 0;
    for (const verdict of verdicts) {
        const [mistake] = basename(verdict.case).split('.');
        const right = mistake === 'right' ? ['right', 'rounding'].includes(verdict.verdict) : verdict.verdict === mistake;
        const told = right || verdict.alternatives.includes(mistake);
        assert.ok(told || !verdict.confident, `${verdict.case}: ${verdict.sentence}`);
        if (mistake === 'right') assert.ok(right, `${verdict.case}: ${verdict.sentence}`);
        named += told ? 1 : 0;
    }
    assert.ok(named >= 0.95 * verdicts.length, `${named} of ${verdicts.length} named`);
});

test('a file that cannot be read ends with a sentence and status 2', { skip }, () => {
    const file = join(folder, 'broken.npz');
    writeFileSync(file, 'no archive');
    const { status, stderr, verdicts } = check([file]);
    assert.equal(status, 2);
    assert.match(stderr, /broken\.npz/);
    assert.equal(verdicts[0].case, file);
    assert.ok(verdicts[0].error);
});
