// Tests files and texts that cannot be used: one clear sentence each, and the previous content stays.
import assert from 'node:assert/strict';
import { closeSync, mkdirSync, openSync, readFileSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { emptyFolder, tiny, tokenizer, variation } from './lib/models.mjs';
import { near } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';

const weights = readFileSync(join(tiny.folder, 'model.safetensors'));
const config = JSON.parse(readFileSync(join(tiny.folder, 'config.json'), 'utf8'));
const configured = (changes) => ({ 'config.json': JSON.stringify({ ...config, ...changes }) });

// One sentence, short enough to be read.
function isSentence(text) {
    assert.match(text, /^[^\n]{10,250}\.$/);
    assert.doesNotMatch(text, /[.?!] [A-Z]/);
}

const refused = {
    'truncated weights': [{ 'model.safetensors': weights.subarray(0, weights.length - 100) }, /model\.safetensors/],
    'weights cut inside their header': [{ 'model.safetensors': weights.subarray(0, 200) }, /model\.safetensors/],
    'weights that are something else': [{ 'model.safetensors': Buffer.from('<html>Not found</html>') }, /model\.safetensors/],
    'no weights at all': [{ 'model.safetensors': Buffer.alloc(0) }, /model\.safetensors/],
    'a configuration of other sizes': [configured({ n_embd: 24 }), /24|n_embd|shape/],
    'a configuration of another family': [configured({ model_type: 'bloom', architectures: ['BloomModel'] }), /bloom/i],
    'a configuration of absurd sizes': [configured({ n_layer: 1e9, n_positions: 1e12 }), /./],
    'a configuration that is no JSON': [{ 'config.json': '{"model_type": "gpt2",' }, /config\.json/],
    'a tokenizer of a larger vocabulary': [{ 'tokenizer.json': tokenizer([...tiny.words, ...Array.from({ length: 20 }, (_, i) => `more${i}`)]) }, /vocab_size is 31/],
    'a tokenizer that is none': [{ 'tokenizer.json': '{"model": 7}' }, /tokenizer/i],
};

test('a model that cannot be read is one sentence, and the model before stays', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const before = await explorer.state();
    for (const [name, [changes, says]] of Object.entries(refused)) {
        await explorer.drop(variation(tiny.folder, changes));
        isSentence(await explorer.untilNotice(says, 'error'));
        assert.deepEqual(await explorer.state(), before, name);
        await explorer.dismiss();
    }
    near(await explorer.attention(0, 0), tiny.attention[0][0], 1e-4, 'attention');
});

test('a notice moves nothing, leaves the inspector uncovered, and goes once the person has gone on', async (explorer) => {
    const stage = () => explorer.page.locator('#stage').boundingBox();
    const before = await stage();
    await explorer.type('x/0/0', '1.2.3');
    isSentence(await explorer.untilNotice(/'1\.2\.3' is not a number/, 'error'));
    assert.deepEqual(await stage(), before);
    const notice = await explorer.page.locator('.notice.error').boundingBox(), inspector = await explorer.rect('panel/inspector');
    assert.ok(notice.x + notice.width <= inspector.left, 'it is beside the inspector');
    assert.ok(notice.y + notice.height <= before.y + before.height - 28, 'it is above the status line');
    await explorer.type('x/0/0', '0.5');
    await explorer.until('the edit', () => explorer.matrix('x'), (rows) => rows[0][0] === 0.5);
    await explorer.until('the notice to go', () => explorer.notices('error'), (all) => all.length === 0);
});

test('a file of 8 GB is refused before anything is read', async (explorer) => {
    const folder = variation(tiny.folder, {}, 'huge');
    truncateSync(join(folder, 'model.safetensors'), 8e9);  // sparse
    const before = await explorer.state();
    await explorer.drop(folder);
    isSentence(await explorer.untilNotice(/model\.safetensors is 8\.0 GB/, 'error'));
    assert.deepEqual(await explorer.state(), before);
});

test('a file of 2.4 GB is offered in 8 bits, and checked as it arrives', async (explorer) => {
    const folder = variation(tiny.folder, {}, 'large');
    truncateSync(join(folder, 'model.safetensors'), 2.4e9);  // sparse: more than its header says
    await explorer.drop(folder);
    await explorer.untilNotice(/model\.safetensors is 2\.4 GB; .* In 8 bits the model takes about 1\.3 GB/, 'pending');
    assert.equal((await explorer.state()).model, '');
    await explorer.page.click('text=Open in 8 bits');
    isSentence(await explorer.untilNotice(/^model\.safetensors: this \.safetensors file has tensors that end at byte/, 'error'));
    assert.equal((await explorer.state()).model, '');
});

test('a header that claims gigabytes is refused', async (explorer) => {
    const folder = variation(tiny.folder, {}, 'liar');
    const file = openSync(join(folder, 'model.safetensors'), 'r+');
    writeSync(file, Buffer.from([255, 255, 255, 255, 255, 255, 255, 127]), 0, 8, 0);
    closeSync(file);
    await explorer.drop(folder);
    isSentence(await explorer.untilNotice(/header/, 'error'));
    assert.equal((await explorer.state()).model, '');
});

test('files dropped one by one, in the wrong order, make a model in the end', async (explorer) => {
    await explorer.drop(join(tiny.folder, 'tokenizer.json'));
    await explorer.untilNotice(/^tokenizer\.json is here; still needed: config\.json and model\.safetensors\.$/, 'pending');
    await explorer.drop(join(tiny.folder, 'model.safetensors'));
    await explorer.untilNotice(/still needed: config\.json\.$/, 'pending');
    assert.equal((await explorer.state()).model, '');
    await explorer.drop(join(tiny.folder, 'config.json'));
    await explorer.untilState('the model', ({ model }) => model === 'gpt2');
    assert.deepEqual(await explorer.notices('pending'), []);
    await explorer.write(tiny.text);
    await explorer.untilRun('the run', ({ tokens }) => tokens === tiny.ids.length);
    near(await explorer.attention(1, 2), tiny.attention[1][2], 1e-4, 'attention');
});

test('files that are no model are named', async (explorer) => {
    const folder = join(emptyFolder(), 'photos');
    mkdirSync(folder);
    await explorer.drop(folder);
    isSentence(await explorer.untilNotice(/no files/, 'error'));
    await explorer.drop(join(tiny.folder, '..', '..', 'no-such-file'), new URL(import.meta.url).pathname);
    isSentence(await explorer.untilNotice(/refusals\.test\.mjs is not part of a model/, 'error'));
});

test('files can be chosen in a dialog as well as dropped', async (explorer) => {
    await explorer.page.click('#model');
    const choosing = explorer.page.waitForEvent('filechooser');
    await explorer.page.click('#open-files');
    await (await choosing).setFiles(['tokenizer.json', 'config.json', 'model.safetensors'].map((name) => join(tiny.folder, name)));
    await explorer.untilState('the model', ({ model }) => model === 'gpt2');
});

test('a word that the vocabulary lacks is named under the box', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.write('the zebra sat');
    const fault = explorer.page.locator('#sentence-fault');
    await fault.filter({ hasText: /'zebra' has no token in this model's vocabulary/ }).waitFor();
    near(await explorer.attention(0, 0), tiny.attention[0][0], 1e-4, 'attention of the text before');
    await explorer.write('the cat sat');
    await explorer.untilRun('the corrected text', ({ tokens }) => tokens === 3);
    assert.equal(await fault.isVisible(), false);
});

test('a text beyond the context is cut, with a note', async (explorer) => {
    await explorer.openModel(tiny.folder, Array(19).fill('cat').join(' '));
    isSentence(await explorer.untilNotice(/19 tokens.*18/));
    assert.equal((await explorer.state()).tokens, 18);
});

test('100,000 characters neither freeze the page nor run out of context', async (explorer) => {
    await explorer.openModel(tiny.folder);
    const text = 'cat '.repeat(25000);
    await explorer.page.evaluate(() => {
        globalThis.longest = 0;
        let last = performance.now();
        requestAnimationFrame(function watch(now) {
            globalThis.longest = Math.max(globalThis.longest, now - last);
            last = now;
            requestAnimationFrame(watch);
        });
    });
    await explorer.write(text);
    await explorer.untilNotice(/25000 tokens.*18/);
    await explorer.untilRun('the run', ({ tokens }) => tokens === 18);
    const { text: kept, fragment } = await explorer.state();
    assert.equal(kept, text);
    assert.ok(fragment.length < 10000, `the address has ${fragment.length} characters`);
    const longest = await explorer.page.evaluate(() => globalThis.longest);
    assert.ok(longest < 3000, `a frame took ${longest} ms`);
    await explorer.write('the cat sat');
    await explorer.untilRun('a short text again', ({ tokens }) => tokens === 3);
});
