// The tables of results/.
import { readFileSync, writeFileSync } from 'node:fs';
import { here } from './machine.mjs';

// Replaces what stands between the two marks in the page of that name.
export function keep(name, content) {
    const file = here(`results/${name}.md`);
    const [begin, end] = [`<!-- ${name} -->`, `<!-- end of ${name} -->`];
    const [before, rest] = readFileSync(file, 'utf8').split(begin);
    writeFileSync(file, `${before}${begin}\n${content}\n${end}${rest.split(end)[1]}`);
}
