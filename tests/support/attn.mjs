// The native program as it was built last, optimised or under the sanitizers, or the one that ATTN_PROGRAM names; undefined where
// there is none.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const built = ['native', 'asan'].map((preset) => fileURLToPath(new URL(`../../build/${preset}/attn`, import.meta.url)));
export const attn = process.env.ATTN_PROGRAM ?? built.find(existsSync);
