// Opens the page in Firefox and in WebKitGTK, and uses it as a person does: node --experimental-websocket run.mjs [NAME]
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundled, site } from '../browser/lib/bundled.mjs';
import { Explorer } from '../browser/lib/explorer.mjs';
import { tiny } from '../browser/lib/models.mjs';
import { colours, decode } from '../browser/lib/png.mjs';
import { serve } from '../../tools/lib/serve.mjs';
import { webkit } from '../../tools/lib/webkit.mjs';
import { firefox } from './firefox.mjs';
import { EnginePage } from './page.mjs';

const display = ':96';

/** @typedef {(explorer: Explorer, page: EnginePage) => Promise<unknown>} Check */

// One lens of each group, on what it needs.
const sentence = `subject=sentence&model=${bundled.name}&text=The%20girl%20sang`;
const lenses = { softmax: 'subject=worked', numerics: 'subject=worked', ...!bundled.absent && { overview: sentence, circuits: sentence } };

/** @type {Record<string, Check>} */
const checks = {
    async 'the first picture'(explorer, page) {
        await explorer.open('');
        await explorer.settled();
        assert.ok(colours(decode(await page.screenshot())) > 24, 'a picture with colours');
    },
    async 'an edited number, undone by the keyboard'(explorer, page) {
        await explorer.type('w_k/0/1', '3');
        await explorer.until('the edit', async () => (await explorer.matrix('w_k'))[0][1], (number) => number === 3);
        await page.waitForTimeout(300);  // the page learns that nobody is typing any more
        await page.keyboard.press('Control+z');
        await explorer.until('it to be undone', async () => (await explorer.matrix('w_k'))[0][1], (number) => number === 0);
    },
    async 'a lens found by the keyboard'(explorer, page) {
        await page.keyboard.press('Control+k');
        await explorer.until('the palette', () => explorer.rect('palette'));
        await page.keyboard.type('temperature as a dial');
        await page.keyboard.press('Enter');
        await explorer.until('the lens', () => explorer.state(), ({ lens }) => lens === 'softmax');
    },
    async 'a typed sentence'(explorer, page) {
        if (bundled.absent) {
            return bundled.absent;
        }
        await page.goto(`${explorer.site}#v=1&subject=sentence&model=${bundled.name}`);
        await page.evaluate(() => location.reload());
        await page.waitForTimeout(500);
        await explorer.started();
        await explorer.until('the model', () => explorer.state(), ({ model }) => model === bundled.name);
        await page.click('#sentence');
        await page.keyboard.press('Control+a');
        await page.keyboard.type('The girl sang');
        await page.keyboard.press('Enter');
        await explorer.until('its run', () => explorer.state(), ({ text, tokens }) => text === 'The girl sang' && tokens > 0);
        await explorer.until('its logits', () => explorer.logits(), (logits) => logits?.length > 0);
        return undefined;
    },
    async 'a lens of each group, and a lesson'(explorer, page) {
        for (const [lens, subject] of Object.entries(lenses)) {
            await page.evaluate((/** @type {string} */ fragment) => { location.hash = fragment; }, `v=1&lens=${lens}&${subject}`);
            await explorer.until(lens, () => explorer.state(), ({ lens: now, spoken }) => now === lens && spoken !== '');
        }
        await page.evaluate(() => { location.hash = 'v=1&lesson=one-token-back'; });
        await explorer.until('the lesson', () => explorer.rect('lesson/title'));
    },
    async 'a model’s files'(explorer, page) {
        const files = ['config.json', 'model.safetensors', 'tokenizer.json'].map((name) => [name, readFileSync(join(tiny.folder, name)).toString('base64')]);
        await page.evaluate((/** @type {string[][]} */ given) => {
            const chosen = new DataTransfer();
            for (const [name, text] of given) {
                chosen.items.add(new File([Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))], name));
            }
            const input = /** @type {HTMLInputElement} */ (document.getElementById('files-input'));
            input.files = chosen.files;
            input.dispatchEvent(new Event('change', { bubbles: true }));
        }, files);
        await explorer.untilNotice(/ is open\./);
    },
    async 'the page saved as one file'(explorer, page) {
        await page.evaluate(() => {
            HTMLAnchorElement.prototype.click = function () {
                fetch(this.href).then((answer) => answer.blob()).then(({ size }) => { Object.assign(window, { saved: size }); }, () => {});
                Object.assign(window, { named: this.download });
            };
        });
        await page.click('#model');
        await page.click('#save-page');
        await explorer.untilNotice(/^The page is saved, /);
        assert.equal(await page.evaluate(() => Reflect.get(window, 'named')), 'attention-explorer.html');
    },
};

const drivers = { firefox, webkit };
const wanted = Object.entries(drivers).filter(([name]) => name.includes(process.argv[2] ?? ''));
const screen = spawn('Xvfb', [display, '-screen', '0', '1440x1000x24'], { stdio: 'ignore' });
const server = await serve({ folder: site });
let failed = 0;
for (const [name, driver] of wanted) {
    const session = await driver(display);
    const page = new EnginePage(session), explorer = new Explorer(/** @type {any} */ (page), server.url, '');
    for (const [what, check] of Object.entries(checks)) {
        const began = performance.now();
        let said = 'ok  ', reason = '';
        try {
            const skipped = await check(explorer, page);
            if (typeof skipped === 'string') {
                [said, reason] = ['skip', skipped];
            }
        } catch (error) {
            [said, reason] = ['FAIL', error instanceof Error ? error.message : String(error)];
            ++failed;
            const picture = fileURLToPath(new URL(`../../build/engine-${name}.png`, import.meta.url));
            writeFileSync(picture, await page.screenshot());
            reason += `\n      the page then: ${picture}`;
        }
        console.log(`${said} ${((performance.now() - began) / 1000).toFixed(1).padStart(5)} s  ${session.browser}: ${what}${reason && `\n      ${reason}`}`);
    }
    await session.end();
}
await server.close();
screen.kill();
process.exit(failed ? 1 : 0);
