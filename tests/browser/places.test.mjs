// Tests the address: back and forward, links as documents, and broken links.
import assert from 'node:assert/strict';
import { pinName } from './lib/explorer.mjs';
import { attention, near } from './lib/numbers.mjs';
import { tiny } from './lib/models.mjs';
import { test } from './lib/suite.mjs';

const clipboard = { context: { permissions: ['clipboard-read', 'clipboard-write'] } };
const example = (explorer, key) => explorer.until(`example ${key}`, () => explorer.linked('ex'), (ex) => ex === key);

test('back and forward go through subjects and examples, with their edits', async (explorer) => {
    await explorer.choose('B', 'three-tokens');
    await explorer.type('v/0/0', '10');
    await explorer.until('the edit', () => explorer.matrix('v'), (rows) => rows[0][0] === 10);
    await explorer.choose('F', 'information-flow');
    await explorer.click('subject/sentence');
    await explorer.untilState('the sentence', ({ subject }) => subject === 'sentence');

    await explorer.page.goBack();
    await explorer.untilState('the worked example', ({ subject }) => subject === 'worked');
    await example(explorer, 'information-flow');
    await explorer.page.goBack();
    await example(explorer, 'three-tokens');
    assert.equal((await explorer.matrix('v'))[0][0], 10);
    await explorer.page.goBack();
    await explorer.until('the edit to be gone', () => explorer.matrix('v'), (rows) => rows[0][0] !== 10);
    assert.ok(await explorer.linked('pin'), 'the cell was chosen first');
    await explorer.page.goBack();
    await explorer.until('no cell', async () => !await explorer.linked('pin'));
    await explorer.page.goBack();
    await example(explorer, undefined);
    for (let step = 0; step < 3; ++step) {  // the example, its cell, its edit
        await explorer.page.goForward();
    }
    await explorer.until('the edit again', () => explorer.matrix('v'), (rows) => rows[0][0] === 10);
    await example(explorer, 'three-tokens');
});

test('Back never leaves the page while there is a change to go back from', async (explorer) => {
    const length = await explorer.page.evaluate(() => history.length);
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('head/1/2');
    await explorer.untilState('the head', ({ layer, head }) => layer === 1 && head === 2);
    await explorer.click('head/1/1');
    await explorer.untilState('another', ({ layer, head }) => layer === 1 && head === 1);
    await explorer.click('subject/worked');
    await explorer.untilState('the example', ({ subject }) => subject === 'worked');
    await explorer.click('weight/1/0');
    await explorer.until('the cell', () => explorer.linked('pin'), (pin) => pin === 'weight.1.0');
    assert.ok(await explorer.page.evaluate(() => history.length) >= length + 6, 'the model, its text, two heads, a tab and a cell');
    // Each subject keeps its own selection.
    await explorer.click('subject/sentence');
    await explorer.untilState('the head as it was', ({ subject, layer, head }) => subject === 'sentence' && layer === 1 && head === 1);
    await explorer.page.goBack();
    await explorer.until('the cell as it was', () => explorer.linked('pin'), (pin) => pin === 'weight.1.0');
    await explorer.page.goBack();
    await explorer.until('no cell', async () => !await explorer.linked('pin'));
    await explorer.page.goBack();
    await explorer.untilState('the head before the tab', ({ subject, layer, head }) => subject === 'sentence' && layer === 1 && head === 1);
    await explorer.page.goBack();
    await explorer.untilState('the head before it', ({ layer, head }) => layer === 1 && head === 2);
    await explorer.page.goBack();
    await explorer.untilState('the first head', ({ layer, head, text }) => layer === 0 && head === 0 && text === tiny.text);
});

test('a text of 30,000 characters comes back by its link, and of a longer one the notice says so', clipboard, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const words = Array.from({ length: 4000 }, (_, i) => `word${i * 7919 % 4001}`);
    const long = words.join(' ').slice(0, 30000);
    await explorer.write(long);
    await explorer.until('its link', async () => (await explorer.state()).fragment, (fragment) => /text~=/.test(fragment));
    await explorer.page.click('#link');
    await explorer.untilNotice(/^The link is copied\. It has [\d,]+ characters; some programs cut long links\.$/);
    const link = await explorer.page.evaluate(() => navigator.clipboard.readText());
    await explorer.page.goto('about:blank');
    await explorer.page.goto(link);
    await explorer.started();
    assert.equal((await explorer.state()).text, long);
    await explorer.openModel(tiny.folder);
    await explorer.write(words.join(' ').slice(0, 33000));
    await explorer.until('a link without it', async () => (await explorer.state()).fragment, (fragment) => !/text/.test(fragment));
    await explorer.page.click('#link');
    await explorer.untilNotice(/^The link is copied\. A text of more than 32,000 characters is not in it\.$/);
});


test('a link is a document: opened again, everything is there to the last bit', clipboard, async (explorer) => {
    await explorer.choose('B', 'three-tokens');
    await explorer.type('q/0/1', '0.1');
    await explorer.until('the edit', () => explorer.matrix('q'), (rows) => rows[0][1] === Math.fround(0.1));
    await explorer.click('mask/causal');
    await explorer.until('the mask', () => explorer.linked('mask'));
    await explorer.click('output/2/0');
    await explorer.untilState('the pin', ({ pin }) => pinName(pin) === 'output/2/0');
    const [{ fragment }, output] = [await explorer.state(), await explorer.matrix('output')];

    await explorer.page.click('#link');
    await explorer.untilNotice(/^The link is copied\.$/);
    const link = await explorer.page.evaluate(() => navigator.clipboard.readText());
    await explorer.page.goto('about:blank');
    await explorer.page.goto(link);
    await explorer.started();
    const again = await explorer.state();
    assert.deepEqual([again.fragment, pinName(again.pin)], [fragment, 'output/2/0']);
    assert.deepEqual(await explorer.matrix('output'), output);
    assert.deepEqual(await explorer.notices('error'), []);
});

test('a link to numbers opens them', { fragment: 'v=1&ex=three-tokens&T=0.5&mask=causal,0&pin=weight.2.1' }, async (explorer) => {
    const q = [[1, 0], [0, 1], [1, 1]], v = [[1, 2, 3], [4, 5, 6], [7, 8, 9]];
    const { weight } = attention({ q, k: q, v, temperature: 0.5, allowed: (i, j) => j <= i });
    near(await explorer.matrix('weight'), weight, 1e-6, 'weights');
    assert.equal(pinName((await explorer.state()).pin), 'weight.2.1'.replaceAll('.', '/'));
});

const broken = {
    nonsense: '%%%=&&&=;;',
    'a version of the future': 'v=999&ex=three-tokens',
    'an unknown example': 'ex=no-such-thing',
    'numbers that are none': 'ex=three-tokens&Q=3x2:1,2,x,4,5,6',
    'a matrix too large to hold': 'ex=three-tokens&Q=100000x100000:1',
    'a cell that is not there': 'pin=weight.7.7',
};
async function defaultWithNote(explorer, name) {
    const [note] = await explorer.until(`a note about ${name}`, () => explorer.notices('info'), (all) => all.length > 0);
    assert.match(note, /^The link[^\n]+\.$/, name);
    const { subject, lens, pin } = await explorer.state();
    assert.deepEqual([subject, lens, pin], ['worked', 'ladder', undefined], name);
    const weight = await explorer.matrix('weight');
    near(weight.map((row) => row.reduce((a, b) => a + b)), weight.map(() => 1), 1e-6, `sums of rows after ${name}`);
}

test('a broken link opens what is sound in it, with a note', { fragment: 'v=1&no-such-key=1' }, async (explorer) => {
    await defaultWithNote(explorer, 'an unknown key');
    for (const [name, fragment] of Object.entries(broken)) {
        await explorer.dismiss();
        await explorer.visit(fragment);  // like an edited address
        await defaultWithNote(explorer, name);
    }
});
