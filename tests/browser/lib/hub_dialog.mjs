// Drives the dialog that opens models of the hub, on a hub of our own.
import assert from 'node:assert/strict';
import { TestHub, bytesHost, filesOf, hubHost } from './hub.mjs';
import { tiny } from './models.mjs';
import { near } from './numbers.mjs';
import { test } from './suite.mjs';

export const name = 'openai-community/gpt2';
export const files = filesOf(tiny.folder);
export const weights = files['model.safetensors'];
export const withConfig = (changes) => ({ ...files, 'config.json': Buffer.from(JSON.stringify({ ...JSON.parse(files['config.json'].toString()), ...changes })) });
const asked = /^a request to another place: https:\/\/(huggingface\.co|cdn-lfs\.hf\.co)\//;
export const refused = /^console error: Failed to load resource/;

// A test with a hub of its own, which holds the tiny model as openai-community/gpt2.
export async function hubTest(title, options, body) {
    const hub = new TestHub();
    const context = await hub.openForBrowser();
    test(title, { ...options, context: { ...options.context, ...context }, expected: [asked, ...options.expected ?? []] }, async (explorer) => {
        // The test may run a second time.
        Object.assign(hub, { log: [], fault: () => undefined, offline: false });
        hub.reached.clear();
        const commit = hub.put(name, files, { info: { cardData: { license: 'mit' } } });
        await body(explorer, hub, commit);
        assert.deepEqual([...hub.reached].filter((host) => host !== hubHost && host !== bytesHost), [], 'no other host');
        assert.deepEqual(hub.log.filter(({ cookie, referrer }) => cookie || referrer), []);
        assert.deepEqual(hub.log.filter(({ host, authorization, asks }) => host === bytesHost && (authorization || /authorization/i.test(asks))), [], 'no token elsewhere');
    });
}

export const text = (explorer, id) => explorer.page.innerText(`#${id}`);
export const shows = (explorer, id) => explorer.page.locator(`#${id}`).isVisible();
export const until = (explorer, id, says) => explorer.until(`#${id} to say ${says}`, async () => (await shows(explorer, id) ? text(explorer, id) : ''), (now) => says.test(now));
export const isOpen = (explorer) => explorer.page.$eval('#hub-dialog', (dialog) => dialog instanceof HTMLDialogElement && dialog.open);
export const bytesAsked = (hub) => hub.log.filter(({ host }) => host === bytesHost);

export async function menu(explorer) {
    await explorer.page.click('#model');
    await explorer.page.click('#open-hub');
}

export async function lookUp(explorer, what = name) {
    if (!await isOpen(explorer)) {
        await menu(explorer);
    }
    await explorer.page.fill('#hub-name', '');
    await explorer.page.click('#hub-name');
    await explorer.page.keyboard.insertText(what);
    await explorer.press('Enter');
}

export async function fetchIt(explorer, what = name) {
    await lookUp(explorer, what);
    await explorer.page.click('#hub-fetch:enabled');
}

// Checks that the model is open under that name, and computes PyTorch's numbers.
export async function isRight(explorer, link) {
    await explorer.untilState(`${link} to open`, ({ model }) => model === link);
    await explorer.until('the dialog to be closed', () => isOpen(explorer), (open) => !open);
    await explorer.write(tiny.text);
    await explorer.untilRun('its run', (state) => state.model === link && state.text === tiny.text && state.tokens === tiny.ids.length);
    near(await explorer.attention(1, 2), tiny.attention[1][2], 1e-4, 'attention');
}

// One sentence, short enough to be read.
export function isSentence(said) {
    assert.match(said, /^[^\n]{10,400}\.$/);
}

// The kept files: the sizes of files by folder, {file: size}, and on request all their texts. A file cannot
// be read while it is written.
export const written = (explorer, texts) => explorer.page.evaluate(async (read) => {
    /** @type {Record<string, Record<string, number>>} */
    const folders = {};
    let all = '';
    const hub = await (await navigator.storage.getDirectory()).getDirectoryHandle('hub', { create: true });
    for await (const [folder, handle] of hub.entries()) {
        const sizes = folders[decodeURIComponent(folder)] = {};
        for await (const [path, each] of /** @type {FileSystemDirectoryHandle} */ (handle).entries()) {
            const file = await /** @type {FileSystemFileHandle} */ (each).getFile();
            sizes[decodeURIComponent(path)] = file.size;
            all += read ? await file.text() : '';
        }
    }
    return { folders, all };
}, texts);
export const kept = async (explorer) => (await written(explorer, false)).folders;
