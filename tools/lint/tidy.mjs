// node tidy.mjs BUILD CLANG_TIDY  Runs clang-tidy over the sources of core/ and web/ as the compile commands of BUILD batch them.
// A batch that was found clean is looked at again only when it, something that it includes, or the checks have changed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));
const [build, program] = process.argv.slice(2);
const roots = [join(root, 'core'), join(root, 'web')];
const clean = join(build, 'clean');
mkdirSync(clean, { recursive: true });

/** @type {Map<string, string>} */
const texts = new Map();
const text = (/** @type {string} */ file) => {
    const known = texts.get(file) ?? readFileSync(file, 'utf8');
    texts.set(file, known);
    return known;
};

// A file of ours and those that it includes, directly or not, in the order of their names.
function reached(/** @type {string} */ first) {
    const files = new Set([first]);
    for (const file of files) {
        for (const [, name] of text(file).matchAll(/^\s*#\s*include "([^"]+)"/gm)) {
            const found = [dirname(file), ...roots].map((folder) => resolve(folder, name)).find((path) => existsSync(path));
            if (found) files.add(found);
        }
    }
    return [...files].sort();
}

function keyOf(/** @type {string} */ file, /** @type {string} */ command) {
    const hash = createHash('sha256').update(command).update(text(join(root, '.clang-tidy')));
    for (const each of reached(file)) hash.update(each).update(text(each));
    return join(clean, hash.digest('hex'));
}

// Other people's sources and the program's generated version are not ours to check; bench/ and tests/ are left out.
const ours = new RegExp(`^(${roots.join('|')})/|^${resolve(build)}/(core|web)/.*/Unity/`);
/** @type {{ file: string, command: string }[]} */
const commands = JSON.parse(readFileSync(join(build, 'compile_commands.json'), 'utf8'));
const batches = commands.filter(({ file }) => ours.test(file))
    .map(({ file, command }) => ({ file, key: keyOf(file, command) })).filter(({ key }) => !existsSync(key));

async function work() {
    let failed = false;
    for (let batch = batches.shift(); batch; batch = batches.shift()) {
        const { file, key } = batch;
        const child = spawn(program, ['-p', build, '--quiet', '--warnings-as-errors=*', file], { stdio: ['ignore', 'inherit', 'ignore'] });
        const code = await new Promise((done) => { child.on('close', done); });
        if (code === 0) {
            writeFileSync(key, '');
        } else {
            failed = true;
        }
    }
    return failed;
}

const failures = await Promise.all(Array.from({ length: availableParallelism() }, work));
process.exitCode = failures.includes(true) ? 1 : 0;
