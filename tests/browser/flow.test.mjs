// Tests the flow: its forms, heads side by side, and what its edges say.
import assert from 'node:assert/strict';
import { pinName } from './lib/explorer.mjs';
import { edgesFrom, heaviest } from './lib/flow.mjs';
import { tiny } from './lib/models.mjs';
import { attention, near } from './lib/numbers.mjs';
import { phone, test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

const bound = 1e-4;  // attention of an f32 run against float64
const last = tiny.ids.length - 1;

// Pixels of the flow that differ from its background.
async function inked(explorer) {
    const { left, top, right } = await explorer.until('the flow', () => explorer.rect('flow'));
    const token = await explorer.rect('token/0');
    const picture = await explorer.picture();
    const canvas = await explorer.page.locator('#canvas').boundingBox();
    const scale = picture.width / canvas.width;
    const at = (x, y) => picture.pixels.readUIntBE((Math.round(y * scale) * picture.width + Math.round(x * scale)) * picture.channels, 3);
    const ground = at(left - canvas.x + 2, top - canvas.y + 1);
    let count = 0;
    for (let y = top - canvas.y + 1; y < token.top - canvas.y - 2; ++y) {
        for (let x = left - canvas.x; x < right - canvas.x; ++x) {
            count += Number(at(x, y) !== ground);
        }
    }
    return count;
}

test('a word shows the fewest edges that make up the share, in either form', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click(`token/${last}`);
    await explorer.untilState('the word', ({ query }) => query === last);
    const row = tiny.attention[0][0][last];
    for (const form of ['arcs', 'columns']) {
        await explorer.click(`flow/form/${form}`);
        await explorer.until(form, () => explorer.linked('flow'), (flow) => (flow ?? '0.8') === (form === 'arcs' ? '0.8' : '0.8,columns'));
        assert.deepEqual(await edgesFrom(explorer, last), heaviest(row, 0.8).sort((a, b) => a - b), form);
    }
});

test('the slider draws more edges or none, without a new run', { fine: true }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    // The address follows the typed text after a pause.
    await explorer.until('the text in the address', () => explorer.page.evaluate(() => location.hash), (hash) => hash.includes('text='));
    const at = async (share) => {
        await explorer.page.evaluate((flow) => { location.hash = location.hash.replace(/&flow=[^&]*/, '') + `&flow=${flow}`; }, share);
        await explorer.until('the share', () => explorer.linked('flow'), (flow) => flow === String(share));
        return inked(explorer);
    };
    const none = await at(0), some = await at(0.5), all = await at(1);
    assert.equal(none, 0, 'a share of nothing draws nothing');
    assert.ok(some > 500, `half of each row draws ${some} pixels`);
    assert.ok(all > some, `${all} pixels are not more than ${some}`);
    const { left, right } = await explorer.reveal('flow/mass');
    await explorer.drag('flow/mass', (left - right) / 2 - 4);
    await explorer.until('a smaller share', () => explorer.linked('flow'), (flow) => flow?.startsWith('0'));
});

test('an edge says what it is, and a click pins its cell', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    for (const form of ['arcs', 'columns']) {
        await explorer.click(`flow/form/${form}`);
        await explorer.until(form, () => explorer.rect(form === 'arcs' ? 'token/5' : 'flow/key/5'));
        await explorer.click('token/5');
        await explorer.untilState('the word', ({ query }) => query === 5);
        const key = heaviest(tiny.attention[0][0][5], 0.8).find((k) => k !== 5);
        await explorer.hover(`flow/edge/5/${key}`);
        const { shown } = await explorer.untilState('its weight', ({ shown: at }) => pinName(at) === `weight/5/${key}`);
        near([(await explorer.explained(...shown)).f32], [tiny.attention[0][0][5][key]], bound, 'the weight');
        await explorer.click(`flow/edge/5/${key}`);
        await explorer.untilState('the pin', ({ pin }) => pinName(pin) === `weight/5/${key}`);
        await explorer.press('Escape');
        await explorer.click('token/5');
        await explorer.untilState('no word', ({ query }) => query === undefined);
    }
});

test('in columns a key shows who looks at it', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('flow/form/columns');
    await explorer.click('flow/key/2');
    await explorer.untilState('the key', ({ key, query }) => key === 2 && query === undefined);
    await explorer.settled();
    const names = Object.keys(await explorer.landmarks()).filter((name) => /^flow\/edge\/\d+\/2$/.test(name));
    const lookers = tiny.attention[0][0].flatMap((row, q) => (q >= 2 && heaviest(row.slice(0, q + 1), 0.8).includes(2) ? [`flow/edge/${q}/2`] : []));
    assert.deepEqual(names.sort(), lookers.sort());
});

test('a head is kept beside others, chosen by its chip, and let go; the link brings them back', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('flow/keep');
    await explorer.click('head/1/2');
    await explorer.until('both', () => explorer.rect('flow/head/1/2'));
    assert.equal(await explorer.linked('flow'), '0.8,0.0');
    await explorer.click('flow/keep');
    await explorer.until('both kept', () => explorer.linked('flow'), (flow) => flow === '0.8,0.0,1.2');
    await explorer.click('flow/head/0/0');
    await explorer.untilState('the first head', ({ layer, head }) => layer === 0 && head === 0);
    const { fragment } = await explorer.state();
    await explorer.click('flow/head/0/0/off');
    await explorer.until('one kept', () => explorer.linked('flow'), (flow) => flow === '0.8,1.2');
    await explorer.page.click('#undo');
    await explorer.until('both again', () => explorer.linked('flow'), (flow) => flow === '0.8,0.0,1.2');
    await explorer.visit(fragment.replace('0.8,0.0,1.2', '0.5,columns,1.1'));
    await explorer.until('the head of the link', () => explorer.rect('flow/head/1/1'));
});

const longText = (words) => `${tiny.text} ${tiny.text}`.split(' ').slice(0, words).join(' ');

test('more words than fit are shown by the wheel, and a double click shows them large again',
    { context: { viewport: { width: 900, height: 800 } } }, async (explorer) => {
        await explorer.openModel(tiny.folder, longText(tiny.context));
        const words = async () => Object.entries(await explorer.landmarks()).filter(([name]) => /^token\/\d+$/.test(name))
            .map(([name, [left, , right]]) => ({ index: Number(name.slice(6)), left, right })).sort((a, b) => a.index - b.index);
        // At their size, words are side by side, each visible one.
        const large = (shown) => shown.length > 1 && shown.slice(1).every(({ index, left }, i) => index === shown[i].index + 1 && Math.abs(left - shown[i].right - 4) < 0.5);
        const before = await explorer.until('the words at their size', words, large);
        assert.ok(before.length < tiny.context, 'they do not fit');
        await explorer.wheel('flow', -8);
        await explorer.until('fewer of them, from first to last', words, (shown) => shown.length > 1 && !large(shown)
            && shown[0].left < before[0].left + 40 && shown.at(-1).index > before.at(-1).index);
        await explorer.click('flow/in');
        // On the words: on an edge, the click would pin it, and the lens would go to its cell.
        const { x, bottom } = await explorer.rect('flow');
        await explorer.page.mouse.move(x, bottom - 25);
        await explorer.settled();
        await explorer.page.mouse.dblclick(x, bottom - 25);
        await explorer.until('the words at their size again', words, large);
    });

test('another text is shown from its beginning, and a chosen word wherever it is',
    { context: { viewport: { width: 900, height: 800 } } }, async (explorer) => {
        await explorer.openModel(tiny.folder, longText(tiny.context));
        const { right } = await explorer.until('the line of words', () => explorer.rect('flow'));
        const first = () => explorer.rect('token/0');
        await explorer.until('its first word', first);
        await explorer.drag('flow', 40 - right, 0.9);
        await explorer.until('the first word out of view', first, (shown) => !shown);
        await explorer.write(longText(tiny.context - 2));
        await explorer.until('the first word of the other text', first);
        await explorer.visit(`${(await explorer.state()).fragment}&query=${tiny.context - 3}`);
        await explorer.until('the chosen word', () => explorer.rect(`token/${tiny.context - 3}`));
    });

test('a tap on a phone shows a word in both forms', { context: phone },
    async (explorer) => {
        await explorer.openModel(tiny.folder, tiny.text);
        await explorer.tap('token/2');
        await explorer.untilState('the word', ({ query }) => query === 2);
        await explorer.tap('flow/form/columns');
        await explorer.until('the columns', () => explorer.rect('flow/key/1'));
        await explorer.tap('flow/key/1');
        await explorer.untilState('the key', ({ key }) => key === 1);
    });

// ---- A user's own tensors ---------------------------------------------------------------------------------

const own = { fragment: 'v=1&lens=tensors' };
async function complete(explorer, what) {
    await explorer.until(what, () => explorer.tensors(), ({ open, phase }) => phase === null && open);
    await explorer.idle();
}

test('finished weights have a flow of arcs, of several heads, and the link keeps it', own, async (explorer) => {
    const { length: n } = tiny.ids, [layers, heads] = [tiny.attention.length, tiny.attention[0].length];
    await explorer.drop(...written({ 'attention.npy': npy([layers, heads, n, n], tiny.attention.flat(3)), 'tokens.json': JSON.stringify(tiny.text.split(' ')) }));
    await complete(explorer, 'the weights');
    await explorer.click(`token/${last}`);
    await explorer.untilState('the word', ({ query }) => query === last);
    const row = tiny.attention[0][0][last];
    assert.deepEqual(await edgesFrom(explorer, last), heaviest(row, 0.8).sort((a, b) => a - b));
    await explorer.click('flow/keep');
    await explorer.click('head/1/2');
    await explorer.until('both', () => explorer.rect('flow/head/1/2'));
    assert.equal(await explorer.linked('edges'), '0.8,0.0');
    assert.equal(await explorer.linked('flow'), undefined);
    const key = heaviest(tiny.attention[1][2][last], 0.8)[0];
    await explorer.hover(`flow/edge/${last}/${key}`);
    const { shown } = await explorer.untilState('its weight', ({ shown: at }) => at?.[1] === last);
    near([(await explorer.explained(...shown)).f32], [tiny.attention[1][2][last][shown[2]]], bound, 'the weight');
    assert.equal((await explorer.saved('flow/save', 'SVG')).suggestedFilename(), 'flow.svg');
});

test('queries and keys of other numbers stand in two columns', own, async (explorer) => {
    const grid = (rows, seed) => Array.from({ length: rows }, (_, i) => Array.from({ length: 4 }, (__, j) => Math.fround(2 * Math.sin(seed + 3 * i + 7 * j))));
    const [q, k] = [grid(5, 1), grid(9, 2)];
    await explorer.drop(...written({ 'q.npy': npy([5, 4], q.flat()), 'k.npy': npy([9, 4], k.flat()) }));
    await complete(explorer, 'the attention');
    const { weight } = attention({ q, k });
    await explorer.click('token/3');
    await explorer.untilState('the query', ({ query }) => query === 3);
    assert.deepEqual(await edgesFrom(explorer, 3), heaviest(weight[3], 0.8).sort((a, b) => a - b));
    await explorer.click('token/3');
    await explorer.untilState('no query', ({ query }) => query === undefined);
    await explorer.click('flow/key/7');
    await explorer.untilState('the key', ({ key }) => key === 7);
    await explorer.settled();
    const names = Object.keys(await explorer.landmarks()).filter((name) => /^flow\/edge\/\d+\/7$/.test(name));
    assert.deepEqual(names.sort(), weight.flatMap((row, i) => (heaviest(row, 0.8).includes(7) ? [`flow/edge/${i}/7`] : [])).sort());
    await explorer.click('flow/form/arcs');
    await explorer.settled();
    assert.equal(await explorer.linked('edges'), undefined, 'arcs cannot be chosen');
    await explorer.until('the columns', () => explorer.rect('flow/key/7'));
});
