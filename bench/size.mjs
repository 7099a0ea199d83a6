// node size.mjs  Links the page once more with the linker's map and puts the sizes of its rooms into results/: what is left of them once
// the linker has dropped what nobody calls, before Binaryen shortens the whole.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { here, measuredOn } from './machine.mjs';
import { keep } from './results.mjs';

const folder = here('../build/web'), program = 'explorer-simd';

function linked() {
    const scratch = mkdtempSync(join(tmpdir(), 'sizes-'));
    try {
        const commands = execFileSync('ninja', ['-C', folder, '-t', 'commands', program], { encoding: 'utf8', maxBuffer: 2 ** 28 });
        const link = commands.trim().split('\n').at(-1).replace(/ && cd .*/, '').replace(/ -o \S+/, ` -o ${scratch}/program.mjs -Wl,-Map=${scratch}/map`);
        execFileSync('bash', ['-c', link], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
        return readFileSync(`${scratch}/map`, 'utf8');
    } finally {
        rmSync(scratch, { recursive: true });
    }
}

// "core/CMakeFiles/fast_core.dir/Unity/unity_maps_0_cxx.cxx.o" is of core/maps.
function roomOf(path) {
    const batch = /unity_(.+)_\d+_cxx\.cxx\.o/.exec(path)?.[1];
    if (/libexplorer_app|web\/CMakeFiles/.test(path)) {
        return `web/${batch ?? basename(path)}`;
    }
    if (/kernels|workers/.test(path)) {
        return 'core/kernels';
    }
    if (/attention_core/.test(path)) {
        return `core/${batch === 'simd' ? 'kernels' : batch ?? 'analysis/linalg'}`;
    }
    return path.startsWith('<internal>') ? 'strings' : /imgui/.test(path) ? 'Dear ImGui' : 'zlib, libc, libc++, Emscripten';
}

/** @type {Map<string, {code: number, data: number}>} */
const rooms = new Map();
let section = '';
for (const line of linked().split('\n')) {
    // Address, offset, size, then the output's section, or an input's file and section, or a symbol.
    const [, size, indent, what] = /^ *\S+ +[\da-f]+ +([\da-f]+)( +)(\S.*)$/.exec(line) ?? [];
    if (indent?.length === 1) {
        section = what;
    } else if (indent?.length === 9 && (section === 'CODE' || section.startsWith('.') || section === 'DATA')) {
        const room = roomOf(what.replace(/:\([^)]*\)$/, '')), sums = rooms.get(room) ?? { code: 0, data: 0 };
        sums[section === 'CODE' ? 'code' : 'data'] += Number.parseInt(size, 16);
        rooms.set(room, sums);
    }
}
const kB = (bytes) => (bytes / 1000).toFixed(0), sum = (what) => [...rooms.values()].reduce((total, each) => total + each[what], 0);
const row = (...cells) => `| ${cells.join(' | ')} |`;
const lines = [row('room', 'code, kB', 'data, kB'), row('---', '---', '---')];
for (const [room, { code, data }] of [...rooms].sort(([, a], [, b]) => b.code + b.data - a.code - a.data)) {
    lines.push(row(room, kB(code), kB(data)));
}
lines.push(row('all', kB(sum('code')), kB(sum('data'))), '');
lines.push(row('program', 'first part, kB', 'by gzip', 'by brotli', 'the rest, kB', 'by gzip', 'by brotli'), row(...Array(7).fill('---')));
for (const variant of ['simd', 'simd-threads', 'relaxed', 'relaxed-threads']) {
    const sizes = ['', '.rest'].flatMap((part) => ['', '.gz', '.br'].map((end) => statSync(here(`../build/site/explorer-${variant}${part}.wasm${end}`)).size));
    lines.push(row(variant, ...sizes.map(kB)));
}
lines.push('', measuredOn());
keep('size', lines.join('\n'));
console.log(lines.join('\n'));
