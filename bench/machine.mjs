// Where the benchmark lies, and what it ran on.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';

export const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const firstLine = (command, ...args) => execFileSync(command, args, { encoding: 'utf8', cwd: here('.') }).split('\n')[0];

const installed = (name) => `${name} ${JSON.parse(readFileSync(here(`node_modules/${name}/package.json`))).version}`;

export function machine() {
    const cores = cpus();
    return [
        `${cores.length} × ${cores[0].model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}`,
        firstLine('clang++-19', '--version'),
    ];
}

export const revision = () => firstLine('git', 'describe', '--always', '--dirty');

export const nativeVersions = () => [`node ${process.versions.node}`, installed('onnxruntime-node')];
export const webVersions = () =>
    [installed('onnxruntime-web'), installed('@tensorflow/tfjs-backend-wasm')];
