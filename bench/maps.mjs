// node maps.mjs  Runs bench_maps natively and as WebAssembly under node, measures maps in the page, and puts the tables into
// README.md.
import { loadavg } from 'node:os';
import { machine, revision } from './machine.mjs';
import { everywhere } from './programs.mjs';
import { measureMapsInPage } from './maps_page.mjs';
import { keep } from './readme.mjs';

const load = loadavg()[0].toFixed(1);
const parts = everywhere('bench_maps').map(([title, tables]) => `### ${title}, one thread\n${tables}`);
for (const [name, rows] of Object.entries(await measureMapsInPage())) {
    const lines = rows.map(([what, measured, wanted]) => `| ${what} | ${measured} | ${wanted} |`);
    parts.push(`### In the page, relaxed, one thread: ${name}\n\n| | measured | wanted |\n| --- | --- | --- |\n${lines.join('\n')}\n`);
}
const on = [...machine(), `node ${process.versions.node}`, `revision ${revision()}`,
    new Date().toISOString().slice(0, 10), `load average ${load} at the start`];
const content = [...parts, `Measured on ${on.join('; ')}.`].join('\n');
console.log(content);

keep('maps', content);
