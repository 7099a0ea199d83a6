// node lenses_page.mjs  Opens every lens on Q, K and V of 16,384 tokens in headless Chromium, moves the mouse over it, and prints
// the processor's time of its frames, the longest first.
import { measureMapsInPage } from './maps_page.mjs';

const [rows] = Object.values(await measureMapsInPage('every lens'));
const longest = ([, measured]) => Number(/ and ([\d.]+) ms/.exec(measured)?.[1]);
const frames = rows.filter(([what]) => what.includes('processor time')).sort((a, b) => longest(b) - longest(a));
for (const [what, measured] of frames) {
    console.log(`${what}: ${measured}`);
}
