// node effects.mjs  Runs bench_effects natively and as WebAssembly under node, and puts the tables into README.md.
import { measuredOn } from './machine.mjs';
import { everywhere } from './programs.mjs';
import { keep } from './readme.mjs';

const where = measuredOn(`node ${process.versions.node}`);
const parts = everywhere('bench_effects').map(([title, table]) => `### ${title}, one thread\n\n${table}`);
const content = [...parts, where].join('\n');
console.log(content);
keep('effects', content);
