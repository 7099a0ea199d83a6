// The contestants on this machine: processes that answer lines of JSON, and ONNX Runtime in this one.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import ort from 'onnxruntime-node';
import { contest, laidOut } from './contest.mjs';
import { here, openblasCore } from './machine.mjs';
import { onnxruntime } from './peers/onnxruntime.mjs';

// Of the core: the table of kernels that the others are compared with first.
const fastest = { name: 'core', table: '' }, portable = { name: 'core, portable', table: 'portable' };
const tables = [
    { threads: 1, ours: [fastest, portable], measured: ({ kind }) => !['training', 'gguf'].includes(kind) },
    { threads: 2, ours: [fastest], measured: ({ kind }) => kind === 'training' },
];

export class Lines {
    constructor(command, args, threads) {
        const env = { ...process.env, OMP_NUM_THREADS: `${threads}`, OPENBLAS_CORETYPE: openblasCore() };
        this.process = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'inherit'] });
        this.lines = createInterface({ input: this.process.stdout });
        this.ended = once(this.process, 'close').then(() => {
            throw new Error(`${command} has ended`);
        });
        this.ended.catch(() => {});
    }

    async ask(request) {
        const reply = once(this.lines, 'line');
        this.process.stdin.write(`${JSON.stringify(request)}\n`);
        const answer = JSON.parse((await Promise.race([reply, this.ended]))[0]);
        if (answer.error) throw new Error(answer.error);
        return answer;
    }

    end() {
        this.process.stdin.end();
    }
}

// Whole files as one ArrayBuffer.
async function bytesOf(file) {
    const { buffer, byteOffset, byteLength } = await readFile(file);
    return byteLength === buffer.byteLength ? buffer : buffer.slice(byteOffset, byteOffset + byteLength);
}

const runAndOutput = (lines, file) => ({
    run: async (seconds) => (await lines.ask({ do: 'run', seconds })).times,
    async output() {
        await lines.ask({ do: 'output', file });
        return new Float32Array(await bytesOf(file));
    },
});

export const core = (lines, { name, table }, threads, folder) => ({
    name,
    ...runAndOutput(lines, join(folder, 'output')),
    async open(task) {
        const file = join(folder, 'inputs');
        const answer = await lines.ask({ do: 'open', case: task.name, table, threads, file });
        const data = await bytesOf(file);
        return { ...laidOut(answer, () => data), file };
    },
    ceiling: async (seconds) => (await lines.ask({ do: 'ceiling', seconds })).rate,
    close: () => lines.ask({ do: 'close' }),
});

const peer = (name, lines, kinds, threads, folder) => ({
    name,
    ...runAndOutput(lines, join(folder, 'output')),
    open: ({ data, ...task }) => kinds.includes(task.kind) && lines.ask({ do: 'open', threads, ...task }),
    close: () => lines.ask({ do: 'close' }),
});

// [{ title, versions, results }] of the cases whose name contains `part`; tell is called as results come.
export async function runNative(part, tell) {
    const answers = [];
    for (const { threads, ours, measured } of tables) {
        const folder = await mkdtemp(join(tmpdir(), 'attention-bench-'));
        const children = [];
        const start = (command, ...args) => {
            children.push(new Lines(command, args, threads));
            return children.at(-1);
        };
        try {
            const built = here('../build/native/bench/');
            const mine = ours.map((one) => core(start(`${built}bench-native`), one, threads, folder));
            const python = start('/usr/bin/python3', here('peers/torch_lines.py'));
            const everything = ['attention', 'linear', 'exp', 'gpt2', 'training'];
            const peers = [
                ...onnxruntime(ort, threads),
                peer('PyTorch', python, everything, threads, folder),
                peer('Eigen', start(`${built}bench_eigen`), everything.slice(0, 3), threads, folder),
            ];
            const { cases } = await children[0].ask({ do: 'list' });
            const title = `Natively, ${threads === 1 ? 'one thread' : `${threads} threads`}`;
            const results = [];
            for (const task of cases.filter((each) => each.name.includes(part) && measured(each))) {
                results.push(await contest(task, mine, peers));
                tell(title, results.at(-1));
            }
            const { version } = await python.ask({ do: 'version' });
            if (results.length) answers.push({ title, results, versions: [`PyTorch ${version}`] });
        } finally {
            for (const child of children) child.end();
            await rm(folder, { recursive: true });
        }
    }
    return answers;
}
