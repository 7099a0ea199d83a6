// Runs the shell and Python blocks of README.md and docs/guide.md as a reader would, each page in a folder of
// its own that contains models/, docs/, README.md and build/native/attn like a checkout. A block that cannot
// run here says so in the line above it, `<!-- not run: REASON -->`; the reasons are those of `reasons`, and
// a block without one always runs. A lesson, which holds fences itself, stands between ~~~markdown and ~~~; it
// is saved as lesson.md for the block that follows.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { attn } from '../support/attn.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pages = ['README.md', 'docs/guide.md'];

// What a block must contain to be skipped for a reason.
const reasons = new Map([
    ['serves until Ctrl+C', /^tools\/serve$/m],
    ['runs every test, this one among them', /^tools\/test$/m],
    ['needs PyTorch and a model of the hub', /from_pretrained\(/],
    ['builds the project', /^cmake --build /m],
]);

// Returns the blocks of a page: their language, text, line and the reason not to run them.
function blocksOf(markdown) {
    const lines = markdown.split('\n'), blocks = [];
    let open = null;
    lines.forEach((line, at) => {
        const fence = /^( *)(```|~~~)(\w*)\s*$/.exec(line);
        if (open && fence && fence[3] === '' && fence[2] === open.fence) {
            blocks.push({ ...open, text: open.text.map((words) => words.slice(open.indent)).join('\n') });
            open = null;
        } else if (open) {
            open.text.push(line);
        } else if (fence) {
            const mark = /^ *<!-- not run: (.*) -->$/.exec(lines[at - 1] ?? '');
            open = { language: fence[3], fence: fence[2], indent: fence[1].length, line: at + 1, text: [], reason: mark?.[1] };
        }
    });
    return { blocks, marks: lines.filter((line) => line.includes('<!-- not run')).length };
}

// Prefers the system's Python, for which tools/test installs NumPy.
const python = ['/usr/bin/python3', 'python3'].find((program) => spawnSync(program, ['-c', 'import numpy']).status === 0);

const programs = {
    sh: { run: ['bash', '-euo', 'pipefail', '-c'], parse: ['bash', '-n', '-c'] },
    markdown: { run: ['bash', '-euc', 'printf "%s\\n" "$1" >lesson.md', 'bash'], parse: ['true'] },
    python: { run: [python, '-c'], parse: [python, '-c', 'import ast, sys; ast.parse(sys.argv[1])'] },
};

function execute([program, ...words], text, folder) {
    const { status, error, stderr } = spawnSync(program, [...words, text], { cwd: folder, encoding: 'utf8' });
    assert.equal(status, 0, `${error ?? stderr}\nin\n${text}`);
}

for (const page of pages) {
    const { blocks, marks } = blocksOf(readFileSync(join(root, page), 'utf8'));
    describe(page, () => {
        const folder = mkdtempSync(join(tmpdir(), 'blocks-'));
        after(() => rmSync(folder, { recursive: true }));
        mkdirSync(join(folder, 'build/native'), { recursive: true });
        if (attn) symlinkSync(attn, join(folder, 'build/native/attn'));
        for (const name of ['models', 'docs', 'README.md']) symlinkSync(join(root, name), join(folder, name));

        test('every mark stands above a block', () => {
            assert.equal(blocks.filter(({ reason }) => reason !== undefined).length, marks);
        });
        for (const { language, text, line, reason } of blocks) {
            const skip = !attn && reason === undefined && 'there is no native program';
            test(`line ${line}${reason ? ` is not run: ${reason}` : ''}`, { skip }, () => {
                assert.ok(language in programs, `a block is sh, python or markdown, not '${language}'`);
                assert.ok(python, 'NumPy is missing; tools/test installs Debian’s python3-numpy');
                if (reason === undefined) {
                    execute(programs[language].run, text, folder);
                } else {
                    assert.match(text, reasons.get(reason) ?? assert.fail(`${reason} is no reason of this test`));
                    execute(programs[language].parse, text, folder);
                }
            });
        }
    });
}

test('the blocks that are not run are found, and so is what follows them', () => {
    assert.deepEqual(blocksOf('~~~markdown\n```ask\nq\n```\n~~~\n```sh\nx\n```\n').blocks.map(({ language, text }) => [language, text]),
        [['markdown', '```ask\nq\n```'], ['sh', 'x']]);
    const { blocks, marks } = blocksOf('<!-- not run: a -->\n```sh\nx\n```\n\n  ```python\n  if y:\n      z\n  ```\n<!-- not run: b -->\n');
    assert.deepEqual(blocks.map(({ language, text, reason }) => [language, text, reason]),
        [['sh', 'x', 'a'], ['python', 'if y:\n    z', undefined]]);
    assert.equal(marks, 2);
});

test('the guide has a section for every subject and every lens', () => {
    const sections = new Set(readFileSync(join(root, 'docs/guide.md'), 'utf8').match(/(?<=^## ).*$/gm));
    const named = (file, expression) => [...readFileSync(join(root, file), 'utf8').matchAll(expression)].map((found) => found[1]);
    const lenses = named('web/lenses/list.cpp', /LensEntry\{"\w+", "([^"]+)"/g);
    const subjects = named('web/subjects/list.cpp', /\{\w+_subject, "([^"]+)"/g);
    assert.equal(lenses.length, readdirSync(join(root, 'web/lenses'), { withFileTypes: true }).filter((entry) => entry.isDirectory()).length);
    assert.equal(subjects.length, 4);
    for (const name of [...lenses, ...subjects]) assert.ok(sections.has(name), `docs/guide.md has no section ${name}`);
});

test('every file and every section that a page links to exists', () => {
    const anchors = (file) => readFileSync(file, 'utf8').match(/(?<=^#+ ).*$/gm)
        .map((heading) => heading.toLowerCase().replace(/[^\p{L}\p{N} -]/gu, '').replaceAll(' ', '-'));
    for (const page of [...pages, 'CONTRIBUTING.md', 'bench/README.md']) {
        const from = join(root, page), text = readFileSync(from, 'utf8');
        for (const [, plain, quoted] of text.matchAll(/\]\(([^)\s]+)\)|src="([^"]+)"/g)) {
            const [file, section] = (plain ?? quoted).split('#');
            const to = file ? join(dirname(from), file) : from;
            assert.ok(existsSync(to), `${page} links to ${file}`);
            if (section) assert.ok(anchors(to).includes(section), `${page} links to #${section}`);
        }
    }
});
