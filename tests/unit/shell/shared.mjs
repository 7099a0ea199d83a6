// Finds other people's checkpoints and cases; absent on a user's machine.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = process.env.ATTN_SHARED ?? fileURLToPath(new URL('../../../../shared', import.meta.url));

export const shared = {
    skip: existsSync(`${root}/tokenizers`) ? false : `there is no ${root}/tokenizers`,
    path: (path) => `${root}/${path}`,
    text: (path) => readFileSync(`${root}/${path}`, 'utf8'),
    json: (path) => JSON.parse(readFileSync(`${root}/${path}`, 'utf8')),
    lines: (path) => readFileSync(`${root}/${path}`, 'utf8').trimEnd().split('\n').map((line) => JSON.parse(line)),
    // The tokenizer's files of a checkpoint, in createTokenizer's format.
    tokenizer: (model) => Object.fromEntries(['tokenizer.json', 'tokenizer_config.json']
        .map((name) => [name, readFileSync(`${root}/models/${model}/${name}`, 'utf8')])),
};
