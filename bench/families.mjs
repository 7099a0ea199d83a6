// node families.mjs  Runs bench_families natively and as WebAssembly under node, and puts the tables into README.md.
import { measuredOn } from './machine.mjs';
import { everywhere } from './programs.mjs';
import { keep } from './readme.mjs';

const where = measuredOn(`node ${process.versions.node}`);
const parts = everywhere('bench_families').map(([title, table]) => `### ${title}, one thread\n\n${table}`);
const content = [...parts, where].join('\n');
console.log(content);
keep('families', content);
