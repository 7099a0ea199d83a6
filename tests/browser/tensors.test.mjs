// Tests subject Your tensors: files that users bring from Python.
import assert from 'node:assert/strict';
import { readFileSync, truncateSync } from 'node:fs';
import { tiny } from './lib/models.mjs';
import { attention, near } from './lib/numbers.mjs';
import { phone, test } from './lib/suite.mjs';
import { causalRows, npy, npyHeader, npz, safetensors, written } from './lib/tensors.mjs';

const own = { fragment: 'v=1&lens=tensors' };
const rows = causalRows(5);
const flat = rows.flat();
const words = ['The', ' cat', ' sat', ' down', '.'];
const repeated = (count) => Array.from({ length: count }, () => flat).flat();

const opened = (explorer, summary) => explorer.until(`tensors of ${summary}`, () => explorer.tensors(),
    ({ open, phase }) => phase === null && open?.summary === summary);
const asked = (explorer) => explorer.until('a question', () => explorer.tensors(), ({ questions }) => questions.length > 0);
const complete = (explorer) => explorer.idle();

// Reads the inspector's numbers for every cell of a stage.
async function cells(explorer, name, queries, keys) {
    const out = [];
    for (let q = 0; q < queries; ++q) {
        out.push(await Promise.all(Array.from({ length: keys }, async (_, k) => (await explorer.explain(name, q, k)).f32)));
    }
    return out;
}

/** @type {Record<string, [files: object, summary: string]>} */
const kinds = {
    'an .npy of float32, [n, n]': [{ 'attention.npy': npy([5, 5], flat) }, '1 head · 5 queries × 5 keys · float32'],
    'an .npy of float16, [heads, n, n]': [{ 'attention.npy': npy([2, 5, 5], repeated(2), '<f2') }, '2 heads · 5 queries × 5 keys · float16'],
    'an .npy of float64, [layers, heads, n, n]': [{ 'attention.npy': npy([3, 2, 5, 5], repeated(6), '<f8') },
        '3 layers × 2 heads · 5 queries × 5 keys · float64'],
    'an .npy of big-endian float32': [{ 'attention.npy': npy([5, 5], flat, '>f4') }, '1 head · 5 queries × 5 keys · float32'],
    'a layer a file': [{ 'attn_0.npy': npy([2, 5, 5], repeated(2)), 'attn_1.npy': npy([2, 5, 5], repeated(2)) },
        '2 layers × 2 heads · 5 queries × 5 keys · float32'],
    'an .npz': [{ 'run.npz': npz({ 'attention.npy': npy([2, 5, 5], repeated(2)), 'steps.npy': npy([1], [7]) }) }, '2 heads · 5 queries × 5 keys · float32'],
    'a .safetensors of bfloat16': [{ 'run.safetensors': safetensors({ attention: [[2, 5, 5], repeated(2)] }) }, '2 heads · 5 queries × 5 keys · bfloat16'],
    'a .csv with names': [{ 'attention.csv': [['', ...words], ...rows.map((row, q) => [words[q], ...row])].map((row) => row.join(',')).join('\n') },
        '1 head · 5 queries × 5 keys · float32'],
};

for (const [what, [files, summary]] of Object.entries(kinds)) {
    test(`${what} opens`, own, async (explorer) => {
        await explorer.drop(...written({ ...files, 'tokens.json': JSON.stringify(words) }));
        const { open } = await opened(explorer, summary);
        await complete(explorer);
        near(await cells(explorer, 'weight', 5, 5), rows, 0, 'weights');
        assert.deepEqual(open.remarks.filter((text) => !/^Left out: 'steps'/.test(text)), []);
        const why = await explorer.explain('weight', 4, 1);
        assert.equal(why.title, 'Weights[".", "·cat"]');
        assert.match(why.note, /^Stored as (big-endian )?\w+ at (byte [\d,]+ of|row 4, column 1 of the table) /);
        assert.deepEqual(await explorer.notices('error'), []);
    });
}

test('what a .zip holds opens as if it had been dropped, and one that is broken says so', own, async (explorer) => {
    const archive = npz({ 'run/attention.npy': npy([2, 5, 5], repeated(2)), 'run/tokens.json': Buffer.from(JSON.stringify(words)) });
    await explorer.drop(...written({ 'run.zip': archive }));
    await opened(explorer, '2 heads · 5 queries × 5 keys · float32');
    await complete(explorer);
    near(await cells(explorer, 'weight', 5, 5), rows, 0, 'weights');
    assert.equal((await explorer.explain('weight', 4, 1)).title, 'Weights[".", "·cat"]');
    await explorer.drop(...written({ 'broken.zip': archive.subarray(0, 100) }));
    await explorer.untilNotice(/^broken\.zip: this zip archive [^\n]+\.$/, 'error');
});

test('an invitation says what may be dropped, a link what it was made with', { fragment: 'v=1&lens=tensors&head=1&files=attention.npy' }, async (explorer) => {
    await explorer.until('what the link names', () => explorer.rect('tensors/wanted'));
    await explorer.drop(...written({ 'attention.npy': npy([2, 5, 5], repeated(2)) }));
    await opened(explorer, '2 heads · 5 queries × 5 keys · float32');
    assert.equal((await explorer.state()).head, 1);
    await explorer.click('tensors/close');
    await explorer.until('the tensors to close', () => explorer.tensors(), ({ open }) => open === null);
    await explorer.reveal('tensors/choose');
    assert.equal(await explorer.linked('files'), undefined);
});

test('files can be chosen in a dialog', own, async (explorer) => {
    const paths = written({ 'attention.npy': npy([5, 5], flat), 'tokens.txt': words.join('\n') });
    const choosing = explorer.page.waitForEvent('filechooser');
    await explorer.click('tensors/choose');
    await (await choosing).setFiles(paths);
    await opened(explorer, '1 head · 5 queries × 5 keys · float32');
    await explorer.page.click('#model');
    const again = explorer.page.waitForEvent('filechooser');
    await explorer.page.click('#open-tensors');
    await (await again).setFiles(written({ 'attention.npy': npy([3, 5, 5], repeated(3)) }));
    await opened(explorer, '3 heads · 5 queries × 5 keys · float32');
});

test('a cell explains where it lies, and a click keeps it', own, async (explorer) => {
    await explorer.drop(...written({ 'attention.npy': npy([2, 3, 5, 5], repeated(6)), 'tokens.json': JSON.stringify(words) }));
    await opened(explorer, '2 layers × 3 heads · 5 queries × 5 keys · float32');
    await complete(explorer);
    await explorer.click('head/1/2');
    await explorer.untilState('the head', ({ layer, head }) => layer === 1 && head === 2);
    await explorer.click('tensors/layer/less');
    await explorer.untilState('the layer', ({ layer }) => layer === 0);
    await explorer.click('tensors/layer/more');
    await explorer.hover('map/3/1');
    await explorer.untilState('the cell under the mouse', ({ shown }) => shown?.[1] === 3 && shown[2] === 1);
    await explorer.click('map/3/1');
    await explorer.untilState('the pin', ({ pin, query, key }) => pin?.[1] === 3 && pin[2] === 1 && query === 3 && key === 1);
    const why = await explorer.explain('weight', 3, 1);
    const at = npyHeader([2, 3, 5, 5]).length + 4 * ((1 * 3 + 2) * 25 + 3 * 5 + 1);
    assert.equal(why.note, `Stored as float32 at byte ${at.toLocaleString('en')} of attention.npy: 00 00 00 3e.`);
    assert.equal(why.provenance, 'layer 1, head 2 · loaded from attention.npy');
    assert.match((await explorer.state()).fragment, /subject=tensors&files=attention\.npy,tokens\.json&layer=1&head=2&query=3&key=1&pin=weight\.3\.1$/);
    await explorer.page.click('#table');
    assert.match(await explorer.page.innerText('#table-title'), /^Weights of attention\.npy, layer 1, head 2$/);
});

// Seven queries, nine keys, d = 4.
const grid = (r, c, seed) => Array.from({ length: r }, (_, i) => Array.from({ length: c }, (__, j) => Math.fround(Math.sin(seed + 3 * i + 7 * j))));
const [q, k, v] = [grid(7, 4, 1), grid(9, 4, 2), grid(9, 3, 3)];

test('Q and K become weights under a rule that is chosen', own, async (explorer) => {
    await explorer.drop(...written({ 'q.npy': npy([7, 4], q.flat()), 'k.npy': npy([9, 4], k.flat()), 'v.npy': npy([9, 3], v.flat()) }));
    await opened(explorer, '1 head · 7 queries × 9 keys · d_k 4 · float32');
    await complete(explorer);
    near(await cells(explorer, 'weight', 7, 9), attention({ q, k }).weight, 1e-6, 'weights');
    await explorer.click('tensors/causal/yes');
    await explorer.until('the rule', () => explorer.linked('rule'), (rule) => rule === 'causal');
    await complete(explorer);
    near(await cells(explorer, 'weight', 7, 9), attention({ q, k, allowed: (i, j) => j <= i }).weight, 1e-6, 'causal');
    await explorer.click('tensors/causal/with a past');
    await explorer.click('tensors/scale/none');
    await explorer.until('the rule', () => explorer.linked('rule'), (rule) => rule === 'past,unscaled');
    await complete(explorer);
    near(await cells(explorer, 'weight', 7, 9), attention({ q, k, scale: 1, allowed: (i, j) => j <= i + 2 }).weight, 1e-6, 'with a past');
    await explorer.page.click('#undo');
    await explorer.page.click('#undo');
    await explorer.page.click('#undo');
    await explorer.until('the rule', () => explorer.linked('rule'), (rule) => rule === undefined);
    await complete(explorer);
    near(await cells(explorer, 'weight', 7, 9), attention({ q, k }).weight, 1e-6, 'undone');
    const why = await explorer.explain('raw', 6, 8);
    assert.equal(why.operands.length, 4);
    assert.match(why.note, /^Q\[6, ·\] begins at byte 224 of q\.npy, K\[8, ·\] at byte 256 of k\.npy\.$/);
});

test('what names and shapes leave open is asked, and answered by mouse', own, async (explorer) => {
    // Two heads, or two queries of two keys; then which entry of a batch.
    await explorer.drop(...written({ 'attention.npy': npy([2, 2, 3], [0.5, 0.25, 0.25, 1, 0, 0, 0.25, 0.5, 0.25, 0, 1, 0]) }));
    const { questions: [{ id, text, choices }] } = await asked(explorer);
    assert.match(text, /which axis are the heads\?$/);
    assert.deepEqual(choices.map(([answer]) => answer), ['first', 'last']);
    await explorer.click(`ask/${id}/first`);
    await opened(explorer, '2 heads · 2 queries × 3 keys · float32');
    near(await cells(explorer, 'weight', 2, 3), [[0.5, 0.25, 0.25], [1, 0, 0]], 0, 'the first head');
    await explorer.click('tensors/again');
    await asked(explorer);
    await explorer.settled();  // the question moves the content below it
    await explorer.click('ask/cancel');
    await explorer.until('the question to go', () => explorer.tensors(), ({ phase }) => phase === null);
    await opened(explorer, '2 heads · 2 queries × 3 keys · float32');

    const many = Array.from({ length: 40 }, (_, i) => (i === 17 ? flat : flat.map((w) => w / 2))).flat();
    await explorer.drop(...written({ 'attentions.npy': npy([1, 40, 1, 5, 5], many) }));
    const second = await asked(explorer);
    assert.match(second.questions[0].text, /which of the 40/);
    for (let i = 0; i < 17; ++i) {
        await explorer.click(`ask/${second.questions[0].id}/more`);
    }
    await explorer.click(`ask/${second.questions[0].id}/take`);
    await opened(explorer, '1 head · 5 queries × 5 keys · float32 · number 17 of 40 along axis 1');
    near(await cells(explorer, 'weight', 5, 5), rows, 0, 'the 17th of the batch');
});

test('files come one after another', own, async (explorer) => {
    await explorer.drop(...written({ 'q.npy': npy([7, 4], q.flat()) }));
    await explorer.untilNotice(/K is missing/, 'error');
    await explorer.until('what waits', () => explorer.rect('tensors/waiting'));
    await explorer.drop(...written({ 'k.npy': npy([9, 4], k.flat()) }));
    await opened(explorer, '1 head · 7 queries × 9 keys · d_k 4 · float32');
    await explorer.drop(...written({ 'tokens.txt': Array.from({ length: 9 }, (_, i) => `t${i}`).join('\n') }));
    await explorer.until('the tokens', () => explorer.explain('weight', 0, 8), (why) => why?.title === 'Weights["0", "t8"]');
});

// One sentence, short enough to be read.
function isSentence(text) {
    assert.match(text, /^[^\n]{10,250}\.$/);
    assert.doesNotMatch(text, /[.?!] [A-Z]/);
}

const changed = (bytes) => {
    bytes[bytes.length - 130] ^= 1;
    return bytes;
};
const refused = {
    'a wrong rank': [{ 'attention.npy': npy([5], [1, 0, 0, 0, 0]) }, /no matrix/],
    'a wrong type': [{ 'attention.npy': npy([2, 2], [1, 0, 0, 1], '<i4') }, /int32/],
    'a file that is cut short': [{ 'attention.npy': npy([5, 5], flat).subarray(0, -4) }, /cut short/],
    'a file of something else': [{ 'attention.npy': '<html>Not found</html>' }, /not a \.npy file/],
    'Q and K of other sizes': [{ 'q.npy': npy([7, 4], q.flat()), 'k.npy': npy([12, 3], k.flat()) }, /as many components/],
    'a zip that lies of its bytes': [{ 'run.npz': changed(npz({ 'attention.npy': npy([5, 5], flat) })) }, /CRC-32/],
    'a zip that lies of its sizes': [{ 'run.npz': readFileSync(new URL('../golden/io/npz/lie_bomb.npz', import.meta.url)) }, /more than deflate/],
    'a table of unequal rows': [{ 'weights.csv': '1,2\n3\n' }, /weights\.csv/],
    'tokens that are no list': [{ 'tokens.json': '{}' }, /list of tokens/],
};

test('files that cannot be used are one sentence each, and what was open stays', own, async (explorer) => {
    await explorer.drop(...written({ 'attention.npy': npy([2, 5, 5], repeated(2)) }));
    await opened(explorer, '2 heads · 5 queries × 5 keys · float32');
    await complete(explorer);
    await explorer.click('map/4/2');
    const before = await explorer.untilState('the pin', ({ pin }) => pin);
    for (const [name, [files, says]] of Object.entries(refused)) {
        await explorer.drop(...written(files));
        isSentence(await explorer.untilNotice(says, 'error'));
        const now = await explorer.state();
        // Wherever the mouse is by now.
        assert.deepEqual({ ...now, shown: null }, { ...before, shown: null }, name);
        assert.equal((await explorer.tensors()).open.summary, '2 heads · 5 queries × 5 keys · float32', name);
        await explorer.dismiss();
        if (await explorer.rect('tensors/forget')) {
            await explorer.click('tensors/forget');
        }
    }
    near(await cells(explorer, 'weight', 5, 5), rows, 0, 'weights');
});

// The file holds zeros, which are not written to disk.
function largeFile(name, shape) {
    const [path] = written({ [name]: npyHeader(shape) });
    truncateSync(path, npyHeader(shape).length + 4 * shape.reduce((product, size) => product * size));
    return path;
}

test('what a tab or its memory cannot hold is said, and what was open stays', own, async (explorer) => {
    await explorer.drop(...written({ 'attention.npy': npy([5, 5], flat) }));
    await opened(explorer, '1 head · 5 queries × 5 keys · float32');
    await explorer.drop(largeFile('attention.npy', [600, 1024, 1024]));
    isSentence(await explorer.untilNotice(/^attention\.npy is 2\.5 GB; a browser tab can hold tensors of up to 1\.7 GB/, 'error'));
    await explorer.dismiss();
    await explorer.page.evaluate(() => {
        WebAssembly.Memory.prototype.grow = () => { throw new RangeError('there is no more memory'); };
    });
    await explorer.drop(largeFile('attention.npy', [80, 1024, 1024]));
    isSentence(await explorer.untilNotice(/^There is no memory left for attention\.npy \(336 MB\)/, 'error'));
    assert.equal((await explorer.tensors()).open.summary, '1 head · 5 queries × 5 keys · float32');
    near(await cells(explorer, 'weight', 5, 5), rows, 0, 'weights');
});

test('odd numbers are shown as they are, and said beside the picture', own, async (explorer) => {
    const odd = [NaN, 0, 0.5, 0.25, 0, 0, 0.5, 0.5, 0];
    await explorer.drop(...written({ 'attention.npy': npy([3, 3], odd), 'tokens.json': JSON.stringify(['a', 'b']) }));
    await opened(explorer, '1 head · 3 queries × 3 keys · float32');
    await complete(explorer);
    const { open: { remarks } } = await explorer.tensors();
    assert.equal(remarks.length, 3);
    assert.match(remarks[0], /^tokens\.json has 2 tokens where there are 3 queries and 3 keys; positions are shown instead\.$/);
    assert.match(remarks[1], /^attention\.npy: 1 of 9 numbers is NaN, the first at row 0, column 0; shown as NaN\.$/);
    assert.match(remarks[2], /^attention\.npy: 1 of 3 rows does not sum to 1, .* which sums to 0\.25; shown as they are\.$/);
    await explorer.until('the remarks', () => explorer.rect('remark/2'));
    assert.equal((await explorer.explain('weight', 0, 0)).f32, 'nan');
    assert.equal((await explorer.explain('weight', 1, 0)).f32, 0.25);
});

test('a model opens beside tensors, and both keep their place', own, async (explorer) => {
    await explorer.drop(...written({ 'attention.npy': npy([7, 9, 5, 5], repeated(63)) }));
    await opened(explorer, '7 layers × 9 heads · 5 queries × 5 keys · float32');
    await complete(explorer);
    await explorer.click('head/6/7');
    await explorer.openModel(tiny.folder, tiny.text);
    near(await explorer.attention(1, 2), tiny.attention[1][2], 1e-4, 'the model');
    await explorer.click('subject/tensors');
    await explorer.untilState('the tensors', ({ subject }) => subject === 'tensors');
    near(await cells(explorer, 'weight', 5, 5), rows, 0, 'weights');
    // Part of a model is not a tensor of the user's own.
    await explorer.drop(`${tiny.folder}/model.safetensors`);
    await explorer.untilNotice(/^model\.safetensors is here; still needed/, 'pending');
});

test('on a phone the map, the heads and the rule can be reached', { ...own, context: phone }, async (explorer) => {
    const choosing = explorer.page.waitForEvent('filechooser');
    await explorer.tap('tensors/choose');
    await (await choosing).setFiles(written({ 'attention.npy': npy([2, 3, 5, 5], repeated(6)) }));
    await opened(explorer, '2 layers × 3 heads · 5 queries × 5 keys · float32');
    await complete(explorer);
    await explorer.tap('settings');
    await explorer.tap('tensors/head/more');
    await explorer.untilState('the next head', ({ head }) => head === 1);
});

test('places of a map are kept, and come back with their head', own, async (explorer) => {
    const n = 30, one = causalRows(n).flat();
    await explorer.drop(...written({ 'attention.npy': npy([2, 3, n, n], Array.from({ length: 6 }, () => one).flat()) }));
    await opened(explorer, `2 layers × 3 heads · ${n} queries × ${n} keys · float32`);
    await complete(explorer);
    await explorer.click('tensors/head/more');
    await explorer.click('tensors/head/more');
    await explorer.untilState('head 2', ({ head }) => head === 2);
    await explorer.wheel('map', 7);
    await explorer.until('the larger cells', () => explorer.rect('map/0/0'), (rect) => !rect);
    await explorer.click('places/keep');
    const marks = await explorer.until('the place', () => explorer.linked('marks'));
    const [, layer, head, first, last] = /^(\d)\.(\d)\.(\d+)-(\d+)\.\d+-\d+$/.exec(marks).map(Number);
    assert.deepEqual([layer, head], [0, 2]);
    assert.ok(last - first < n - 1, marks);

    await explorer.wheel('map', -20);
    await explorer.until('the whole map', () => explorer.rect('map/0/0'));
    await explorer.click('tensors/head/less');
    await explorer.untilState('head 1', (state) => state.head === 1);
    await explorer.click('places/0');
    await explorer.untilState('its head', (state) => state.head === 2);
    await explorer.until('its part', () => explorer.rect('map/0/0'), (rect) => !rect);
    await explorer.click('places/0/remove');
    await explorer.until('none', () => explorer.linked('marks'), (kept) => kept === undefined);
});
