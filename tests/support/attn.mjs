// Finds the native program that ATTN_PROGRAM names, or the most recent build, optimised or with sanitizers;
// undefined if there is none.
import { existsSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = ['native', 'asan'].map((preset) => fileURLToPath(new URL(`../../build/${preset}/attn`, import.meta.url)));
export const attn = process.env.ATTN_PROGRAM ?? built.filter((file) => existsSync(file)).sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0];
