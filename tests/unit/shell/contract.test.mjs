// Compares web/shell/contract.d.ts with the C++ of the page, and web/shell/page.d.ts with index.html. The
// type checker ensures that the shell keeps to both.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import test from 'node:test';

const root = new URL('../../../', import.meta.url);
const read = (path) => readFileSync(new URL(path, root), 'utf8');
const contract = read('web/shell/contract.d.ts');
const bridge = read('web/platform/bridge.cpp') + read('web/platform/files.cpp');
const web = readdirSync(new URL('web/', root), { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.cpp')).map((path) => read(`web/${path}`));

// Splits at commas outside brackets.
function parts(list) {
    const found = [''];
    let depth = 0;
    for (const c of list) {
        depth += '([{'.includes(c) ? 1 : ')]}'.includes(c) ? -1 : 0;
        if (c === ',' && depth === 0) {
            found.push('');
        } else {
            found[found.length - 1] += c;
        }
    }
    return found.map((part) => part.trim()).filter(Boolean);
}

// Returns the text between the bracket at `at` and its closing one.
function bracketed(text, at) {
    for (let end = at, depth = 0; ; ++end) {
        depth += text[end] === '(' ? 1 : text[end] === ')' ? -1 : 0;
        if (depth === 0) {
            return text.slice(at + 1, end);
        }
    }
}

/** @typedef {[name: string, signature: {parameters: string[], result: string}]} Signature */

/**
 * Reads the functions of an interface of the contract, with the types of their parameters and results.
 *
 * @param {string} name
 * @returns {Signature[]}
 */
function promised(name) {
    const [, body] = new RegExp(`export interface ${name} \\{\\n([^]*?)\\n\\}`).exec(contract);
    return [...body.matchAll(/^ {4}(\w+)\(([^)]*)\): (.+);$/gm)].map(([, each, parameters, result]) =>
        [each, { parameters: parts(parameters).map((parameter) => parameter.replace(/^\w+: /, '')), result }]);
}

// A type in the contract must be one that a C++ type may correspond to.
const kinds = {
    void: ['void'],
    int: ['number', 'Flag'],
    unsigned: ['number'],
    double: ['number'],
    'const char*': ['Text'],
    'const std::byte*': ['Bytes'],
    'const std::int32_t*': ['Bytes'],
    'std::byte*': ['number'],
};

/** @type {Signature[]} */
const exported = [...bridge.matchAll(/EMSCRIPTEN_KEEPALIVE\s+([\w:* ]+?)\s*\b(explorer_\w+)\(([^)]*)\)/g)].map(([, result, name, parameters]) =>
    [`_${name}`, { parameters: parts(parameters).map((parameter) => parameter.replace(/\s*\w+$/, '')), result }]);

test('the program exports what the contract says, and nothing else', () => {
    assert.ok(exported.length > 20);
    assert.deepEqual(exported.map(([name]) => name).sort(), promised('Exports').map(([name]) => name).sort());
    const signatures = Object.fromEntries(promised('Exports'));
    for (const [name, { parameters, result }] of exported) {
        const { parameters: said, result: answer } = signatures[name];
        assert.equal(parameters.length, said.length, `${name} takes ${parameters.length} arguments, not ${said.length}`);
        [result, ...parameters].forEach((type, i) =>
            assert.ok(kinds[type]?.includes([answer, ...said][i]), `${name}: ${type} is no ${[answer, ...said][i]}`));
    }
});

test('every export is in bridge.cpp or files.cpp, and the shell calls it', () => {
    const count = web.reduce((sum, text) => sum + (text.match(/KEEPALIVE[^(]*\bexplorer_\w+\(/g) ?? []).length, 0);
    assert.equal(count, exported.length);
    const called = read('web/shell/program.js');
    assert.deepEqual(promised('Exports').map(([name]) => name).filter((name) => !called.includes(`'${name}'`)), []);
});

test('the program calls what the contract says, with as many arguments, and nothing else', () => {
    const calls = web.flatMap((text) => [...text.matchAll(/Module\.shell\.(\w+)\(/g)].map((found) =>
        ({ name: found[1], count: parts(bracketed(text, found.index + found[0].length - 1)).length })));
    const signatures = promised('Shell');
    assert.ok(signatures.length > 10);
    assert.deepEqual([...new Set(calls.map(({ name }) => name))].sort(), signatures.map(([name]) => name).sort());
    assert.equal(web.reduce((sum, text) => sum + text.split('Module.shell').length - 1, 0), calls.length);
    for (const { name, count } of calls) {
        assert.equal(count, Object.fromEntries(signatures)[name].parameters.length, name);
    }
});

test('the elements that the shell asks for are in index.html', () => {
    const elements = { div: 'Div', h3: 'Heading', h2: 'Heading', p: 'Paragraph' };
    const [, body] = /interface PageElements \{\n([^]*?)\n\}/.exec(read('web/shell/page.d.ts'));
    const html = read('index.html');
    const asked = [...body.matchAll(/^ {4}'?([\w-]+)'?: HTML(\w*)Element;$/gm)];
    assert.equal(asked.length, body.split('\n').length);
    for (const [, id, type] of asked) {
        const [, tag] = new RegExp(`<(\\w+)[^>]*\\sid="${id}"`).exec(html) ?? [];
        assert.ok(tag, `there is no #${id}`);
        if (type) {
            assert.equal((elements[tag] ?? tag).toLowerCase(), type.toLowerCase(), `#${id} is a ${tag}`);
        }
    }
});
