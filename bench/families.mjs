// node families.mjs  Runs bench_families natively and as WebAssembly under node, and puts the tables into README.md.
import { loadavg } from 'node:os';
import { machine, revision } from './machine.mjs';
import { everywhere } from './programs.mjs';
import { keep } from './readme.mjs';

const load = loadavg()[0].toFixed(1);
const parts = everywhere('bench_families').map(([title, table]) => `### ${title}, one thread\n\n${table}`);
const on = [...machine(), `node ${process.versions.node}`, `revision ${revision()}`,
    new Date().toISOString().slice(0, 10), `load average ${load} at the start`];
const content = [...parts, `Measured on ${on.join('; ')}.`].join('\n');
console.log(content);
keep('families', content);
