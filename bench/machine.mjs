// Where the benchmark lies, and what it ran on.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';

export const here = (path) => fileURLToPath(new URL(path, import.meta.url));

const output = (command, ...args) => execFileSync(command, args, { encoding: 'utf8', cwd: here('..') });

export const installed = (name) => `${name} ${JSON.parse(readFileSync(here(`node_modules/${name}/package.json`), 'utf8')).version}`;

function machine() {
    const cores = cpus();
    return [
        `${cores.length} × ${cores[0].model}, ${Math.round(totalmem() / 2 ** 30)} GiB, Linux ${release()}`,
        output('clang++-19', '--version').split('\n')[0],
    ];
}

// A processor that is younger than OpenBLAS gets its kernels for the oldest, unless it is named as an older one.
export function openblasCore() {
    const has = (flag) => new RegExp(`^flags.* ${flag} `, 'm').test(readFileSync('/proc/cpuinfo', 'utf8'));
    return has('avx512bw') ? 'SkylakeX' : has('avx2') ? 'Haswell' : '';
}

// The tables themselves change nothing that is measured.
const changes = () => output('git', 'status', '--porcelain', '--', 'core', 'bench', ':!bench/results');
const revision = () => output('git', 'describe', '--always').trim() + (changes() ? ' and changes' : '');

export const nativeVersions = () => [`node ${process.versions.node}`, installed('onnxruntime-node')];
export const webVersions = () =>
    [installed('onnxruntime-web'), installed('@tensorflow/tfjs-backend-wasm')];

// The line under a table: on what, and when. To be asked for before it is measured, because of the load.
export function measuredOn(...versions) {
    const on = [...machine(), ...versions, `revision ${revision()}`, new Date().toISOString().slice(0, 10),
        `load average ${loadavg()[0].toFixed(1)} at the start`];
    return `Measured on ${on.join('; ')}.`;
}
