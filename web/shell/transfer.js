// Reads files straight into the program's memory, and reports the progress.

import { chunks } from './file_chunks.js';
import { bytes } from './model_files.js';

/**
 * @import { SourceFile } from './file_chunks.js'
 * @import { Notices } from './notices.js'
 * @import { Program } from './program.js'
 */

/**
 * `buffer` returns the address for a file's bytes, or 0 if the program refuses it; then the result is false.
 * Throws Cancelled if the user cancels.
 *
 * @param {{name: string, file: SourceFile}[]} files
 * @param {(name: string, size: number) => number} buffer
 * @param {{program: Program, notices: Notices}} parts
 */
export async function transfer(files, buffer, { program, notices }) {
    const total = files.reduce((sum, { file }) => sum + file.size, 0);
    const what = files.length === 1 ? files[0].name : `${files.length} files`;
    let arrived = 0;
    let cancelled = false;
    const progress = notices.progress(`Reading ${what}`, () => { cancelled = true; });
    try {
        for (const { name, file } of files) {
            const address = buffer(name, file.size);
            if (address === 0) {
                return false;
            }
            let written = 0;
            for await (const chunk of chunks(name, file, () => cancelled)) {
                program.write(address + written, chunk);
                written += chunk.length;
                arrived += chunk.length;
                progress(`Reading ${what}: ${bytes(arrived)} of ${bytes(total)}`, arrived / total);
            }
        }
        return true;
    } finally {
        progress.end();
    }
}
