// Tests Cache: bytes and operations against the model's shape, what the policies keep and lose against golden
// weights, and the results of the presets in the bundled model.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { bundled } from './lib/bundled.mjs';
import { published, tiny } from './lib/models.mjs';
import { near as allNear } from './lib/numbers.mjs';
import { skip, test } from './lib/suite.mjs';

const own = { bytes: 0, against: 1, operations: 2, recomputed: 3, divergence: 5, loss: 6, lost: 7, variant: 100, heads: 1000, key: 10_000_000, weight: 30_000_000 };
const near = (actual, expected, tolerance, what) => allNear([actual], [expected], tolerance, what);
const sum = (list) => list.reduce((all, each) => all + each, 0);
const told = (explorer, row, column) => explorer.explain('number', row, column);

async function press(explorer, name) {
    await explorer.reveal(name);
    await explorer.settled();
    await explorer.click(name);
}

async function open(explorer, folder = tiny.folder, text = tiny.text) {
    await explorer.openModel(folder, text);
    await explorer.dismiss();
    await explorer.click('lens/cache');
    await explorer.untilState('the lens', ({ lens }) => lens === 'cache');
    await explorer.settled();
}

// Settings that a link leaves out.
const usual = { policy: 'heavy_hitters' };

// Opens the lens with these settings, which a link holds.
async function set(explorer, settings) {
    const { fragment } = await explorer.state(), keys = Object.keys(settings).map((key) => `cache.${key}`);
    const others = fragment.split('&').filter((part) => !keys.includes(part.split('=')[0]));
    await explorer.visit([...others, ...Object.entries(settings).map(([key, value]) => `cache.${key}=${value}`)].join('&'));
    for (const [key, value] of Object.entries(settings)) {
        await explorer.until(`${key} of the link`, () => explorer.linked(`cache.${key}`), (now) => (now ?? usual[key]) === String(value));
    }
    await explorer.settled();
}

test('Cache: a cell compares another cache, and bytes and operations are those of the model\'s shape', async (explorer) => {
    await open(explorer);
    const { n_layer: layers, n_head: heads, n_embd: d, vocab_size: vocabulary } = JSON.parse(readFileSync(`${tiny.folder}/config.json`, 'utf8'));
    const n = tiny.ids.length, bytes = (tokens) => layers * 2 * d * tokens * 4;
    // For GPT-2: W_Q, W_K, W_V and W_O, and an MLP of four times the width.
    const operations = (from, to) => {
        let all = 2 * vocabulary * d;
        for (let token = from; token < to; ++token) {
            all += layers * (2 * 12 * d * d + 4 * d * (token + 1));
        }
        return all;
    };
    near((await told(explorer, own.bytes, n)).f64, bytes(n), 0, 'the bytes of the cache');
    near((await told(explorer, own.operations, 0)).f64, operations(0, n), 0, 'the operations of the prompt');
    near((await told(explorer, own.operations, 1)).f64, operations(n, n + 1), 0, 'those of the first step');
    near((await told(explorer, own.recomputed, 1)).f64, operations(0, n + 1), 0, 'those without a cache');
    assert.match((await explorer.state()).spoken, new RegExp(`^Because .+ of keys and values are kept, a token takes at most .+\\. Reading ${n} tokens takes .+\\. Without the cache, .+\\.$`));
    // Follows the suggestion in the first line.
    await press(explorer, 'cache/variant/1/1');
    await explorer.until('the bits', () => explorer.linked('cache.against'), (bits) => bits === '16');
    assert.equal(await explorer.linked('cache.kv_heads'), '1');
    near((await told(explorer, own.against, n)).f64, bytes(n) / heads / 2, 0, 'one shared head in 16 bits');
    const { fragment, spoken } = await explorer.state();
    await explorer.press('Control+Z');
    await explorer.until('the cache before', () => explorer.linked('cache.against'), (bits) => bits === undefined);
    await explorer.visit(fragment);
    await explorer.until('the link', () => explorer.linked('cache.against'), (bits) => bits === '16');
    await explorer.settled();
    assert.equal((await explorer.state()).spoken, spoken, 'the link opens it as it was');
    await press(explorer, 'cache/measure');
    await explorer.until('the time', () => explorer.found('cache/measured'));
    assert.deepEqual(await explorer.notices('error'), []);
});

// The golden weight that a query loses if only the newest keys are kept, and the first ones with them.
const lostBy = (row, query, budget, sinks) => sum(row.filter((_, key) => key >= sinks && key <= query - (budget - sinks)));

async function loses(explorer, attention, n, settings, tolerance) {
    const prompt = 3, budget = 4;
    for (const [policy, sinks] of [['window', 0], ['sinks', 2]]) {
        await set(explorer, { ...settings, part: 'eviction', prompt, budget, policy, sinks });
        for (const [layer, heads] of attention.entries()) {
            for (const [head, rows] of heads.entries()) {
                const lost = rows.slice(prompt, n).map((row, i) => lostBy(row, prompt + i, budget, sinks));
                near((await told(explorer, own.heads + layer, head)).f64, sum(lost) / lost.length, tolerance, `${policy}: layer ${layer}, head ${head}`);
            }
        }
    }
}

test('Cache: policies lose what golden weights say, step by step; Play walks through them', async (explorer) => {
    await open(explorer);
    const n = tiny.ids.length;
    await loses(explorer, tiny.attention, n, {}, 2e-5);
    // With room for all, nothing is lost and nothing changes.
    await set(explorer, { policy: 'heavy_hitters', budget: n, prompt: 1 });
    near((await told(explorer, own.lost, n - 1)).f64, 0, 0, 'the weight lost');
    near((await told(explorer, own.divergence, n - 1)).f64, 0, 1e-6, 'the divergence');
    await set(explorer, { budget: 3 });
    assert.match((await explorer.state()).spoken, /^With at most 3 keys, heavy hitters and the newest, layer \d · head \d loses [\d.]+ % of its weight\. /);
    // After eviction, a row is a softmax over its remaining keys.
    const { layer, head } = await explorer.state(), query = n - 1;
    const row = await Promise.all(tiny.ids.map((_, key) => told(explorer, own.weight + query, key)));
    near(sum(row.map(({ f64 }) => f64)), 1, 1e-12, 'the row');
    // An evicted key has no weight at all.
    assert.equal(row.filter(({ f64 }) => f64 > 0).length, 3);
    near((await told(explorer, own.lost, query)).f64, sum(row.map(({ f64 }, key) => (f64 === 0 ? tiny.attention[layer][head][query][key] : 0))), 2e-5, 'what it loses');
    await press(explorer, 'cache/play');
    await explorer.untilState('a step on the way', (now) => now.query !== undefined && now.query < n - 1);
    await explorer.untilState('the end', (now) => now.query === n - 1);
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Cache: heads that share keys and values, in a model of the Llama family', { needs: 'models' }, async (explorer) => {
    const { folder, texts: [{ text, ids, attention }] } = published('babyllama-tok105');
    await open(explorer, folder, text);
    // 5 layers, 4 key-value heads with 16 channels.
    near((await told(explorer, own.bytes, ids.length)).f64, 5 * 4 * 16 * 2 * 4 * ids.length, 0, 'the bytes of the cache');
    await set(explorer, { part: 'eviction', prompt: 3, budget: 4, policy: 'window' });
    const n = ids.length;
    for (const [layer, head] of [[0, 0], [2, 5], [4, 7]]) {
        const lost = attention[layer][head].slice(3, n).map((row, i) => lostBy(row, 3 + i, 4, 0));
        near((await told(explorer, own.heads + layer, head)).f64, sum(lost) / lost.length, 1e-4, `layer ${layer}, head ${head}`);
    }
    await set(explorer, { part: 'bits', bits: 16 });
    near((await told(explorer, own.divergence, n - 1)).f64, 0, 1e-4, 'the divergence in 16 bits');
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Cache: the presets in the model that comes with the page', { fragment: 'v=1&subject=sentence&model=storyteller&text=A%20cat&lens=cache' }, async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    await explorer.untilState('the storyteller', ({ model, tokens }) => model === 'storyteller' && tokens > 0);
    for (const [preset, said] of /** @type {const} */ ([['heavy', /^With at most 12 keys, heavy hitters and the newest, layer \d · head \d loses /],
        ['window', /^With at most 12 keys, the newest, layer \d · head \d loses /],
        ['bits', /^In 4 bits the cache takes \d+ % of its memory in 32; the next token changes at \d+ of \d+ steps?\. (The newest( \d+ tokens stay| token stays) in 16 bits\. )?The loss goes from [\d.]+ to [\d.]+ nats a token\.$/]])) {
        await explorer.settled();
        await press(explorer, `cache/preset/${preset}`);
        await explorer.untilState(preset, ({ lens, spoken }) => lens === 'cache' && said.test(spoken));
    }
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Cache with the keyboard alone: every control has the focus and answers', async (explorer) => {
    await open(explorer);
    const { page } = explorer;
    const step = async (role, name, key, link, value) => {
        await explorer.focus(role, name);
        await explorer.press(key);
        await explorer.until(`${name} after ${key}`, () => explorer.linked(link), (now) => now === value);
    };
    const n = tiny.ids.length;
    await step('slider', 'prompt', 'ArrowLeft', 'cache.prompt', String(n - 1));
    await step('slider', 'prompt', 'ArrowRight', 'cache.prompt', String(n));
    await explorer.enter('radio', 'eviction');
    await explorer.until('the part', () => explorer.linked('cache.part'), (part) => part === 'eviction');
    await explorer.enter('radio', 'sinks + window');
    await explorer.until('the policy', () => explorer.linked('cache.policy'), (policy) => policy === 'sinks');
    await step('slider', 'keys', 'Home', 'cache.budget', '1');
    await step('slider', 'keys', 'ArrowUp', 'cache.budget', '2');
    await step('spinbutton', 'sinks', 'ArrowDown', 'cache.sinks', '3');
    await step('slider', 'prompt', 'Home', 'cache.prompt', '1');
    await explorer.focus('slider', 'step');
    await explorer.press('Home');
    await explorer.untilState('the first step', ({ query }) => query === 1);
    await explorer.press('ArrowRight');
    await explorer.untilState('the next step', ({ query }) => query === 2);
    await explorer.focus('slider', 'How far the next token moves');
    await explorer.press('ArrowRight');
    await explorer.untilState('a step on the curve', ({ query }) => query === 3);
    await explorer.enter('button', 'Back');
    await explorer.untilState('the step before', ({ query }) => query === 2);
    const grid = page.getByRole('grid', { name: /^Weight lost by each head/ });
    await grid.getByRole('gridcell').first().focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await explorer.untilState('the head', ({ pin, head }) => pin?.[0] === 'cache.head.0.1' && head === 1);
    await explorer.enter('radio', 'bits');
    await explorer.until('the part', () => explorer.linked('cache.part'), (part) => part === 'bits');
    await explorer.enter('radio', '8');
    await explorer.until('the bits', () => explorer.linked('cache.bits'), (bits) => bits === '8');
    await step('spinbutton', 'group', 'ArrowDown', 'cache.group', '7');
    assert.deepEqual(await explorer.notices('error'), []);
});
