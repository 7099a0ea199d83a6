// Tests the tutorials' examples with their exact values (rounded to six decimals), generated numbers,
// pasting, copying.
import assert from 'node:assert/strict';
import { pinName } from './lib/explorer.mjs';
import { attention, near } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';

const printed = 6e-7;  // six decimals, and a little for f32

const examples = [
    ['B', 'three-tokens', {
        scaled: [[0.707107, 0, 0.707107], [0, 0.707107, 0.707107], [0.707107, 0.707107, 1.414214]],
        weight: [[0.401112, 0.197776, 0.401112], [0.197776, 0.401112, 0.401112], [0.248255, 0.248255, 0.503490]],
        output: [[4, 5, 6], [4.610009, 5.610009, 6.610009], [4.765704, 5.765704, 6.765704]],
    }],
    ['C1', 'hello-query', {
        scaled: [[-0.017321, -0.010970]], weight: [[0.498412, 0.501588]], output: [[0.144984, 0.110032, 0.189968]],
    }],
    ['C2', 'hello-scores', { weight: [[0.549834, 0.450166], [0.450166, 0.549834]] }],
    ['D', 'causal-row', { masked: [[0.5, 0.8, 0.3, -Infinity]], weight: [[0.315598, 0.426013, 0.258390, 0]] }],
    ['E', 'saturation', { weight: [[1, 0, 0, 0], [0.599021, 0.133660, 0.133660, 0.133660]] }],
    ['F', 'information-flow', {
        weight: [[0.463963, 0.281408, 0.254629], [0.266390, 0.439203, 0.294407], [0.241514, 0.398189, 0.360297]],
    }],
    ['A', undefined, {
        raw: [[1.93, 1.09, 1.08], [1.09, 1.07, 0.55], [1.08, 0.55, 0.98]],
        weight: [[0.432747, 0.284335, 0.282917], [0.363183, 0.359570, 0.277247], [0.367859, 0.282223, 0.349918]],
        output: [[0.687798, 0.528859, 0.313025, 0.544807], [0.637402, 0.560654, 0.302666, 0.517549], [0.662476, 0.507914, 0.346737, 0.512152]],
    }],
];

test('every example of the tutorials shows its exact values', async (explorer) => {
    for (const [letter, key, stages] of examples) {
        await explorer.choose(letter, key);
        for (const [stage, values] of Object.entries(stages)) {
            near(await explorer.matrix(stage), values, printed, `${letter} ${stage}`);
        }
    }
});

// numpy.random.seed(42); numpy.random.randn(4, 8) begins with these numbers.
const seed42 = [0.4967141530112327, -0.13826430117118466, 0.6476885381006925, 1.5230298564080254,
    -0.23415337472333597, -0.23413695694918055, 1.5792128155073915, 0.7674347291529088];

test('seeded numbers are the ones that NumPy gives', async (explorer) => {
    await explorer.choose('G', 'seeded-normal');
    near((await explorer.matrix('q'))[0], seed42, 1e-7, 'the first query');
    await explorer.click('generate');
    await explorer.until('the next seed', () => explorer.matrix('q'), (rows) => Math.abs(rows[0][0] - seed42[0]) > 0.01);
    const [q, k, v] = await Promise.all(['q', 'k', 'v'].map((name) => explorer.matrix(name)));
    near(await explorer.matrix('output'), attention({ q, k, v }).output, 2e-6, 'output');
    assert.match((await explorer.explain('q', 0, 0)).provenance, /seed\(43\)/);
});

async function paste(explorer, text) {
    await explorer.page.evaluate((copied) => navigator.clipboard.writeText(copied), text);
    await explorer.press('Control+V');
}

const clipboard = { context: { permissions: ['clipboard-read', 'clipboard-write'] } };

test('a block of a spreadsheet goes into Q and makes room for itself', clipboard, async (explorer) => {
    await explorer.choose('B', 'three-tokens');
    await explorer.click('q/1/0');
    await explorer.untilState('the cell to be pinned', ({ pin }) => pinName(pin) === 'q/1/0');
    await paste(explorer, '0.5\t-1\t2\r\n1e-1\t3\t-0.25\r\n4\t5\t6\r\n');
    const q = [[1, 0, 0], [0.5, -1, 2], [0.1, 3, -0.25], [4, 5, 6]];
    near(await explorer.until('the block', () => explorer.matrix('q'), (rows) => rows.length === 4), q, 1e-7, 'Q');
    const k = [[1, 0, 0], [0, 1, 0], [1, 1, 0]], v = [[1, 2, 3], [4, 5, 6], [7, 8, 9]];
    near(await explorer.matrix('output'), attention({ q, k, v }).output, 3e-6, 'output');
    await explorer.press('Control+Z');
    await explorer.until('the block to go', () => explorer.matrix('q'), (rows) => rows.length === 3);
});

test('a block that is none is one sentence, and nothing changes', clipboard, async (explorer) => {
    const before = await explorer.matrix('x');
    await paste(explorer, '1 2\n3 4');
    await explorer.untilNotice(/^To paste numbers, first click the cell/, 'error');
    await explorer.click('x/0/0');
    await explorer.untilState('the cell to be pinned', ({ pin }) => pinName(pin) === 'x/0/0');
    await paste(explorer, '1\t2\n3\tfour');
    await explorer.untilNotice(/^'four' in row 2 of the pasted text is not a number\.$/, 'error');
    await paste(explorer, Array.from({ length: 65 }, () => '1').join('\n'));
    await explorer.untilNotice(/65/, 'error');
    await explorer.click('weight/0/0');
    await explorer.untilState('the cell to be pinned', ({ pin }) => pinName(pin) === 'weight/0/0');
    await paste(explorer, '1');
    await explorer.untilNotice(/is computed here; paste into one of the inputs\.$/, 'error');
    assert.deepEqual(await explorer.matrix('x'), before);
});

test('the pinned matrix can be copied, and read as a table', clipboard, async (explorer) => {
    const weight = await explorer.matrix('weight');
    await explorer.click('weight/0/0');
    await explorer.untilState('the cell to be pinned', ({ pin }) => pinName(pin) === 'weight/0/0');
    await explorer.press('Control+C');
    await explorer.untilNotice(/^Copied\.$/);
    const copied = await explorer.page.evaluate(() => navigator.clipboard.readText());
    near(copied.trim().split(/\r?\n/).map((line) => line.split('\t').map(Number)), weight, 1e-8, 'what was copied');
    // If the target accepts a table, the names are copied, too.
    const named = await explorer.page.evaluate(async () => {
        const html = await (await (await navigator.clipboard.read())[0].getType('text/html')).text();
        return [...new DOMParser().parseFromString(html, 'text/html').querySelectorAll('tr')].map((row) => [...row.cells].map((cell) => cell.textContent));
    });
    assert.deepEqual(named.map(([name]) => name), ['', 'cat', 'sat', 'mat']);
    assert.deepEqual(named[0].slice(1), ['cat', 'sat', 'mat']);
    near(named.slice(1).map(([, ...row]) => row.map(Number)), weight, 1e-8, 'what was copied with names');

    await explorer.page.click('#table');
    const rows = await explorer.page.$$eval('#table-view tbody tr', (all) => all.map((row) => [...row.querySelectorAll('td')].map((td) => Number(td.textContent))));
    near(rows, weight, 5e-7, 'the table');
    assert.deepEqual(await explorer.page.$$eval('#table-view tbody th', (all) => all.map((th) => th.textContent)), ['cat', 'sat', 'mat']);
    await explorer.press('Escape');
});
