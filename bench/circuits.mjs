// node circuits.mjs  Runs bench_circuits natively and as WebAssembly under node, and prints the tables.
import { measuredOn } from './machine.mjs';
import { everywhere } from './programs.mjs';

const where = measuredOn(`node ${process.versions.node}`);
const parts = everywhere('bench_circuits').map(([title, table]) => `### ${title}, one thread\n\n${table}`);
console.log([...parts, where].join('\n'));
