// Drives Firefox by WebDriver BiDi (https://www.w3.org/TR/webdriver-bidi/).
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** @import { Session } from './page.mjs' */

const port = 9446, patience = 20000;

/**
 * @param {string} display
 * @returns {Promise<Session>}
 */
export async function firefox(display) {
    const profile = mkdtempSync(join(tmpdir(), 'attention-firefox-'));
    writeFileSync(join(profile, 'user.js'), 'user_pref("webgl.force-enabled", true);\nuser_pref("browser.shell.checkDefaultBrowser", false);\n');
    const browser = spawn('firefox-esr', ['--no-remote', '--profile', profile, '--remote-debugging-port', `${port}`, '--width', '1440', '--height', '980'],
        { stdio: 'ignore', env: { ...process.env, DISPLAY: display, LIBGL_ALWAYS_SOFTWARE: '1' } });
    const until = performance.now() + patience;
    /** @type {WebSocket | undefined} */
    let socket;
    while (!socket) {
        const tried = new WebSocket(`ws://127.0.0.1:${port}/session`);
        const open = await new Promise((resolve) => {
            tried.onopen = () => resolve(true);
            tried.onerror = () => resolve(false);
        });
        if (open) {
            socket = tried;
        } else if (performance.now() > until) {
            throw new Error('Firefox does not answer.');
        } else {
            await new Promise((resolve) => { setTimeout(resolve, 200); });
        }
    }
    const talks = socket;
    let id = 0;
    /** @type {Map<number, (answer: any) => void>} */
    const waiting = new Map();
    talks.onmessage = ({ data }) => {
        const answer = JSON.parse(data);
        waiting.get(answer.id)?.(answer);
    };
    /**
     * @param {string} method
     * @param {object} params
     * @returns {Promise<any>}
     */
    async function ask(method, params) {
        const mine = ++id;
        const answer = await new Promise((resolve) => {
            waiting.set(mine, resolve);
            talks.send(JSON.stringify({ id: mine, method, params }));
        });
        waiting.delete(mine);
        if (answer.type === 'error') {
            throw new Error(`Firefox: ${answer.message}`);
        }
        return answer.result;
    }
    const { capabilities: { browserVersion } } = await ask('session.new', { capabilities: {} });
    const { contexts: [{ context }] } = await ask('browsingContext.getTree', {});
    return {
        browser: `Firefox ${browserVersion}`,
        goto: (url) => ask('browsingContext.navigate', { context, url, wait: 'complete' }),
        async evaluate(expression) {
            const { result, exceptionDetails } = await ask('script.evaluate', { expression, target: { context }, awaitPromise: true });
            if (exceptionDetails) {
                throw new Error(exceptionDetails.text);
            }
            return result.value;
        },
        perform: (actions) => ask('input.performActions', { context, actions }),
        async screenshot() { return (await ask('browsingContext.captureScreenshot', { context })).data; },
        async end() {
            talks.close();
            browser.kill();
            await new Promise((resolve) => { browser.once('exit', resolve); });
            rmSync(profile, { recursive: true, force: true });
        },
    };
}
