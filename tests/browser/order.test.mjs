// Tests Order: tokens dragged to other places, their outputs under every position scheme against formulas,
// RoPE's dials, the shift of all positions, and the curves.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { site } from './lib/bundled.mjs';
import { tiny } from './lib/models.mjs';
import { attention, near as allNear } from './lib/numbers.mjs';
import { skip, test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

const schemes = ['none', 'learned', 'sinusoidal', 'rope', 'alibi', 't5'];

const cats = [[1, 0.5, 0.2, 0.8], [0.3, 0.9, 0.1, 0.4], [0.6, 0.2, 0.7, 0.3]];
const near = (actual, expected, tolerance, what) => allNear([actual], [expected], tolerance, what);
const told = (explorer, ...name) => explorer.explained(`order.${name.join('.')}`);
const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

// RoPE with pairs (a, a + d/2), base 10,000.
const frequency = (pair, d) => 10000 ** (-2 * pair / d);
function turned(x, position, scaled = frequency) {
    const half = Math.floor(x.length / 2), out = [...x];
    for (let a = 0; a < half; ++a) {
        const [c, s] = [Math.cos(position * scaled(a, 2 * half)), Math.sin(position * scaled(a, 2 * half))];
        [out[a], out[a + half]] = [x[a] * c - x[a + half] * s, x[a] * s + x[a + half] * c];
    }
    return out;
}
const sinusoid = (x, position) => x.map((each, a) => {
    const angle = position * 10000 ** (-(a - a % 2) / x.length);
    return each + (a % 2 ? Math.cos(angle) : Math.sin(angle));
});

// The outputs of tokens in an order, place by place, with positions starting at 0.
function outputs({ q, k, v, order, scheme, slope = 2 ** -8 }) {
    const put = { rotary: turned, sinusoidal: sinusoid }[scheme] ?? ((x) => x);
    const scale = 1 / Math.sqrt(q[0].length);
    const scores = order.map((i, p) => order.map((j, r) => scale * dot(put(q[i], p), put(k[j], r)) - (scheme === 'alibi' ? slope * Math.abs(p - r) : 0)));
    return attention({ scores, v: order.map((j) => v[j]) }).output;
}

async function agrees(explorer, { q, k, v, order, scheme, tolerance = 1e-7 }) {
    await explorer.settled();
    const expected = outputs({ q, k, v, order, scheme }), before = outputs({ q, k, v, order: order.map((_, i) => i), scheme });
    for (const [place, token] of order.entries()) {
        const off = Math.max(...expected[place].map((each, b) => Math.abs(each - before[token][b])));
        near((await told(explorer, 'output_change', token)).f32, off, 1e-6, `how far token ${token} is off under ${scheme}`);
        for (const b of v[0].keys()) {
            const { f32, f64 } = await told(explorer, 'output.permuted', token, b);
            near(f64, expected[place][b], tolerance, `output ${b} of token ${token} under ${scheme}`);
            near(f32, f64, 2e-6, `output ${b} of token ${token} under ${scheme} in f32`);
        }
    }
}

// Drags a token to the place of another.
async function drag(explorer, from, to, which = 'token') {
    const [a, b] = [await explorer.reveal(`order/${which}/${from}`), await explorer.rect(`order/${which}/${to}`)];
    await explorer.dragBetween(a, b, 10);
}

const ordered = (explorer, order) => explorer.until(`the order ${order}`, () => explorer.linked('order.tokens'), (now) => now === order);

test('Order: a token that is dragged takes its output along, until a scheme says where it stands', { fragment: 'v=1&lens=order' }, async (explorer) => {
    const example = { q: cats, k: cats, v: cats };
    assert.match((await explorer.state()).spoken, /in their own order\.$/);
    await drag(explorer, 0, 2);
    await ordered(explorer, '1,2,0');
    await agrees(explorer, { ...example, order: [1, 2, 0], scheme: 'none' });
    assert.match((await explorer.state()).spoken, /^Without positions, every output moved along with its token\. The largest difference is [\d.e-]+\.$/);
    near((await told(explorer, 'largest_output_change.none')).f32, 0, 1e-6, 'without positions');
    for (const [label, scheme] of [['ALiBi', 'alibi'], ['sinusoidal', 'sinusoidal'], ['RoPE', 'rotary']]) {
        await explorer.click(`order/scheme/${label}`);
        await explorer.until(label, () => explorer.linked('order.positions'), (now) => now === label.toLowerCase());
        await agrees(explorer, { ...example, order: [1, 2, 0], scheme });
        assert.match((await explorer.state()).spoken, /the new order changes the outputs by up to [\d.e-]+\.$/);
    }
    await explorer.press('Control+Z');
    await explorer.until('the scheme before', () => explorer.linked('order.positions'), (now) => now === 'sinusoidal');
    await explorer.settled();
    const { fragment, spoken } = await explorer.state();
    await explorer.visit('v=1&lens=scale');
    await explorer.untilState('another lens', ({ lens }) => lens === 'scale');
    await explorer.visit(fragment);
    await explorer.untilState('the link', ({ lens }) => lens === 'order');
    await explorer.settled();
    assert.deepEqual([(await explorer.state()).fragment, (await explorer.state()).spoken], [fragment, spoken], 'its link opens it as it was');
    await explorer.click('order/preset/own');
    await explorer.until('its own order', () => explorer.linked('order.tokens'), (now) => now === undefined);
});

test('Order: in GPT-2’s first layer positions are left out, and its own table brings its run back', { fragment: 'v=1&lens=order' }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.dismiss();
    await explorer.click('lens/order');
    await explorer.untilState('the lens', ({ subject, lens }) => subject === 'sentence' && lens === 'order');
    await explorer.settled();
    const n = Math.min(tiny.ids.length, 12);
    await explorer.click('order/preset/reverse');
    await ordered(explorer, Array.from({ length: n }, (_, i) => n - 1 - i).join());
    near((await told(explorer, 'largest_output_change.none')).f32, 0, 1e-5, 'without positions and without the mask');
    await explorer.click('order/mask/the head’s own');
    await explorer.until('the mask', () => explorer.linked('order.mask'), (now) => now === 'own');
    await explorer.settled();
    assert.ok((await told(explorer, 'largest_output_change.none')).f32 > 1e-3, 'the causal mask alone says where a token stands');
    assert.match((await explorer.state()).spoken, /under the head’s mask, the new order changes the outputs/);
    // The model's golden weights, from the scores in the original order with its own table.
    await explorer.visit(`${(await explorer.state()).fragment.replace(/&order\.tokens=[^&]*/, '')}&order.positions=learned`);
    await explorer.until('its own order', () => explorer.linked('order.tokens'), (now) => now === undefined);
    await explorer.settled();
    for (let i = 0; i < n; ++i) {
        const scores = [];
        for (let j = 0; j <= i; ++j) {
            scores.push((await told(explorer, 'score', i, j)).f64);
        }
        const most = Math.max(...scores), weights = scores.map((s) => Math.exp(s - most)), sum = weights.reduce((a, b) => a + b, 0);
        allNear(weights.map((w) => w / sum), tiny.attention[0][0][i].slice(0, i + 1), 1e-5, `the golden weights of token ${i}`);
    }
});

test('Order: RoPE on one’s own tensors: dials, a shift, distances and lengths', { fragment: 'v=1&lens=order' }, async (explorer) => {
    const n = 5, d = 6;
    const numbers = (seed, width) => Array.from({ length: n }, (_, i) => Array.from({ length: width }, (__, a) => Math.fround(Math.sin(seed + 7.3 * i + 2.9 * a + i * a))));
    const [q, k, v] = [numbers(1, d), numbers(2, d), numbers(3, 3)];
    await explorer.drop(...written({ 'q.npy': npy([n, d], q.flat()), 'k.npy': npy([n, d], k.flat()), 'v.npy': npy([n, 3], v.flat()) }));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open, phase }) => open && phase === null);
    await explorer.click('lens/order');
    await explorer.untilState('the lens', ({ subject, lens }) => subject === 'tensors' && lens === 'order');
    await explorer.click('order/preset/swap');
    await ordered(explorer, '4,1,2,3,0');
    for (const scheme of ['none', 'rotary']) {
        await explorer.click(`order/scheme/${scheme === 'none' ? 'no positions' : 'RoPE'}`);
        await agrees(explorer, { q, k, v, order: [4, 1, 2, 3, 0], scheme });
    }
    // The query is now at place 0 and the key at 4; the query moves on by 3.
    await explorer.visit(`${(await explorer.state()).fragment}&order.turn=3`);
    await explorer.until('the turn', () => explorer.linked('order.turn'), (now) => now === '3');
    await explorer.settled();
    let sum = 0;
    for (let pair = 0; pair < d / 2; ++pair) {
        const [x, y] = [turned(q[4], 3), turned(k[0], 4)], { f64 } = await told(explorer, 'rotary_pair', pair);
        near(f64, x[pair] * y[pair] + x[pair + 3] * y[pair + 3], 1e-9, `pair ${pair}`);
        sum += f64;
    }
    near(sum, dot(turned(q[4], 3), turned(k[0], 4)), 1e-9, 'all pairs');
    await explorer.hover('order/dial/1');
    await explorer.untilState('the inspector to show the pair', ({ shown }) => shown?.[0] === 'order.rotary_pair.1');
    // Whole distances keep every bit, RoPE all but the last ones.
    for (const scheme of schemes) {
        const equal = await told(explorer, 'equal_scores', scheme);
        if (scheme === 'learned') {
            assert.equal(equal, null, 'the table ends before position 1,000');
        } else if (['none', 'alibi', 't5'].includes(scheme)) {
            assert.equal(equal.f64, n * n, `every bit of ${scheme}`);
        } else {
            const { f32 } = await told(explorer, 'largest_score_change', scheme, 'f32'), { f64 } = await told(explorer, 'largest_score_change', scheme, 'f64');
            assert.ok(scheme === 'rope' ? f32 > 0 && f32 < 1e-5 && f64 < 1e-11 : f64 > 1e-2, `${scheme}: ${f32} in f32, ${f64} in double`);
        }
    }
    const scale = 1 / Math.sqrt(d);  // the page's is rounded to f32
    for (const distance of [0, 1, 9, 100]) {
        near((await told(explorer, 'score_at_distance.rope', distance)).f64, scale * dot(turned(q[4], distance), k[0]), 1e-7, `RoPE at distance ${distance}`);
        near((await told(explorer, 'score_at_distance.alibi', distance)).f64, scale * dot(q[4], k[0]) - distance / 256, 1e-7, `ALiBi at distance ${distance}`);
    }
    // With 4 · 2,048 distances, bin 48 of 96 begins in the middle and has 85.
    const scalings = { plain: (a) => frequency(a, d), linear: (a) => frequency(a, d) / 4, ntk: (a) => (10000 * 4 ** (d / (d - 2))) ** (-2 * a / d) };
    for (const [kind, theta] of Object.entries(scalings)) {
        let mean = 0;
        for (let i = 0; i < 85; ++i) {
            mean += scale * dot(turned(q[4], 4096 + i, theta), k[0]) / 85;
        }
        near((await told(explorer, 'extrapolated_score', kind, 48)).f64, mean, 1e-7, `scaling ${kind}`);
        near((await told(explorer, 'wavelength', kind, 2)).f64, 2 * Math.PI / theta(2), 1e-6, `wavelength ${kind}`);
    }
});

// Attention of queries over keys, each in an order and with positions starting at 0.
function crossed({ q, k, v, queries, keys, rotary }) {
    const scale = 1 / Math.sqrt(q[0].length), put = rotary ? turned : (x) => x;
    const scores = queries.map((i, p) => keys.map((j, r) => scale * dot(put(q[i], p), put(k[j], r))));
    return attention({ scores, v: keys.map((j) => v[j]) }).output;
}

test('Order puts queries and keys of different numbers in order apart: outputs know no order of the keys', { fragment: 'v=1' }, async (explorer) => {
    const d = 6;
    const numbers = (seed, n, width) => Array.from({ length: n }, (_, i) => Array.from({ length: width }, (__, a) => Math.fround(Math.sin(seed + 7.3 * i + 2.9 * a + i * a))));
    const [q, k, v] = [numbers(1, 3, d), numbers(2, 5, d), numbers(3, 5, 2)];
    await explorer.drop(...written({ 'q.npy': npy([3, d], q.flat()), 'k.npy': npy([5, d], k.flat()), 'v.npy': npy([5, 2], v.flat()) }));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open, phase }) => open && phase === null);
    await explorer.click('lens/order');
    await explorer.untilState('the lens', ({ subject, lens }) => subject === 'tensors' && lens === 'order');
    assert.match((await explorer.state()).spoken, /3 queries and 5 keys stand in their own order/);
    await drag(explorer, 0, 4, 'key-token');
    await explorer.until('the keys', () => explorer.linked('order.keys'), (now) => now === '1,2,3,4,0');
    assert.match((await explorer.state()).spoken, /^Without positions, every output stayed, and the keys took their weights along/);
    const agree = async (queries, rotary) => {
        await explorer.settled();
        const expected = crossed({ q, k, v, queries, keys: [1, 2, 3, 4, 0], rotary });
        for (const [place, query] of queries.entries()) {
            for (const b of [0, 1]) {
                const { f32, f64 } = await told(explorer, 'output.permuted', query, b);
                near(f64, expected[place][b], 1e-6, `output ${b} of query ${query}`);
                near(f32, f64, 2e-6, `output ${b} of query ${query} in f32`);
            }
        }
    };
    await agree([0, 1, 2], false);
    await drag(explorer, 2, 0);
    await ordered(explorer, '2,0,1');
    await agree([2, 0, 1], false);
    await explorer.click('order/scheme/RoPE');
    await explorer.until('RoPE', () => explorer.linked('order.positions'), (now) => now === 'rope');
    await agree([2, 0, 1], true);
    await explorer.click('order/preset/own');
    await explorer.until('their own order', () => explorer.linked('order.keys'), (now) => now === undefined);
    await explorer.page.locator('[data-key="order/key-token/1"]').focus();
    await explorer.settled();
    await explorer.press('ArrowRight');
    await explorer.until('the keys', () => explorer.linked('order.keys'), (now) => now === '0,2,1,3,4');
});

test('Order on a cross head of the translator: keys take their weights along, and the outputs stay', async (explorer) => {
    if (!existsSync(`${site}/models/translator/model.safetensors`)) {
        skip('there is no translator in models/');
    }
    await explorer.page.click('#model');
    await explorer.page.click('text=Bundled: translator');
    const { layer, head } = await explorer.untilRun('the translator', ({ model, tokens }) => model === 'translator' && tokens > 1);
    const weights = await explorer.attention(layer, head), n_k = weights[0].length;
    assert.notEqual(weights.length, 0);
    await explorer.click('lens/order');
    await explorer.untilState('the lens', ({ lens }) => lens === 'order');
    await explorer.until('the keys', () => explorer.rect('order/key-token/0'));
    const last = Math.min(n_k, 12) - 1;
    await drag(explorer, 0, last, 'key-token');
    const expected = [...Array.from({ length: last }, (_, i) => i + 1), 0];
    await explorer.until('the order of keys', () => explorer.linked('order.keys'), (now) => now === expected.join());
    assert.match((await explorer.state()).spoken, /every output stayed, and the keys took their weights along/);
    if (n_k <= 12) {
        // The weights of an output are the head's, key by key in the order on screen.
        const { operands } = await told(explorer, 'output.permuted', 0, 0);
        for (const [place, key] of expected.entries()) {
            near(operands[place][0], weights[0][key], 2e-6, `the weight at place ${place}`);
        }
    }
    const { fragment: link } = await explorer.state();
    await explorer.press('Control+Z');
    await explorer.until('their own order', () => explorer.linked('order.keys'), (now) => now === undefined);
    await explorer.visit(link);
    await explorer.until('the link', () => explorer.linked('order.keys'), (now) => now === expected.join());
});

test('Order with the keyboard alone: tokens move, and every control answers', { fragment: 'v=1&lens=order' }, async (explorer) => {
    await explorer.settled();
    const { page } = explorer;
    await explorer.focus('spinbutton', 'cat');
    await explorer.press('ArrowRight');
    await ordered(explorer, '1,0,2');
    await explorer.press('ArrowRight');
    await ordered(explorer, '1,2,0');
    await explorer.press('Home');
    await explorer.until('its own order', () => explorer.linked('order.tokens'), (now) => now === undefined);
    await explorer.enter('radio', 'T5 buckets');
    await explorer.until('the buckets', () => explorer.linked('order.positions'), (now) => now === 't5');
    await explorer.focus('spinbutton', 'drawn from seed');
    await explorer.press('ArrowUp');
    await explorer.until('another seed', () => explorer.linked('order.seed'), (now) => now === '2');
    await explorer.enter('button', 'Reverse');
    await ordered(explorer, '2,1,0');
    await explorer.focus('textbox', 'shift all positions by');
    await explorer.press('Control+A');
    await page.keyboard.type('64');
    await explorer.press('Enter');
    await explorer.until('the shift', () => explorer.linked('order.shift'), (now) => now === '64');
    await explorer.focus('slider', 'move the query on by');
    await explorer.press('ArrowUp');
    await explorer.until('the query to move on', () => explorer.linked('order.turn'), (now) => Number(now) > 0);
    await explorer.focus('spinbutton', 'key');
    await explorer.press('ArrowUp');
    await explorer.untilState('the next key', ({ key }) => key === 1);
    await explorer.enter('radio', 'mean of these tokens');
    await explorer.until('the mean', () => explorer.linked('order.content'), (now) => now === 'mean');
    const walk = async (chart, key) => {
        const before = await explorer.linked(key);
        await page.locator(`[data-key="chart/${chart}"]`).focus();
        await explorer.settled();
        await explorer.press('ArrowUp');
        await explorer.until(`${key} to change`, () => explorer.linked(key), (now) => now !== before);
    };
    await walk('order-distance', 'order.turn');
    await walk('order-length', 'order.far');
    await walk('order-wavelength', 'order.pair');
    await explorer.focus('slider', 'trained on');
    await explorer.press('ArrowUp');
    await explorer.until('a longer training', () => explorer.linked('order.trained'), (now) => Number(now) > 2048);
    await explorer.focus('spinbutton', 'times as long');
    await explorer.press('ArrowUp');
    await explorer.until('another factor', () => explorer.linked('order.factor'), (now) => now === '5');
    const dial = page.getByRole('option', { name: /^pair 1:/ });
    await dial.focus();
    await explorer.untilState('the pair', ({ shown }) => shown?.[0] === 'order.rotary_pair.1');
});

test('Order refuses what makes no sense in one sentence, and stays', { fragment: 'v=1&lens=order' }, async (explorer) => {
    await explorer.visit('v=1&lens=order&order.tokens=0,0');
    await explorer.untilNotice(/order\.tokens/);
    await explorer.visit('v=1&ex=hello-scores&lens=order');
    await explorer.until('what is missing', () => explorer.rect('missing'));
});
