// Drives WebKitGTK's MiniBrowser by WebKitWebDriver (https://www.w3.org/TR/webdriver2/).
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';

const driver = 'http://127.0.0.1:4599', patience = 20000, longest = 300000;  // ms

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

/**
 * @param {string} display of an X server
 * @param {Record<string, string>} [settings] variables of its environment
 */
export async function webkit(display, settings = {}) {
    const binary = readdirSync('/usr/lib').map((folder) => `/usr/lib/${folder}/webkit2gtk-4.1/MiniBrowser`).find((path) => existsSync(path));
    if (!binary) {
        throw new Error('There is no MiniBrowser: install webkit2gtk-driver and xvfb.');
    }
    const server = spawn('WebKitWebDriver', ['--port=4599'], {
        stdio: 'ignore', env: { ...process.env, DISPLAY: display, LIBGL_ALWAYS_SOFTWARE: '1', ...settings },
    });
    const until = performance.now() + patience;
    while (!await ask('GET', '/status').catch(() => null)) {
        if (performance.now() > until) {
            server.kill();
            throw new Error('WebKitWebDriver does not answer.');
        }
        await new Promise((resolve) => { setTimeout(resolve, 200); });
    }
    const { sessionId, capabilities } = await ask('POST', '/session', { capabilities: { alwaysMatch: {
        'webkitgtk:browserOptions': { binary, args: ['--automation'] }, timeouts: { script: longest, pageLoad: 60000 },
    } } });
    const session = `/session/${sessionId}`;
    await ask('POST', `${session}/window/rect`, { x: 0, y: 0, width: 1440, height: 980 });
    return {
        browser: `WebKitGTK ${capabilities.browserVersion}`,
        /** @param {string} url */
        goto: (url) => ask('POST', `${session}/url`, { url }),
        /**
         * @param {string} expression of a promise
         * @returns {Promise<string | undefined>}
         */
        async evaluate(expression) {
            const [value, reason] = await ask('POST', `${session}/execute/async`, {
                script: `const [done] = arguments; (${expression}).then((value) => done([value]), (reason) => done([null, String(reason)]));`, args: [],
            });
            if (reason) {
                throw new Error(reason);
            }
            return value;
        },
        /** @param {object[]} actions */
        perform: (actions) => ask('POST', `${session}/actions`, { actions }),
        screenshot: () => ask('GET', `${session}/screenshot`),
        async end() {
            await ask('DELETE', session);
            server.kill();
        },
    };
}
