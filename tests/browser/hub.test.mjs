// Tests models of the hub, from our own server behind the hub's names: opened by name, kept, fetched
// completely however often the connection breaks, and never different from the listing.
import assert from 'node:assert/strict';
import { hubHost } from './lib/hub.mjs';
import { bytesAsked, fetchIt, files, hubTest, isOpen, isRight, isSentence, kept, lookUp, menu, name, refused, shows, text, until, weights, withConfig, written } from './lib/hub_dialog.mjs';
import { tiny } from './lib/models.mjs';
import { phone } from './lib/suite.mjs';

await hubTest('a model opens by its name, after it has been asked for', {}, async (explorer, hub, commit) => {
    await menu(explorer);
    assert.equal(await explorer.page.evaluate(() => document.activeElement?.id), 'hub-name');
    assert.deepEqual(hub.log, [], 'opening the dialog asks for nothing');
    await lookUp(explorer);
    await until(explorer, 'hub-found-title', /^openai-community\/gpt2$/);
    assert.match(await text(explorer, 'hub-facts'), /Licence\s+mit\s+Commit\s+[0-9a-f]{7} of main\s+Size\s+41 kB in 3 files/);
    assert.match(await text(explorer, 'hub-files'), /config\.json[^]*tokenizer\.json[^]*model\.safetensors/);
    assert.match(await text(explorer, 'hub-fits'), /A tab can hold it/);
    assert.deepEqual(bytesAsked(hub), [], 'nothing of the weights before the button is pressed');
    await explorer.page.click('#hub-fetch');
    await explorer.untilNotice(/^openai-community\/gpt2 is open: 41 kB were fetched from huggingface\.co and are kept on this machine\.$/);
    await isRight(explorer, `hub:${name}@${commit}`);
    assert.equal(await text(explorer, 'model-name'), name);
    assert.equal(await explorer.linked('model'), `hub:${name}@${commit}`);
    assert.equal(bytesAsked(hub).length, 1);
    const folder = (await kept(explorer))[`${name}@${commit}`];
    assert.deepEqual(Object.keys(folder).sort(), ['config.json', 'kept.json', 'model.safetensors', 'plan.json', 'tokenizer.json']);
});

await hubTest('kept, it opens without the network, from its link and from the list, until it is deleted', {}, async (explorer, hub, commit) => {
    const link = `hub:${name}@${commit}`;
    await fetchIt(explorer);
    await isRight(explorer, link);
    hub.unplug();
    hub.log = [];
    for (const named of [link, `hub:${name}`]) {
        await explorer.page.goto('about:blank');
        await explorer.open(explorer.variant, `v=1&subject=sentence&model=${encodeURIComponent(named)}`);
        await isRight(explorer, named);
    }
    await explorer.page.goto('about:blank');
    await explorer.open(explorer.variant);
    await menu(explorer);
    await explorer.page.getByRole('button', { name: `Open ${name}`, exact: true }).click();
    await isRight(explorer, link);
    await menu(explorer);
    await explorer.page.getByRole('button', { name: `Delete ${name}` }).click();
    await explorer.until('the list to be empty', () => shows(explorer, 'hub-kept'), (shown) => !shown);
    assert.deepEqual(await kept(explorer), {});
    assert.deepEqual(hub.log, []);
    assert.equal((await explorer.state()).model, link, 'it is still open');
});

await hubTest('what the browser has cleared is said to be gone, and fetched again', {}, async (explorer, hub, commit) => {
    await fetchIt(explorer);
    await isRight(explorer, `hub:${name}@${commit}`);
    await menu(explorer);
    const open = explorer.page.getByRole('button', { name: `Open ${name}`, exact: true });
    await open.waitFor();
    await explorer.page.evaluate(async () => (await navigator.storage.getDirectory()).removeEntry('hub', { recursive: true }));
    await open.click();
    isSentence(await until(explorer, 'hub-fault', /^openai-community\/gpt2 is no longer kept whole on this machine: fetch it again\.$/));
    await explorer.until('the list to be empty', () => shows(explorer, 'hub-kept'), (shown) => !shown);
    await fetchIt(explorer);
    await explorer.until('it to be kept', () => kept(explorer), (all) => 'kept.json' in (all[`${name}@${commit}`] ?? {}));
});

await hubTest('a link asks before anything is fetched', { start: false }, async (explorer, hub, commit) => {
    const link = `hub:${name}@${commit}`, fragment = `v=1&subject=sentence&text=${encodeURIComponent(tiny.text)}&model=${encodeURIComponent(link)}`;
    await explorer.open(explorer.variant, fragment);
    await until(explorer, 'hub-asks', /^This link shows openai-community\/gpt2, which is not on this machine\. Look it up at huggingface\.co\?$/);
    assert.deepEqual([hub.log, [...hub.reached]], [[], []]);
    await explorer.press('Escape');
    await explorer.until('the dialog to be closed', () => isOpen(explorer), (open) => !open);
    assert.deepEqual(hub.log, []);
    assert.equal(await explorer.linked('model'), link, 'the link stays');
    await explorer.page.reload();
    await explorer.started();
    await until(explorer, 'hub-asks', /^This link shows/);
    await explorer.press('Enter');  // presses Look up
    await explorer.page.click('#hub-fetch:enabled');
    await isRight(explorer, link);
    await explorer.page.goBack();
    await explorer.page.goForward();
    assert.equal(await isOpen(explorer), false);
});

// Ten bytes, by Marsaglia's xorshift; two kills per test, because each reloads the page.
let seed = 20261124;
const ten = Array.from({ length: 10 }, () => {
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    return (seed >>> 0) % weights.length;
});
for (const two of [0, 2, 4, 6, 8].map((first) => ten.slice(first, first + 2))) {
    await hubTest(`killed at the bytes ${two.join(' and ')}, and the page loaded anew in between, it goes on where it was`, {}, async (explorer, hub, commit) => {
        const folder = `${name}@${commit}`;
        const cuts = [...two].sort((a, b) => a - b);
        for (const cut of cuts) {
            hub.fault = ({ kind, from }) => (kind === 'bytes' ? { hold: cut - from } : undefined);
            if (cut === cuts[0]) {
                await fetchIt(explorer);
            } else {
                await menu(explorer);
                await explorer.page.getByRole('button', { name: `Go on ${name}` }).click();
            }
            await explorer.until(`${cut} bytes to be written`, () => kept(explorer), (all) => all[folder]?.['model.safetensors'] === cut);
            await explorer.page.goto('about:blank');
            await explorer.open(explorer.variant);
            assert.ok(!('kept.json' in (await kept(explorer))[folder]), 'it is not whole');
            assert.equal((await explorer.state()).model, '');
        }
        hub.fault = () => undefined;
        await menu(explorer);
        await explorer.page.getByRole('button', { name: `Go on ${name}` }).click();
        await isRight(explorer, `hub:${name}@${commit}`);
        assert.deepEqual(bytesAsked(hub).map(({ range }) => Number(/\d+/.exec(range)?.[0] ?? 0)), [0, ...cuts]);
    });
}

await hubTest('cut connections and refusals that pass are tried again', { expected: [refused] }, async (explorer, hub, commit) => {
    const faults = [{ cut: 5000 }, { status: 503 }, { cut: 0 }, { status: 429, headers: { 'Retry-After': '1' } }, { cut: 30000 }, { whole: true }];
    hub.fault = ({ kind }) => (kind === 'bytes' ? faults.shift() : undefined);
    await fetchIt(explorer);
    await until(explorer, 'hub-flow-says', /The next try is in \d+ s\.$/);
    await isRight(explorer, `hub:${name}@${commit}`);
    assert.equal(faults.length, 0);
});

await hubTest('paused it stands still; closed, a notice shows how far it is', {}, async (explorer, hub, commit) => {
    hub.fault = ({ kind, from }) => (kind === 'bytes' && from === 0 ? { hold: 20000 } : undefined);
    await fetchIt(explorer);
    await until(explorer, 'hub-far', /^21 kB of 41 kB/);
    await explorer.page.click('#hub-pause');
    await until(explorer, 'hub-far', /^21 kB of 41 kB · paused$/);
    assert.equal(await text(explorer, 'hub-pause'), 'Go on');
    const before = hub.log.length;
    await explorer.page.click('#hub-close');
    await explorer.untilNotice(/^Fetching openai-community\/gpt2: 21 kB of 41 kB · paused$/, 'fetching');
    assert.equal(hub.log.length, before, 'nothing is asked for meanwhile');
    await explorer.page.click('.notice.fetching button');
    await explorer.page.click('#hub-pause');
    await isRight(explorer, `hub:${name}@${commit}`);
    assert.deepEqual(bytesAsked(hub).map(({ range }) => range), ['', 'bytes=20000-']);
    assert.deepEqual(await explorer.notices('fetching'), []);
});

await hubTest('stopped, it stays in the list, and can be deleted there', {}, async (explorer, hub) => {
    hub.fault = ({ kind }) => (kind === 'bytes' ? { hold: 20000 } : undefined);
    await fetchIt(explorer);
    await until(explorer, 'hub-far', /^21 kB of 41 kB/);
    await explorer.page.click('#hub-stop');
    await until(explorer, 'hub-kept-list', /21 kB of 41 kB/);
    await explorer.page.getByRole('button', { name: `Delete ${name}` }).click();
    await explorer.until('the list to be empty', () => shows(explorer, 'hub-kept'), (shown) => !shown);
    assert.deepEqual(await kept(explorer), {});
});

await hubTest('other bytes than listed are never opened', {}, async (explorer, hub, commit) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const before = await explorer.state();
    const other = Buffer.from(weights);
    other[weights.length - 7] ^= 1;
    hub.fault = ({ kind }) => (kind === 'bytes' ? { bytes: other } : undefined);
    await fetchIt(explorer);
    isSentence(await until(explorer, 'hub-fault', /^model\.safetensors did not arrive as huggingface\.co lists it/));
    assert.equal((await kept(explorer))[`${name}@${commit}`]['model.safetensors'], 0);
    hub.fault = ({ kind, path }) => (kind === 'file' && path === 'config.json' ? { bytes: Buffer.from(files['config.json'].toString().replace(' ', '\t')) } : undefined);
    await explorer.page.click('#hub-stop');
    await explorer.page.getByRole('button', { name: `Delete ${name}` }).click();
    await fetchIt(explorer);
    isSentence(await until(explorer, 'hub-fault', /^config\.json did not arrive as huggingface\.co lists it/));
    assert.deepEqual(await explorer.state(), before, 'what was open stays');
    hub.fault = () => undefined;
    await explorer.page.click('#hub-pause');
    await isRight(explorer, `hub:${name}@${commit}`);
});

await hubTest('other sizes than listed are never opened', { expected: [refused] }, async (explorer, hub, commit) => {
    hub.fault = ({ kind }) => (kind === 'bytes' ? { bytes: Buffer.concat([weights, Buffer.from('more')]) } : undefined);
    await fetchIt(explorer);
    isSentence(await until(explorer, 'hub-fault', /^model\.safetensors is longer than huggingface\.co lists/));
    hub.fault = ({ kind }) => (kind === 'bytes' ? { bytes: weights.subarray(0, 1000) } : undefined);
    await explorer.page.click('#hub-stop');
    await explorer.page.getByRole('button', { name: `Delete ${name}` }).click();
    await fetchIt(explorer);
    isSentence(await until(explorer, 'hub-fault', /^model\.safetensors of openai-community\/gpt2 is shorter than huggingface\.co lists/));
    hub.fault = () => undefined;
    await explorer.page.click('#hub-pause');
    await isRight(explorer, `hub:${name}@${commit}`);
});

await hubTest('what cannot be opened is said before any weights are fetched', { expected: [refused, /ERR_/] }, async (explorer, hub) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const before = await explorer.state();
    const { 'model.safetensors': _, ...none } = files;
    hub.put('org/pickled', { ...none, 'pytorch_model.bin': weights });
    hub.put('org/bloom', withConfig({ model_type: 'bloom', architectures: ['BloomModel'] }));
    hub.put('org/huge', files, { listed: { 'model.safetensors': { size: 8e9, lfs: { oid: 'a'.repeat(64), size: 8e9 } } } });
    for (const [what, says] of Object.entries({
        'org/pickled': /pytorch_model\.bin alone/,
        'org/bloom': /bloom/i,
        'org/huge': /model\.safetensors is 8\.0 GB/,
        'org/nothing': /shows no model org\/nothing/,
        'openai-community/gpt2@nowhere': /has no revision nowhere/,
        'openai-community/gpt2/x.gguf': /no file x\.gguf/,
        'https://example.org/a/b': /not an address of huggingface\.co/,
        'a b': /is no name of a model/,
    })) {
        await lookUp(explorer, what);
        isSentence(await until(explorer, 'hub-fault', says));
        assert.ok(!await shows(explorer, 'hub-fetch') || await explorer.page.isDisabled('#hub-fetch'), what);
    }
    for (const [fault, says] of /** @type {const} */ ([[{ status: 429, headers: { 'Retry-After': '180' } }, /asked too often: try again in 3 minutes/], [{ status: 500 }, /answered 500/], [{ status: 404 }, /There is no model/]])) {
        hub.fault = () => fault;
        await lookUp(explorer);
        isSentence(await until(explorer, 'hub-fault', says));
    }
    hub.fault = () => undefined;
    hub.unplug();
    await lookUp(explorer);
    isSentence(await until(explorer, 'hub-fault', /huggingface\.co could not be reached/));
    assert.deepEqual(bytesAsked(hub), []);
    await explorer.press('Escape');
    assert.deepEqual(await explorer.state(), before, 'what was open stays');
});

await hubTest('a token opens a gated model, goes to the hub alone and is kept nowhere', { expected: [refused] }, async (explorer, hub) => {
    const commit = hub.put('org/gated', files, { token: 'hf_rightsecret' });
    await lookUp(explorer, 'org/gated');
    isSentence(await until(explorer, 'hub-fault', /^org\/gated is gated: accept the terms on its page at huggingface\.co, then paste a token/));
    assert.equal(await explorer.page.evaluate(() => document.activeElement?.id), 'hub-token');
    await explorer.page.keyboard.insertText('hf_wrong');
    await explorer.press('Enter');
    isSentence(await until(explorer, 'hub-fault', /this token may not read it/));
    await explorer.press('Control+A');
    await explorer.page.keyboard.insertText('hf_rightsecret');
    await explorer.press('Enter');
    await explorer.page.click('#hub-fetch:enabled');
    await isRight(explorer, `hub:org/gated@${commit}`);
    assert.ok(hub.log.some(({ host, authorization }) => host === hubHost && authorization === 'Bearer hf_rightsecret'));
    assert.ok(bytesAsked(hub).length > 0);
    const stored = (await written(explorer, true)).all + await explorer.page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, document.cookie]));
    assert.ok(stored.includes('org/gated') && !stored.includes('hf_rightsecret'));
    assert.equal(await explorer.page.inputValue('#hub-token'), '');
});

await hubTest('without a token in memory any more, a gated model that was cut off asks for it again', { expected: [refused] }, async (explorer, hub) => {
    const commit = hub.put('org/gated', files, { token: 'hf_rightsecret' });
    hub.fault = ({ kind }) => (kind === 'bytes' ? { hold: 20000 } : undefined);
    await lookUp(explorer, 'org/gated');
    await until(explorer, 'hub-fault', /is gated/);
    await explorer.page.keyboard.insertText('hf_rightsecret');
    await explorer.press('Enter');
    await explorer.page.click('#hub-fetch:enabled');
    await until(explorer, 'hub-far', /^21 kB of 41 kB/);
    await explorer.page.goto('about:blank');
    await explorer.open(explorer.variant);
    hub.fault = () => undefined;
    await menu(explorer);
    await explorer.page.getByRole('button', { name: 'Go on org/gated' }).click();
    isSentence(await until(explorer, 'hub-fault', /is gated/));
    await explorer.page.click('#hub-token');
    await explorer.page.keyboard.insertText('hf_rightsecret');
    await explorer.press('Enter');
    await isRight(explorer, `hub:org/gated@${commit}`);
});

await hubTest('where the browser keeps nothing, it says so and opens the model all the same', { start: false, expected: [refused] }, async (explorer, hub, commit) => {
    await explorer.page.addInitScript(() => {
        StorageManager.prototype.getDirectory = async () => { throw new DOMException('no', 'SecurityError'); };
    });
    await explorer.open(explorer.variant);
    const other = Buffer.from(weights);
    other[weights.length - 7] ^= 1;
    hub.fault = ({ kind }) => (kind === 'bytes' ? { bytes: other } : undefined);
    await lookUp(explorer);
    await until(explorer, 'hub-fits', /This browser keeps no files here, as in a private window, so it is fetched anew each time\.$/);
    await explorer.page.click('#hub-fetch');
    isSentence(await explorer.untilNotice(/did not arrive as huggingface\.co lists it/, 'error'));
    assert.equal((await explorer.state()).model, '');
    const faults = [{ cut: 9000 }, { cut: 9000 }];
    hub.fault = ({ kind }) => (kind === 'bytes' ? faults.shift() : undefined);
    await fetchIt(explorer);
    await explorer.untilNotice(/is open: 41 kB were fetched from huggingface\.co\.$/);
    await isRight(explorer, `hub:${name}@${commit}`);
});

await hubTest('where there is no room it says so, and opens the model all the same', { start: false }, async (explorer, hub, commit) => {
    await explorer.page.addInitScript(() => { StorageManager.prototype.estimate = async () => ({ quota: 30000, usage: 10000 }); });
    await explorer.open(explorer.variant);
    await lookUp(explorer);
    await until(explorer, 'hub-fits', /This browser has room for 20 kB more, so it is opened without being kept/);
    await explorer.page.click('#hub-fetch');
    await isRight(explorer, `hub:${name}@${commit}`);
    assert.ok(!('kept.json' in ((await kept(explorer))[`${name}@${commit}`] ?? {})));
});

await hubTest('a disk that is full in the middle is one sentence, and what to do', {}, async (explorer, hub, commit) => {
    const devtools = await explorer.devtools();
    const origin = new URL(explorer.site).origin;
    await explorer.page.evaluate(() => { StorageManager.prototype.estimate = async () => ({ quota: 1e9, usage: 0 }); });
    await devtools.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 20000 });
    await fetchIt(explorer);
    isSentence(await until(explorer, 'hub-fault', /^This browser has no more room for openai-community\/gpt2: delete a kept model/));
    await devtools.send('Storage.overrideQuotaForOrigin', { origin });
    await explorer.page.click('#hub-pause');
    await isRight(explorer, `hub:${name}@${commit}`);
});

await hubTest('the keyboard alone, and names for those who do not see the dialog', {}, async (explorer, hub, commit) => {
    const focus = () => explorer.page.evaluate(() => document.activeElement?.id || document.activeElement?.textContent);
    await explorer.page.focus('#model');
    await explorer.press('Enter', 'Tab', 'Enter');
    await explorer.until('the dialog', () => isOpen(explorer));
    for (const [role, named] of /** @type {const} */ ([['dialog', 'Open a model from the hub'], ['textbox', 'Its name, or the address of its page'], ['button', 'Look up'], ['button', 'Close']])) {
        assert.equal(await explorer.page.getByRole(role, { name: named }).count(), 1, named);
    }
    await explorer.page.keyboard.type(name);
    await explorer.press('Tab');
    assert.equal(await focus(), 'hub-look');
    await explorer.press('Enter');
    await until(explorer, 'hub-found-title', /gpt2/);
    await explorer.until('the focus on what was found', focus, (id) => id === 'hub-found-title');
    await explorer.press('Tab', 'Tab');
    assert.equal(await focus(), 'hub-fetch');
    hub.fault = ({ kind, from }) => (kind === 'bytes' && from === 0 ? { hold: 20000 } : undefined);
    await explorer.press('Enter');
    await until(explorer, 'hub-far', /^21 kB of 41 kB/);
    assert.equal(await focus(), 'hub-pause');
    assert.equal(await explorer.page.getByRole('progressbar', { name: `Fetching ${name}` }).count(), 1);
    await explorer.press('Enter', 'Enter');  // pause, continue
    await isRight(explorer, `hub:${name}@${commit}`);
    await explorer.page.focus('#model');
    await explorer.press('Enter', 'Tab', 'Enter');
    await explorer.until('the dialog', () => isOpen(explorer));
    await explorer.press('Escape');
    await explorer.until('the dialog to be closed', () => isOpen(explorer), (open) => !open);
    assert.equal(await focus(), 'model', 'the focus is back');
});

await hubTest('a .gguf file is chosen among those of a repository', {}, async (explorer, hub) => {
    hub.put('org/quants', { 'README.md': Buffer.from('x'), 'x-Q8_0.gguf': Buffer.alloc(3e6), 'x-Q4_K_M.gguf': Buffer.alloc(2e6), 'b/x-00001-of-00002.gguf': Buffer.alloc(3e6), 'b/x-00002-of-00002.gguf': Buffer.alloc(1e6) });
    await lookUp(explorer, 'org/quants');
    await until(explorer, 'hub-found-title', /^org\/quants$/);
    assert.deepEqual(await explorer.page.$$eval('#hub-choice option', (all) => all.map((option) => option.textContent)), ['x-Q4_K_M.gguf, 2.0 MB', 'x-Q8_0.gguf, 3.0 MB', 'b/x.gguf, 4.0 MB']);
    await explorer.page.selectOption('#hub-choice', { index: 2 });
    await until(explorer, 'hub-files', /b\/x-00001-of-00002\.gguf[^]*b\/x-00002-of-00002\.gguf/);
    assert.equal(await text(explorer, 'hub-fetch'), 'Fetch 4.0 MB');
    await lookUp(explorer, 'https://huggingface.co/org/quants/blob/main/x-Q8_0.gguf');
    await until(explorer, 'hub-fetch', /^Fetch 3\.0 MB$/);
    assert.deepEqual(bytesAsked(hub), []);
});

await hubTest('on a phone it fits, and fingers press it', { context: phone }, async (explorer, hub, commit) => {
    await explorer.page.tap('#model');
    await explorer.page.tap('#open-hub');
    const inside = async () => {
        const { x, y, width, height } = await explorer.page.locator('#hub-dialog').boundingBox();
        assert.ok(x >= 0 && y >= 0 && x + width <= 390 && y + height <= 844, JSON.stringify({ x, y, width, height }));
        assert.equal(await explorer.page.$eval('#hub-dialog', ({ scrollWidth, clientWidth }) => scrollWidth - clientWidth), 0, 'nothing is cut off at the side');
    };
    await inside();
    await explorer.page.getByRole('button', { name: /openai-community\/gpt2/ }).tap();
    await until(explorer, 'hub-found-title', /gpt2/);
    await inside();
    await explorer.page.tap('#hub-fetch');
    await explorer.untilState('the model', ({ model }) => model === `hub:${name}@${commit}`);
});

await hubTest('a look-up that answers nonsense gets a sentence and Retry', { expected: [refused] }, async (explorer, hub) => {
    for (const bytes of ['<html>', 'null', '']) {
        hub.fault = ({ kind }) => (kind === 'info' ? { body: bytes } : undefined);
        await lookUp(explorer);
        isSentence(await until(explorer, 'hub-fault', /^What huggingface\.co says of openai-community\/gpt2 cannot be read/));
        assert.equal(await explorer.page.evaluate(() => document.activeElement?.id), 'hub-retry');
    }
    hub.fault = () => undefined;
    await explorer.press('Enter');
    await until(explorer, 'hub-found-title', /gpt2/);
    assert.equal(await shows(explorer, 'hub-retry'), false);
});

await hubTest('a link followed during a download is kept, and asked afterwards', {}, async (explorer, hub, commit) => {
    const other = hub.put('org/other', files, { revisions: ['refs/pr/1'] });
    hub.fault = ({ kind, from }) => (kind === 'bytes' && from === 0 ? { hold: 20000 } : undefined);
    await fetchIt(explorer);
    await until(explorer, 'hub-far', /^21 kB of 41 kB/);
    const link = 'hub:org/other@refs%2Fpr%2F1';
    await explorer.page.evaluate((fragment) => { location.hash = fragment; }, `v=1&subject=sentence&text=${encodeURIComponent(tiny.text)}&model=${encodeURIComponent(link)}`);
    await until(explorer, 'hub-flow-says', /^org\/other@refs\/pr\/1, of the link that you followed, comes next\.$/);
    hub.fault = () => undefined;
    await explorer.page.click('#hub-pause');
    await explorer.page.click('#hub-pause');
    await until(explorer, 'hub-asks', /^This link shows org\/other@refs\/pr\/1, which is not on this machine/);
    await explorer.untilNotice(/^openai-community\/gpt2 is kept on this machine: 41 kB were fetched/);
    assert.equal(await explorer.page.inputValue('#hub-name'), 'org/other@refs/pr/1');
    await explorer.press('Enter');
    await explorer.page.click('#hub-fetch:enabled');
    await isRight(explorer, link);
    const folders = Object.keys(await kept(explorer));
    assert.deepEqual(folders.sort(), [`${name}@${commit}`, `org/other@${other}`].sort());
});

await hubTest('a link without a revision opens the newest kept commit, and says which', {}, async (explorer, hub, first) => {
    await fetchIt(explorer);
    await isRight(explorer, `hub:${name}@${first}`);
    const second = hub.put(name, { ...files, 'README.md': Buffer.from('new') });
    await explorer.page.waitForTimeout(20);  // the times of files are in milliseconds
    await fetchIt(explorer);
    await isRight(explorer, `hub:${name}@${second}`);
    await explorer.page.goto('about:blank');
    hub.unplug();
    await explorer.open(explorer.variant, `v=1&subject=sentence&model=${encodeURIComponent(`hub:${name}`)}`);
    const said = await explorer.untilNotice(/^The link names no commit: openai-community\/gpt2 opens as kept on this machine on/);
    assert.ok(said.includes(`commit ${second.slice(0, 7)}, the newest of 2 that are kept.`), said);
    await isRight(explorer, `hub:${name}`);
});

await hubTest('where the disk is full, the model opens without being kept', {}, async (explorer, hub, commit) => {
    const devtools = await explorer.devtools();
    const origin = new URL(explorer.site).origin;
    await explorer.page.evaluate(() => { StorageManager.prototype.estimate = async () => ({ quota: 1e12, usage: 0 }); });
    await devtools.send('Storage.overrideQuotaForOrigin', { origin, quotaSize: 20000 });
    await fetchIt(explorer);
    isSentence(await until(explorer, 'hub-fault', /or open it without keeping it\.$/));
    await explorer.page.click('#hub-unkept');
    await isRight(explorer, `hub:${name}@${commit}`);
    assert.deepEqual(await kept(explorer), {});
    await devtools.send('Storage.overrideQuotaForOrigin', { origin });
});
