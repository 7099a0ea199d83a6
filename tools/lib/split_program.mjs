// node split_program.mjs PROGRAM FUNCTIONS WASM_SPLIT  Splits PROGRAM.wasm, which was linked with the names of its functions
// (--profiling-funcs), by Binaryen's program: it keeps the functions that the file FUNCTIONS names, and PROGRAM.rest.wasm gets the others,
// for which the first part has placeholders (web/platform/parts.js). PROGRAM.whole.wasm is what was linked.
import { execFileSync } from 'node:child_process';
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { baseName, escaped, functionNames } from './function_names.mjs';

const [program, list, wasmSplit] = process.argv.slice(2);
// What Emscripten compiles for; a linked program does not say it.
const features = ['threads', 'simd', 'relaxed-simd', 'bulk-memory', 'mutable-globals', 'sign-ext', 'nontrapping-float-to-int'];

const lines = readFileSync(list, 'utf8').split('\n').filter((line) => line && !line.startsWith('#'));
const names = new Set(lines), rooms = lines.filter((line) => line.endsWith('::*')).map((line) => line.slice(0, -1));
const isFirst = (/** @type {string} */ name) => names.has(name) || rooms.some((room) => name.startsWith(room));

renameSync(`${program}.wasm`, `${program}.whole.wasm`);
const kept = functionNames(readFileSync(`${program}.whole.wasm`)).filter((name) => isFirst(baseName(name)));
if (kept.length === 0) {
    throw new Error(`${program}.wasm has no function that ${list} names.`);
}
writeFileSync(`${program}.kept`, kept.map(escaped).join('\n'));
execFileSync(wasmSplit, ['--split', `${program}.whole.wasm`, `--keep-funcs=@${program}.kept`, ...features.map((name) => `--enable-${name}`),
    '-o1', `${program}.wasm`, '-o2', `${program}.rest.wasm`], { stdio: ['ignore', 'ignore', 'inherit'] });
rmSync(`${program}.kept`);
