// node circuits.mjs  Runs bench_circuits natively and as WebAssembly under node, and puts the tables into README.md.
import { measuredOn } from './machine.mjs';
import { everywhere } from './programs.mjs';
import { keep } from './readme.mjs';

const where = measuredOn(`node ${process.versions.node}`);
const parts = everywhere('bench_circuits').map(([title, table]) => `### ${title}, one thread\n\n${table}`);
const content = [...parts, where].join('\n');
console.log(content);
keep('circuits', content);
