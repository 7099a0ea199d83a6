// The programs that print tables of their own.
import { execFileSync, spawnSync } from 'node:child_process';
import { here } from './machine.mjs';

// Older nodes know relaxed SIMD by a flag only.
const knows = (...flags) => spawnSync(process.execPath, [...flags, here('../tools/lib/relaxed_node.mjs')]).status === 0;

/**
 * Runs a program natively and as WebAssembly under node.
 *
 * @param {string} name
 * @returns {[string, string][]} where, and what it printed
 */
export function everywhere(name) {
    const relaxed = knows() ? [] : ['--experimental-wasm-relaxed-simd'];
    /** @type {[string, string, string[]][]} */
    const programs = [
        ['Natively', here(`../build/native/bench/${name}-native`), []],
        ['WebAssembly, relaxed', process.execPath, [...relaxed, here(`../build/web/bench/${name}-relaxed.js`)]],
        ['WebAssembly, simd', process.execPath, [here(`../build/web/bench/${name}-simd.js`)]],
    ];
    return programs.map(([title, program, args]) =>
        [title, execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })]);
}
