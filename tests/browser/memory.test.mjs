// Tests Memory: the start is dragged and falls, and its path, its plane and the classical network are
// computed a second time here.
import assert from 'node:assert/strict';
import { tiny } from './lib/models.mjs';
import { multiply, near as allNear, transpose } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';

const own = { energy: 0, moved: 1, effective: 2, first: 3, all: 4, flip: 5, field: 6, capacity: 7, weight: 10000, state: 20000 };
const near = (actual, expected, tolerance, what) => allNear([actual], [expected], tolerance, what);
const sum = (list) => list.reduce((all, each) => all + each, 0);
const dot = (a, b) => sum(a.map((each, i) => each * b[i]));
const minus = (a, b) => a.map((each, i) => each - b[i]);
const told = (explorer, row, column) => explorer.explain('number', row, column);
const f64 = async (explorer, row, column) => (await told(explorer, row, column)).f64;

// ξ ← Kᵀ softmax(β K ξ), with the energy of each state.
function retrieved(keys, beta, start) {
    const largest = Math.max(...keys.map((k) => dot(k, k)));
    const path = [];
    for (let state = start; path.length < 2000;) {
        const scores = keys.map((k) => beta * dot(k, state)), most = Math.max(...scores);
        const factors = scores.map((s) => Math.exp(s - most)), z = sum(factors), weights = factors.map((each) => each / z);
        const energy = -(most + Math.log(z)) / beta + dot(state, state) / 2 + Math.log(keys.length) / beta + largest / 2;
        const next = transpose(keys).map((column) => dot(column, weights));
        path.push({ state, energy, weights });
        if (Math.hypot(...minus(next, state)) <= 1e-9 * Math.sqrt(largest)) {
            break;
        }
        state = next;
    }
    return path;
}

async function stateOf(explorer, step, size) {
    return Promise.all(Array.from({ length: size }, (_, a) => f64(explorer, own.state + step, a)));
}

// Compares the path on the page with one computed here from its start.
async function follows(explorer, keys, beta, tolerance) {
    await explorer.settled();
    const path = retrieved(keys, beta, await stateOf(explorer, 0, keys[0].length));
    const { spoken } = await explorer.state();
    assert.match(spoken, new RegExp(`in ${path.length - 1} steps? to`), spoken);
    for (const [t, { state, energy }] of path.entries()) {
        near(await f64(explorer, own.energy, t), energy, tolerance * (1 + Math.abs(energy)), `the energy after ${t} steps`);
        assert.ok(t === 0 || energy <= path[t - 1].energy + 1e-12, 'no step raises the energy');
        allNear(await stateOf(explorer, t, state.length), state, tolerance, `the state after ${t} steps`);
        for (const key of t > 0 ? keys.keys() : []) {
            near(await f64(explorer, own.weight + t, key), path[t - 1].weights[key], tolerance, `weight ${key} of step ${t}`);
        }
    }
    assert.equal(await told(explorer, own.energy, path.length), null, 'there is no further step');
    return path;
}

// The first two principal components, by the power method on the covariance.
function principal(keys) {
    const mean = transpose(keys).map((column) => sum(column) / keys.length);
    const centred = keys.map((k) => minus(k, mean));
    let covariance = multiply(transpose(centred), centred);
    return { mean, directions: [0, 1].map(() => {
        let v = covariance.map((_, i) => 1 + i / 7);
        for (let i = 0; i < 5000; ++i) {
            v = covariance.map((row) => dot(row, v));
            v = v.map((each) => each / Math.hypot(...v));
        }
        const value = dot(v, covariance.map((row) => dot(row, v)));
        covariance = covariance.map((row, i) => row.map((each, j) => each - value * v[i] * v[j]));
        return v;
    }) };
}

const linkedStart = async (explorer) => (await explorer.linked('memory.start'))?.split(',').map(Number);

test('Memory: the start of the example is dragged and falls, at the head’s β and at 100, as formulas say', { fragment: 'v=1&lens=memory' }, async (explorer) => {
    const keys = (await explorer.matrix('k')).map((row) => row.map(Math.fround)), q = (await explorer.matrix('q')).at(-1).map(Math.fround);
    const path = await follows(explorer, keys, 0.5, 1e-9);
    allNear(path[0].state, q, 0, 'it starts at the query');
    // The first step is attention.
    const weights = (await explorer.matrix('weight')).at(-1);
    for (const [key, weight] of weights.entries()) {
        near(await f64(explorer, own.weight + 1, key), weight, 1e-6, `the weight of key ${key}`);
    }
    await explorer.click('memory/preset/β = 100, large');
    await explorer.until('the preset', () => explorer.linked('memory.beta'), (beta) => beta === '100');
    await follows(explorer, keys, 100, 1e-9);
    assert.match((await explorer.state()).spoken, /to one memory: “\w+” \(100 %\)\.$/);

    await explorer.drag('memory/start', 130);
    const [x, y] = await explorer.until('another start', () => linkedStart(explorer));
    await explorer.settled();
    const { mean, directions } = principal(keys);
    const dragged = await stateOf(explorer, 0, q.length), off = minus(dragged, mean);
    // Its coordinates along the principal components, whose signs are arbitrary, with nothing perpendicular
    // to them.
    near(Math.abs(dot(off, directions[0])), Math.abs(x), 1e-6, 'across');
    near(Math.abs(dot(off, directions[1])), Math.abs(y), 1e-6, 'up');
    near(Math.hypot(...off), Math.hypot(x, y), 1e-6, 'in the plane');
    await follows(explorer, keys, 100, 1e-9);
    assert.match((await explorer.state()).spoken, /^At β = 100, your start falls/);

    const { fragment, spoken } = await explorer.state();
    await explorer.visit('v=1&lens=scale');
    await explorer.untilState('another lens', ({ lens }) => lens === 'scale');
    await explorer.visit(fragment);
    await explorer.untilState('the link', ({ lens }) => lens === 'memory');
    await explorer.settled();
    const again = await explorer.state();
    assert.deepEqual([again.fragment, again.spoken], [fragment, spoken], 'the link opens it as it was');

    // A β of 0 and one of 1e9: one sentence each, and the view stays.
    for (const bad of ['0', '1e9']) {
        await explorer.click('memory/beta-typed');
        await explorer.press('Control+A');
        await explorer.page.keyboard.type(bad);
        await explorer.press('Enter');
        await explorer.untilNotice(/^The value of β must be from 0\.1 to 100\.$/);
        await explorer.dismiss();
        assert.equal((await explorer.state()).fragment, fragment);
    }
    await explorer.click('memory/beta-typed');
    await explorer.press('Control+A');
    await explorer.page.keyboard.type('2.5');
    await explorer.press('Enter');
    await explorer.until('the typed β', () => explorer.linked('memory.beta'), (beta) => beta === '2.5');
    await follows(explorer, keys, 2.5, 1e-9);
    await explorer.page.keyboard.press('Control+Z');
    await explorer.until('undone', () => explorer.linked('memory.beta'), (beta) => beta === '100');
});

test('Memory: the first step of a model’s head is its golden attention; a press in the plane starts there', { fragment: 'v=1&lens=memory' }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.dismiss();
    await explorer.click('lens/memory');
    await explorer.untilState('the lens', ({ subject, lens }) => subject === 'sentence' && lens === 'memory');
    await explorer.settled();
    const n = tiny.ids.length, golden = tiny.attention[0][0].at(-1);
    // q and K are the operands of the first step's weights.
    const keys = [];
    for (let key = 0; key < n; ++key) {
        const { f64: weight, operands } = await told(explorer, own.weight + 1, key);
        near(weight, golden[key], 1e-5, `golden weight ${key}`);
        keys.push(operands.map(([k]) => k));
    }
    const beta = 1 / Math.sqrt(keys[0].length);
    const path = await follows(explorer, keys, Math.fround(beta), 1e-7);
    near(await f64(explorer, own.all, n - 1), Math.hypot(...minus(path.at(-1).state, path[0].state)), 1e-6, 'how far the query moves in all');
    near(await f64(explorer, own.first, n - 1), Math.hypot(...minus(path[1].state, path[0].state)), 1e-6, 'how far it moves in one step');
    await explorer.click('memory/plane-of/query and strongest key');
    await explorer.settled();
    await explorer.reveal('memory/plane');
    const { left, right, top, bottom } = await explorer.rect('memory/plane');
    await explorer.page.mouse.click(left + (right - left) * 0.7, top + (bottom - top) * 0.4);
    await explorer.until('a start', () => linkedStart(explorer));
    await follows(explorer, keys, Math.fround(beta), 1e-7);
    // A weight leads to the query's component, and Back returns.
    await explorer.click('memory/at-query');
    await explorer.settled();
    await explorer.reveal('memory/weight/0/0');
    await explorer.settled();
    await explorer.click('memory/weight/0/0');
    await explorer.untilState('the pin', ({ pin }) => pin?.[0].startsWith('memory.weight.1.'));
    await explorer.click('inspector/step/5');
    await explorer.untilState('the head’s own weight', ({ pin }) => pin?.[0] === 'weight');
    await explorer.click('inspector/back');
    await explorer.untilState('the lens again', ({ lens, pin }) => lens === 'memory' && pin?.[0].startsWith('memory.weight.1.'));
});

// SplitMix64 (Steele, Lea & Flood 2014).
function randomFrom(seed) {
    const mask = (1n << 64n) - 1n;
    let state = seed & mask;
    return () => {
        state = (state + 0x9e3779b97f4a7c15n) & mask;
        let z = state;
        z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & mask;
        z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & mask;
        return z ^ (z >> 31n);
    };
}

test('Memory: the classical network’s energy and fields are those of its weights, and its capacity falls', { fragment: 'v=1&lens=memory' }, async (explorer) => {
    await explorer.click('memory/network/classical network');
    await explorer.until('the network', () => explorer.linked('memory.network'));
    await explorer.settled();
    assert.match((await explorer.state()).spoken, /^10 patterns in 100 bits: of 10 wrong bits, \d+ (is|are) left\. The pattern is recovered\.$/);
    const bits = 100, random = randomFrom(1n);
    const patterns = Array.from({ length: 10 }, () => Array.from({ length: bits }, () => (random() % 2n === 0n ? 1 : -1)));
    const weight = (i, j) => (i === j ? 0 : sum(patterns.map((p) => p[i] * p[j])) / bits);
    // The state at rest, from the fields of other bits.
    const state = (await told(explorer, own.field, 0)).operands.map(([, bit]) => bit);
    state.unshift((await told(explorer, own.field, 1)).operands[0][1]);
    const fields = state.map((_, i) => sum(state.map((s, j) => weight(i, j) * s)));
    for (const i of [0, 7, 42, 99]) {
        near(await f64(explorer, own.field, i), fields[i], 1e-9, `the field of bit ${i}`);
        assert.equal(Math.sign(fields[i]), state[i]);
    }
    let flips = 0;
    while (await told(explorer, own.flip, flips + 1)) {
        ++flips;
        assert.ok(await f64(explorer, own.flip, flips) < await f64(explorer, own.flip, flips - 1), 'each flip lowers the energy');
    }
    near(await f64(explorer, own.flip, flips), -dot(fields, state) / 2, 1e-9, 'the energy at rest');
    const wrong = patterns[0].filter((bit, i) => bit !== state[i]).length;
    assert.ok(wrong <= 5, `${wrong} wrong bits`);
    // Few patterns are recovered, many are not; the modern network recovers them all.
    near(await f64(explorer, own.capacity, 0), 1, 0, 'at a load of 0.02');
    assert.ok(await f64(explorer, own.capacity, 14) < 0.3, 'at a load of 0.3');
    near(await f64(explorer, own.capacity + 1, 14), 1, 0, 'the modern network at a load of 0.3');
    await explorer.click('memory/preset/30: too many');
    await explorer.until('more patterns', () => explorer.linked('memory.bits'), (link) => link === '100,30');
    await explorer.settled();
    assert.match((await explorer.state()).spoken, /The pattern is lost\.$/);
    await explorer.click('memory/preset/Signs of this head’s keys');
    await explorer.untilState('the keys', ({ spoken }) => /^3 patterns in 4 bits/.test(spoken));
});

test('Memory with the keyboard alone: every control has the focus and answers', { fragment: 'v=1&lens=memory' }, async (explorer) => {
    await explorer.settled();
    await explorer.focus('slider', 'β');
    await explorer.press('ArrowUp');
    const beta = await explorer.until('a higher β', () => explorer.linked('memory.beta'), (link) => Number(link) > 0.5);
    await explorer.enter('button', 'the head’s own');
    await explorer.until('the head’s own', () => explorer.linked('memory.beta'), (link) => link === undefined && beta);
    for (const [axis, name] of ['start, across', 'start, up'].entries()) {
        const before = await linkedStart(explorer);
        await explorer.focus('slider', name);
        await explorer.press('ArrowUp', 'ArrowUp');
        await explorer.until(`a start moved ${name}`, () => linkedStart(explorer), (now) => now && now[axis] !== before?.[axis]);
    }
    await explorer.enter('radio', 'query and strongest key');
    await explorer.until('the plane', () => explorer.linked('memory.plane'), (link) => link === 'query');
    await explorer.focus('spinbutton', 'query');
    await explorer.press('ArrowDown');
    await explorer.untilState('the query before', ({ query }) => query === 1);
    await explorer.focus('slider', 'How far this head’s queries move');
    await explorer.press('ArrowUp');
    await explorer.untilState('the next query', ({ query }) => query === 2);
    await explorer.enter('radio', 'classical network');
    await explorer.until('the network', () => explorer.linked('memory.network'));
    await explorer.focus('slider', 'flipped');
    await explorer.press('ArrowUp');
    await explorer.until('more flipped bits', () => explorer.linked('memory.bits'), (link) => Number(link?.split(',')[2]) > 0.1);
    await explorer.focus('spinbutton', 'patterns');
    await explorer.press('ArrowUp');
    await explorer.until('another pattern', () => explorer.linked('memory.bits'), (link) => link?.split(',')[1] === '11');
});
