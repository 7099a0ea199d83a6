// node webkit.mjs  Plain SIMD with two threads beside one thread, in turn in one page of WebKitGTK, which WebDriver drives on a
// screen of Xvfb. Prints a table.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { serve } from '../tools/lib/serve.mjs';
import { here, measuredOn } from './machine.mjs';

const cases = ['attention 12×64 n=1024 full', 'attention 12×64 n=1024 causal', 'GEMM 512×768×768', 'GPT-2 small n=128'];
const build = (variant, threads) => ({ name: variant, module: `/build/web/bench/bench-${variant}.mjs`, threads });
const ours = [build('simd', 1), build('simd-threads', 2)];
const display = ':97', driver = 'http://127.0.0.1:4597';

/** @type {import('node:child_process').ChildProcess[]} */
const children = [];

/**
 * @param {string} command
 * @param {string[]} args
 */
function start(command, args) {
    // Safari shares memory in an isolated page; WebKitGTK does so only when JavaScriptCore is told to.
    const env = { ...process.env, DISPLAY: display, LIBGL_ALWAYS_SOFTWARE: '1', JSC_useSharedArrayBuffer: '1' };
    children.push(spawn(command, args, { stdio: 'ignore', env }).on('error', (reason) => { throw reason; }));
}

/**
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 */
async function ask(method, path, body) {
    const response = await fetch(driver + path, { method, body: body && JSON.stringify(body) });
    const { value } = await response.json();
    if (!response.ok) {
        throw new Error(`WebKitWebDriver: ${value?.message ?? response.status}`);
    }
    return value;
}

async function started() {
    for (let left = 100; ; --left) {
        try {
            return await ask('GET', '/status');
        } catch (reason) {
            if (left === 0) {
                throw reason;
            }
        }
        await new Promise((resolve) => { setTimeout(resolve, 100); });
    }
}

const browser = readdirSync('/usr/lib').map((folder) => `/usr/lib/${folder}/webkit2gtk-4.1/MiniBrowser`).find((path) => existsSync(path));
if (!browser) {
    throw new Error('There is no MiniBrowser: install webkit2gtk-driver and xvfb.');
}
const server = await serve({ folder: here('..') }), measured = measuredOn();
try {
    start('Xvfb', [display, '-screen', '0', '1440x900x24']);
    start('WebKitWebDriver', ['--port=4597']);
    await started();
    const { sessionId, capabilities } = await ask('POST', '/session', { capabilities: { alwaysMatch: {
        'webkitgtk:browserOptions': { binary: browser, args: ['--automation'] }, timeouts: { script: 300000, pageLoad: 60000 },
    } } });
    const session = `/session/${sessionId}`;
    console.log(`| ${capabilities.browserName} ${capabilities.browserVersion} | one thread, ms | two threads, ms | times as fast |\n| --- | --- | --- | --- |`);
    for (const task of cases) {
        await ask('POST', `${session}/url`, { url: `${server.url}bench/web/program.html` });
        const answer = await ask('POST', `${session}/execute/async`, {
            script: `const [ask, done] = arguments;
                import('/bench/web/core.mjs').then(({ runOurs }) => runOurs(ask)).then(done, (reason) => done({ reason: String(reason) }));`,
            args: [{ ours, task }],
        });
        if (answer.reason) {
            throw new Error(answer.reason);
        }
        const [alone, shared] = answer.entries, time = ({ fastest, median }) => `${fastest.toFixed(1)} (${median.toFixed(1)})`;
        console.log(`| ${task} | ${time(alone)} | ${time(shared)} | ${(alone.fastest / shared.fastest).toFixed(2)} (${(alone.median / shared.median).toFixed(2)}) |`);
    }
    await ask('DELETE', session);
    console.log(`\n${measured}`);
} finally {
    children.forEach((child) => child.kill());
    await server.close();
}
