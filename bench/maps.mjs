// node maps.mjs  Runs bench_maps natively and in headless Chromium, measures maps in the page, and puts the tables into results/.
import { measuredOn } from './machine.mjs';
import { everywhere } from './programs.mjs';
import { measureMapsInPage } from './maps_page.mjs';
import { keep } from './results.mjs';

const where = measuredOn();
const parts = (await everywhere('bench_maps')).map(([title, tables]) => `## ${title}, one thread\n${tables}`);
for (const [name, rows] of Object.entries(await measureMapsInPage())) {
    const lines = rows.map(([what, measured, wanted]) => `| ${what} | ${measured} | ${wanted} |`);
    parts.push(`## In the page, relaxed, one thread: ${name}\n\n| | measured | wanted |\n| --- | --- | --- |\n${lines.join('\n')}\n`);
}
const content = [...parts, where].join('\n');
console.log(content);

keep('maps', content);
