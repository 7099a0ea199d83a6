// node maps.mjs  Runs bench_maps natively and as WebAssembly under node, measures maps in the page, and puts the tables into
// README.md.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { here, machine, revision } from './machine.mjs';
import { measureMapsInPage } from './maps_page.mjs';

// Older nodes know relaxed SIMD by a flag only.
const knows = (...flags) => spawnSync(process.execPath, [...flags, here('../tools/lib/relaxed_node.mjs')]).status === 0;
const relaxed = knows() ? [] : ['--experimental-wasm-relaxed-simd'];
/** @type {[string, string, string[]][]} */
const programs = [
    ['Natively', here('../build/native/bench/bench_maps-native'), []],
    ['WebAssembly, relaxed', process.execPath, [...relaxed, here('../build/web/bench/bench_maps-relaxed.js')]],
    ['WebAssembly, simd', process.execPath, [here('../build/web/bench/bench_maps-simd.js')]],
];

const load = loadavg()[0].toFixed(1);
const parts = programs.map(([title, program, args]) => {
    const tables = execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
    return `### ${title}, one thread\n${tables}`;
});
for (const [name, rows] of Object.entries(await measureMapsInPage())) {
    const lines = rows.map(([what, measured, wanted]) => `| ${what} | ${measured} | ${wanted} |`);
    parts.push(`### In the page, relaxed, one thread: ${name}\n\n| | measured | wanted |\n| --- | --- | --- |\n${lines.join('\n')}\n`);
}
const on = [...machine(), `node ${process.versions.node}`, `revision ${revision()}`,
    new Date().toISOString().slice(0, 10), `load average ${load} at the start`];
const content = [...parts, `Measured on ${on.join('; ')}.`].join('\n');
console.log(content);

const file = here('README.md'), [begin, end] = ['<!-- maps -->', '<!-- end of maps -->'];
const [before, rest] = readFileSync(file, 'utf8').split(begin);
writeFileSync(file, `${before}${begin}\n${content}\n${end}${rest.split(end)[1]}`);
