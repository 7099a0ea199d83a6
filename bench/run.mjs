// node run.mjs [native|web] [PART OF A CASE'S NAME]  Without a part, the tables also go into results/.
import { measuredOn, nativeVersions, webVersions } from './machine.mjs';
import { keep } from './results.mjs';

const tolerance = 1e-4;  // of the largest value

const wanted = ['native', 'web'].includes(process.argv[2]) ? [process.argv[2]] : ['native', 'web'];
const part = process.argv[wanted.length === 1 ? 3 : 2] ?? '';

const digits = (number) => number.toFixed(number < 9.995 ? 2 : 1);

// What a contestant did, beside the first of ours.
function cell(result, entry, first, notes) {
    if (!entry) return '';
    if (entry.reason) {
        if (!notes.includes(entry.reason)) notes.push(entry.reason);
        return `failed [${notes.indexOf(entry.reason) + 1}]`;
    }
    const rate = (time) => result.operations / time / 1e6;
    const parts = [`${digits(rate(entry.fastest))} (${digits(rate(entry.median))})`];
    if (entry.ceiling > 0 && !result.name.startsWith('exp'))
        parts.push(`${Math.round((100e9 * rate(entry.fastest)) / entry.ceiling)} %`);
    if (entry !== first)
        parts.push(`${(entry.fastest / first.fastest).toFixed(2)}× (${(entry.median / first.median).toFixed(2)}×)`);
    if (!(entry.difference <= tolerance)) parts.push(`**differs by ${entry.difference.toExponential(1)}**`);
    return parts.join(' · ');
}

function table({ title, results, versions }) {
    const names = [...new Set(results.flatMap(({ entries }) => entries.map(({ name }) => name)))];
    const notes = [];
    const rows = results.map((result) => {
        const by = (name) => result.entries.find((entry) => entry.name === name);
        const largest = Math.max(...result.entries.map(({ difference = 0 }) => difference));
        return [result.name, ...names.map((name) => cell(result, by(name), result.entries[0], notes)),
            largest.toExponential(1)];
    });
    const line = (cells) => `| ${cells.join(' | ')} |`;
    const tables = results[0].entries.filter((entry) => entry.table).map((entry) => `${entry.name}: ${entry.table}`);
    return [
        `## ${title}`, '',
        line(['case', ...names, 'largest difference']), line([...names, '', ''].map(() => '---')),
        ...rows.map(line), '',
        ...notes.map((note, i) => `[${i + 1}] ${note}  `), ...(notes.length ? [''] : []),
        `Kernels: ${tables.join('; ')}. ${versions.join('; ')}.`, '',
    ].join('\n');
}

function tell(title, { name, operations, entries }) {
    const rates = entries.map((entry) => `${entry.name} ${entry.reason ?? digits(operations / entry.fastest / 1e6)}`);
    console.error(`${title}: ${name}: ${rates.join(' | ')}`);
}

const kinds = {
    native: { run: async () => (await import('./native.mjs')).runNative(part, tell), versions: nativeVersions },
    web: { run: async () => (await import('./web.mjs')).runWeb(part, tell), versions: webVersions },
};
for (const kind of wanted) {
    const { run, versions } = kinds[kind];
    const where = measuredOn(...versions()), answers = await run();
    const content = [...answers.map(table), where].join('\n');
    console.log(content);
    if (part === '') keep(kind, content);
    const wrong = answers.flatMap(({ results }) => results).flatMap(({ entries }) => entries)
        .filter(({ difference }) => difference > tolerance || Number.isNaN(difference));
    if (wrong.length) process.exitCode = 1;
}
