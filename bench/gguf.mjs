// node gguf.mjs [native|web] [PART OF A CASE'S NAME]  The core beside llama.cpp on GGUF files that it writes itself,
// natively and in one page of headless Chromium. Without a part, the tables go into results/.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { contest } from './contest.mjs';
import { here, installed, measuredOn } from './machine.mjs';
import { core, Lines } from './native.mjs';
import { llamaCpp } from './peers/llama.mjs';
import { keep } from './results.mjs';
import { inChromium, page, titleOf } from './web.mjs';

const wanted = ['native', 'web'].includes(process.argv[2]) ? [process.argv[2]] : ['native', 'web'];
const part = process.argv[wanted.length === 1 ? 3 : 2] ?? '';

// How many times as fast as the peer the core should be.
const goals = {
    native: {
        'GPT-2 small F16: 512 tokens': 2.3, 'GPT-2 small F16: a token': 1,
        'GPT-2 small Q8_0: 512 tokens': 1.3, 'GPT-2 small Q8_0: a token': 1,
        'GPT-2 small Q4_K_M: 512 tokens': 1.5, 'GPT-2 small Q4_K_M: a token': 1,
    },
    web: [
        { 'GPT-2 small F16: a token': 4, 'GPT-2 small Q8_0: a token': 4, 'GPT-2 small Q4_K_M: a token': 3 },
        { 'GPT-2 small F16: a token': 3, 'GPT-2 small Q8_0: a token': 3, 'GPT-2 small Q4_K_M: a token': 3 },
    ],
};

const milliseconds = ({ fastest, median }) => `${fastest.toFixed(1)} (${median.toFixed(1)})`;

function row({ name, entries: [ours, peer] }, goal) {
    const cells = [name, milliseconds(ours)];
    if (peer.reason) cells.push(`failed: ${peer.reason}`, '', '', '');
    else
        cells.push(milliseconds(peer), (peer.fastest / ours.fastest).toFixed(2), goal ? `${goal}` : '',
            peer.difference === undefined ? '' : peer.difference.toExponential(1));
    return `| ${cells.join(' | ')} |`;
}

function table(title, results, wantedOf, note) {
    const [ours, peer] = results[0].entries;
    return [`## ${title}`, '',
        `| | core, ms | ${peer.name}, ms | times as fast | wanted | largest difference |`, '| --- | --- | --- | --- | --- | --- |',
        ...results.map((result) => row(result, wantedOf[result.name])), '', `Kernels: ${ours.table}. ${note}.`, ''].join('\n');
}

const chosen = (cases) => cases.filter(({ kind, name }) => kind === 'gguf' && name.includes(part));

async function native() {
    const threads = 2, folder = await mkdtemp(join(tmpdir(), 'attention-bench-'));
    const lines = new Lines(here('../build/native/bench/bench-native'), [], threads);
    const peer = await llamaCpp(threads, join(folder, 'seeded.gguf'));
    try {
        const results = [];
        for (const task of chosen((await lines.ask({ do: 'list' })).cases))
            results.push(await contest(task, [core(lines, { name: 'core', table: '' }, threads, folder)], [peer]));
        return table(`Natively, ${threads} threads`, results, goals.native,
            `${installed('node-llama-cpp')}, llama.cpp ${peer.version}`);
    } finally {
        lines.end();
        await peer.end();
        await rm(folder, { recursive: true });
    }
}

async function web() {
    return page(async (inPage, version) => {
        const tables = [];
        for (const { threads, ours: [ours] } of inChromium) {
            const results = [];
            for (const task of chosen(await inPage('list', ours))) results.push(await inPage('runGguf', { ours, threads, task }));
            tables.push(table(titleOf(threads), results, goals.web[threads - 1], `${installed('@wllama/wllama')}; Chromium ${version}`));
        }
        return tables.join('\n');
    });
}

const where = measuredOn(`node ${process.versions.node}`);
const parts = [];
for (const kind of wanted) parts.push(await { native, web }[kind]());
const content = [...parts, where].join('\n');
console.log(content);
if (part === '' && wanted.length === 2) keep('gguf', content);
