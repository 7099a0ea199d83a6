// Puts a .br and a .gz file beside each file of the site that compresses well, for hosts that send files already
// compressed: node compress.mjs FOLDER. A file that has not changed since is not compressed again.
import { constants, brotliCompress, gzip } from 'node:zlib';
import { readFile, readdir, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const compressible = /\.(wasm|m?js|css|html|json|md|txt|otf|ttf)$/;  // weights are not
const compressors = {
    '.br': (/** @type {Buffer} */ bytes) => promisify(brotliCompress)(bytes, { params: {
        [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
        [constants.BROTLI_PARAM_LGWIN]: constants.BROTLI_MAX_WINDOW_BITS,
        [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
    } }),
    '.gz': (/** @type {Buffer} */ bytes) => promisify(gzip)(bytes, { level: constants.Z_BEST_COMPRESSION }),
};

/**
 * A compressed file has the time of the other one, by which it is known to be of it.
 *
 * @param {string} file
 * @param {keyof typeof compressors} ending
 */
async function compress(file, ending) {
    const { mtime } = await stat(file), to = file + ending;
    const before = await stat(to).catch(() => undefined);
    if (before?.mtime.getTime() !== mtime.getTime()) {
        await writeFile(to, await compressors[ending](await readFile(file)));
        await utimes(to, mtime, mtime);
    }
}

const [folder] = process.argv.slice(2);
const files = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name)).filter((file) => compressible.test(file));
await Promise.all(files.flatMap((file) => [compress(file, '.br'), compress(file, '.gz')]));
