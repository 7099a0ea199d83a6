// Runs Debian's notebook with a real kernel that has the package, and a proxy before it.
// TRIXIE: the folder with Debian 13 that tests/notebook/trixie/make.sh makes.
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const python = '/usr/bin/python3';
const program = '/usr/bin/jupyter-notebook';
const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const staged = here('../../python/staged.py');
const token = 'secret-of-a-test';

/** The reason why there is none here, or false. */
export const absent = !existsSync(program) && 'Debian’s jupyter-notebook and python3-ipykernel are not installed';

/** The reason why there is no Debian 13 here, or false. */
export const absentTrixie = !existsSync(process.env.TRIXIE ?? '') && 'TRIXIE names no folder with Debian 13: tools/test trixie makes one';

const cell = (source) => ({ cell_type: 'code', execution_count: null, metadata: {}, outputs: [], source });

/** Makes a folder with the package and, under its name, each notebook of such cells. */
export function workplace(/** @type {Record<string, string[]>} */ notebooks) {
    const folder = mkdtempSync(join(tmpdir(), 'explorer-notebook-'));
    execFileSync(python, [staged, join(folder, 'python')]);
    mkdirSync(join(folder, 'work'));
    for (const [name, cells] of Object.entries(notebooks)) {
        writeFileSync(join(folder, 'work', name), JSON.stringify({
            cells: cells.map(cell), nbformat: 4, nbformat_minor: 4,
            metadata: { kernelspec: { name: 'python3', display_name: 'Python 3', language: 'python' }, language_info: { name: 'python' } },
        }));
    }
    const env = { ...process.env, PYTHONPATH: join(folder, 'python'), HOME: folder, JUPYTER_NO_CONFIG: '1' };
    return { folder, work: join(folder, 'work'), env, start: [python, program], remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The same for the notebook of Debian 13 in the folder, which has ipywidgets and anywidget's front end. */
export function trixieWorkplace(/** @type {Record<string, string[]>} */ notebooks) {
    const place = workplace(notebooks);
    const extension = join(place.folder, '.local/share/jupyter/nbextensions/anywidget'), settings = join(place.folder, '.jupyter/nbconfig/notebook.d');
    [extension, settings].forEach((each) => mkdirSync(each, { recursive: true }));
    copyFileSync(here('../trixie/node_modules/anywidget/dist/index.js'), join(extension, 'index.js'));
    copyFileSync(here('nbextension.js'), join(extension, 'extension.js'));
    writeFileSync(join(settings, 'anywidget.json'), JSON.stringify({ load_extensions: { 'anywidget/extension': true } }));
    copyFileSync(here('../trixie/jupyter_notebook_config.py'), join(place.folder, '.jupyter/jupyter_notebook_config.py'));
    copyFileSync(here('../trixie/anywidget.py'), join(place.env.PYTHONPATH, 'anywidget.py'));
    return {
        ...place,
        env: { ...place.env, JUPYTER_NO_CONFIG: undefined },
        start: [here('../trixie/enter.sh'), process.env.TRIXIE, place.folder, python, program],
    };
}

async function freePort() {
    const server = createServer();
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(undefined)); });
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    await new Promise((resolve) => { server.close(resolve); });
    return port;
}

/**
 * Starts the notebook's server below a path.
 *
 * @param {ReturnType<typeof workplace>} place
 * @param {string} path
 */
export async function jupyter({ work, env, start: [command, ...given] }, path) {
    const port = await freePort();
    const server = spawn(command, [...given, '--no-browser', '--allow-root', '--ip=127.0.0.1', `--port=${port}`, '--port-retries=0',
        `--notebook-dir=${work}`, `--NotebookApp.base_url=${path}`, `--NotebookApp.token=${token}`], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    server.stderr.on('data', (text) => { said += text; });
    for (let tries = 0; !await fetch(`http://127.0.0.1:${port}${path}api/status?token=${token}`).then(({ ok }) => ok, () => false); ++tries) {
        if (server.exitCode !== null || tries > 300) {
            throw new Error(`jupyter-notebook has not started: ${said}`);
        }
        await new Promise((resolve) => { setTimeout(resolve, 100); });
    }
    return {
        port,
        address: (name, through = port) => `http://127.0.0.1:${through}${path}notebooks/${name}?token=${token}`,
        async end() {
            // Its kernels end with it only if it is asked.
            await fetch(`http://127.0.0.1:${port}${path}api/shutdown?token=${token}`, { method: 'POST', headers: { Authorization: `token ${token}` } });
            if (server.exitCode === null) {
                await new Promise((resolve) => { server.on('exit', resolve); });
            }
        },
    };
}

/**
 * Passes on what lies below a path, web sockets as well, and nothing else.
 *
 * @param {number} port
 * @param {string} path
 */
export async function proxy(port, path) {
    const server = createServer((asked, answer) => {
        if (!asked.url.startsWith(path)) {
            answer.writeHead(404).end('Not below the path\n');
            return;
        }
        const passed = request({ port, host: '127.0.0.1', path: asked.url, method: asked.method, headers: asked.headers }, (given) => {
            answer.writeHead(given.statusCode, given.headers);
            given.pipe(answer);
        });
        passed.on('error', () => answer.destroy());
        asked.pipe(passed);
    });
    const sockets = new Set();
    server.on('upgrade', (asked, socket, head) => {
        if (!asked.url.startsWith(path)) {
            socket.destroy();
            return;
        }
        const passed = connect(port, '127.0.0.1', () => {
            const headers = asked.rawHeaders.map((each, i) => (i % 2 ? `${each}\r\n` : `${each}: `)).join('');
            passed.write(`${asked.method} ${asked.url} HTTP/1.1\r\n${headers}\r\n`);
            passed.write(head);
            passed.pipe(socket).pipe(passed);
        });
        for (const [one, other] of [[passed, socket], [socket, passed]]) {
            sockets.add(one);
            one.on('error', () => other.destroy());
            one.on('close', () => other.destroy());
        }
    });
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(undefined)); });
    return {
        port: /** @type {import('node:net').AddressInfo} */ (server.address()).port,
        end() {
            sockets.forEach((socket) => socket.destroy());
            server.closeAllConnections();
            server.close();
        },
    };
}

/** Runs a notebook and writes it as HTML; resolves to the page's path. */
export function converted({ work, env }, /** @type {string} */ name) {
    execFileSync(python, ['-m', 'nbconvert', '--to', 'html', '--execute', name], { cwd: work, env, stdio: 'pipe' });
    return join(work, name.replace('.ipynb', '.html'));
}
