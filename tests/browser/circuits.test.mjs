// Tests Circuits: what a head matches and what it writes, against the products of the weights in their file;
// how heads compose, against whole matrices.
import assert from 'node:assert/strict';
import { bundled } from './lib/bundled.mjs';
import { hooked, safetensors, tiny } from './lib/models.mjs';
import { multiply, near as allNear, transpose } from './lib/numbers.mjs';
import { skip, test } from './lib/suite.mjs';

const own = { qk: 0, ov: 300_000, positions: 600_000, real: 700_001, copying: 710_000, plane: 720_000, wire: 800_000 };
const near = (actual, expected, tolerance, what) => allNear([actual], [expected], tolerance, what);
const told = (explorer, row, column) => explorer.explain('number', row, column);
const sum = (list) => list.reduce((all, each) => all + each, 0);
const columns = (m, first, count) => m.map((row) => row.slice(first, first + count));
const squares = (m) => sum(m.map((row) => sum(row.map((x) => x * x))));

// The tiny GPT-2: what layer `layer` reads from every token, its heads, and the input of the logits.
const heads = 3, d = 18, size = d / heads;
const weight = safetensors(`${tiny.folder}/model.safetensors`);
const at = (name) => weight(`transformer.${name}`);

function normalised(rows, norm, held = false) {
    const gain = at(`${norm}.weight`), bias = at(`${norm}.bias`);
    return rows.map((row) => {
        const mean = sum(row) / d, deviation = held ? 1 : Math.sqrt(sum(row.map((x) => (x - mean) ** 2)) / d + 1e-5);
        return row.map((x, i) => (x - mean) / deviation * gain[i] + (held ? 0 : bias[i]));
    });
}
function headOf(layer, head) {
    const qkv = at(`h.${layer}.attn.c_attn.weight`), bias = at(`h.${layer}.attn.c_attn.bias`);
    const share = (i) => ({ weight: columns(qkv, i * d + head * size, size), bias: bias.slice(i * d + head * size, i * d + (head + 1) * size) });
    return { q: share(0), k: share(1), v: share(2), o: at(`h.${layer}.attn.c_proj.weight`).slice(head * size, (head + 1) * size) };
}
const project = (rows, { weight: w, bias }) => multiply(rows, w).map((row) => row.map((x, a) => x + bias[a]));

function circuits(layer, head) {
    const { q, k, v, o } = headOf(layer, head), read = normalised(at('wte.weight'), `h.${layer}.ln_1`);
    const scores = multiply(project(read, q), transpose(project(read, k)));
    return {
        qk: scores.map((row) => row.map((x) => x / Math.sqrt(size))),
        ov: multiply(multiply(read, v.weight), multiply(normalised(o, 'ln_f', true), transpose(at('wte.weight')))),
    };
}

async function press(explorer, name) {
    await explorer.reveal(name);
    await explorer.settled();
    await explorer.click(name);
}
async function open(explorer, { folder, text }) {
    await explorer.openModel(folder, text);
    await explorer.dismiss();
    await explorer.click('lens/circuits');
    await explorer.untilState('the lens', ({ lens }) => lens === 'circuits');
    await explorer.settled();
}
async function part(explorer, name, key) {
    await press(explorer, `circuits/part/${name}`);
    await explorer.until(name, () => explorer.linked('circuits.part'), (now) => now === key);
    await explorer.settled();
}

test('Circuits: what a head looks for and what it writes are products of its weights; a click follows a token', async (explorer) => {
    await open(explorer, tiny);
    const { layer, head, spoken } = await explorer.state();
    const { qk, ov } = circuits(layer, head), query = tiny.ids.at(-1);
    const most = qk[query].indexOf(Math.max(...qk[query]));
    assert.ok(spoken.startsWith(`From its weights alone, “${tiny.words[query]}” matches “${tiny.words[most]}”`), spoken);
    for (const [i, j] of [[query, most], [0, 5], [30, 2]]) {
        near((await told(explorer, own.qk + i, j)).f32, qk[i][j], 2e-5, `the score of ${i} for ${j}`);
    }
    // Follows the suggestion in the first line: a token in the lists, then the other circuit.
    await press(explorer, 'circuits/row/1');
    const key = Number(await explorer.until('the key', () => explorer.linked('circuits.key')));
    assert.equal(qk[query].filter((each) => each > qk[query][key]).length, 1, 'it is the second of the list');
    await part(explorer, 'OV', 'ov');
    for (const [i, j] of [[key, key], [0, 5], [30, 2]]) {
        near((await told(explorer, own.ov + i, j)).f32, ov[i][j], 2e-5, `what ${i} adds to ${j}`);
    }
    const raised = ov[key].indexOf(Math.max(...ov[key]));
    const { spoken: now, fragment } = await explorer.state();
    assert.ok(now.startsWith(`From its weights alone, seeing “${tiny.words[key]}” makes this head raise “${tiny.words[raised]}”`), now);
    // The eigenvalues add up to the trace, which is what all tokens add to themselves.
    const real = await Promise.all(Array.from({ length: size }, (_, i) => told(explorer, own.real, i)));
    near(sum(real.map(({ f64 }) => f64)), sum(ov.map((row, i) => row[i])), 1e-4, 'the trace');
    // The link reopens it in the same state, and undo goes back.
    await explorer.visit('v=1&lens=scale');
    await explorer.untilState('another lens', ({ lens }) => lens === 'scale');
    await explorer.visit(fragment);
    await explorer.untilState('the lens', ({ lens }) => lens === 'circuits');
    await explorer.settled();
    assert.equal((await explorer.state()).spoken, now, 'the link opens it as it was');
    await press(explorer, 'circuits/text');
    await explorer.until('the text’s token', () => explorer.linked('circuits.key'), (link) => link === undefined);
    await explorer.press('Control+Z');
    await explorer.until('the token again', () => explorer.linked('circuits.key'), (link) => link === String(key));
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Circuits: a wire is how far one head reads what another writes, and a click chooses it', async (explorer) => {
    await open(explorer, tiny);
    await part(explorer, 'wiring', 'wiring');
    const centred = (w, gain) => {
        const scaled = w.map((row, i) => row.map((x) => x * gain[i]));
        const mean = transpose(scaled).map((column) => sum(column) / d);
        return scaled.map((row) => row.map((x, a) => x - mean[a]));
    };
    const read = (layer, w) => centred(w, at(`h.${layer}.ln_1.weight`));
    const compose = (from, to, kind) => {
        const one = headOf(0, from), two = headOf(1, to);
        const first = multiply(read(0, one.v.weight), one.o);
        const [q, k] = [read(1, two.q.weight), read(1, two.k.weight)];
        const second = [() => multiply(q, transpose(k)), () => multiply(k, transpose(q)), () => multiply(read(1, two.v.weight), two.o)][kind]();
        return Math.sqrt(squares(multiply(first, second)) / squares(first) / squares(second));
    };
    const all = [0, 1, 2].flatMap((from) => [0, 1, 2].flatMap((to) => [0, 1, 2].map((kind) => ({ from, to, kind, value: compose(from, to, kind) }))));
    for (const { from, to, kind, value } of all) {
        near((await told(explorer, own.wire + 3 * (heads + to) + kind, from)).f32, value, 2e-5, `from ${from} to ${to}, ${'QKV'[kind]}`);
    }
    all.sort((a, b) => b.value - a.value);
    const letter = 'qkv'[all[1].kind];
    await press(explorer, 'circuits/wire/1');
    await explorer.until('the wire', () => explorer.linked('circuits.wire'), (wire) => wire === `${letter}.0.${all[1].from}-1.${all[1].to}`);
    await explorer.settled();
    await press(explorer, `circuits/node/${heads + 2}`);
    await explorer.untilState('the head', ({ layer, head }) => layer === 1 && head === 2);
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Circuits: where positions turn, the map at a distance has the scores of a run’s first layer', async (explorer) => {
    const model = hooked.find(({ name }) => name === 'llama3-scaled-f32');
    await open(explorer, model);
    const { ids } = model, { layer } = await explorer.state();
    assert.equal(layer, 0);
    for (const query of [1, 3, ids.length - 1]) {
        const { f64 } = await explorer.explain('scaled', query, query - 1);
        near((await told(explorer, own.qk + ids[query], ids[query - 1])).f32, f64, 2e-5 * (1 + Math.abs(f64)), `the score at ${query}`);
    }
    await part(explorer, 'positions', 'positions');
    assert.match((await explorer.state()).spoken, /^Positions rotate q and k here: .+ tokens? back\. .+ that score is [\d.−]+\.$/);
    await part(explorer, 'plane', 'plane');
    await press(explorer, 'circuits/point/1');
    await explorer.untilState('the query', ({ query, pin }) => query === 1 && pin?.[0] === 'circuits.plane.query.x.1');
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Circuits: the model that comes with the page has heads that copy', { fragment: 'v=1&subject=sentence&text=The%20animal%20didn%27t%20cross%20the%20street%20because%20it%20was%20too%20tired.%20It&model=storyteller&lens=circuits' }, async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    await explorer.untilState('the storyteller', ({ model, tokens }) => model === 'storyteller' && tokens > 0);
    await explorer.settled();
    assert.match((await explorer.state()).spoken, /^From its weights alone, “It” matches .+ best, out of 2,048 tokens\./);
    await press(explorer, 'circuits/preset/copying');
    await explorer.until('OV', () => explorer.linked('circuits.part'), (now) => now === 'ov');
    const { layer, head, spoken } = await explorer.untilState('its score', ({ spoken: now }) => now.includes('copying score'));
    const { f64: score } = await told(explorer, own.copying + layer, head);
    assert.ok(score > 0.5 && score <= 1, String(score));
    assert.ok(spoken.endsWith(`Its copying score is ${score.toFixed(2)}: on the whole it copies.`), spoken);
    await press(explorer, 'circuits/preset/positions');
    await explorer.untilState('positions', ({ spoken: now }) => now.startsWith('By positions alone'));
    assert.deepEqual(await explorer.notices('error'), []);
});

// Texts of the page for screen readers.
const textOf = (explorer) => explorer.page.evaluate(() => document.body.textContent ?? '');
const inset = 26;  // pixels around the plane
const corpus = (end, axis = 0) => 725_000 + 2 * end + axis;
const vector = async (explorer, end, point) => (await told(explorer, corpus(end), point)).operands.map(([left]) => left);

test('Circuits: texts of one’s own in one plane, with the products of the probe’s queries and keys', async (explorer) => {
    const texts = ['the cat sat near the old door', 'the old cat slept'];
    await explorer.openModel(tiny.folder, texts[1]);
    await explorer.dismiss();
    // A head's numbers in the run of a text, from their explanations.
    const { fragment: plain, layer, head } = await explorer.state();
    const rows = async (name, n) => Promise.all(Array.from({ length: n }, (_, token) =>
        Promise.all(Array.from({ length: size }, async (_unused, a) => (await explorer.explain(name, token, a)).f32))));
    const q = await rows('q', 4), k = await rows('k', 4);
    await explorer.visit(`${plain}&lens=circuits&circuits.part=plane&circuits.source=texts&corpus.texts=${encodeURIComponent(texts.join('\n'))}`);
    await explorer.untilState('the lens', ({ lens }) => lens === 'circuits');
    await explorer.found('circuits/corpus_told');
    await explorer.settled();
    assert.deepEqual([(await explorer.state()).layer, (await explorer.state()).head], [layer, head]);
    await explorer.until('the caption', () => textOf(explorer), (text) => /Placed are 11 tokens of 11/.test(text));
    // The second text follows the seven tokens of the first.
    const points = Array.from({ length: 11 }, (_, point) => point);
    const queries = await Promise.all(points.map((point) => vector(explorer, 0, point)));
    const keys = await Promise.all(points.map((point) => vector(explorer, 1, point)));
    for (let token = 0; token < 4; ++token) {
        allNear(queries[7 + token], q[token], 1e-6, `the query of token ${token}`);
        allNear(keys[7 + token], k[token], 1e-6, `the key of token ${token}`);
    }
    const score = (query, key) => sum(queries[query].map((x, a) => x * keys[key][a])) / Math.sqrt(size);

    // The point at a place is under the mouse there: both axes have the same scale.
    const places = [];
    for (const end of [0, 1]) {
        for (const point of points) {
            places.push({ end, point, at: [(await told(explorer, corpus(end), point)).f64, (await told(explorer, corpus(end, 1), point)).f64] });
        }
    }
    const range = (axis) => [Math.min(...places.map(({ at: place }) => place[axis])), Math.max(...places.map(({ at: place }) => place[axis]))];
    const [[left, right], [low, high]] = [range(0), range(1)], span = Math.max(right - left, high - low);
    await explorer.reveal('circuits/corpus');
    await explorer.settled();
    const picture = await explorer.rect('circuits/corpus'), unit = (picture.right - picture.left - 2 * inset) / span;
    const pixels = places.map(({ at: [x, y] }) => [picture.x + (x - (left + right) / 2) * unit, picture.y - (y - (low + high) / 2) * unit]);
    const alone = places.filter((_, i) => pixels.every((pixel, other) => other === i || Math.hypot(pixel[0] - pixels[i][0], pixel[1] - pixels[i][1]) > 8));
    assert.ok(alone.length >= 6, 'places lie apart');
    for (const { end, point } of alone.slice(0, 6)) {
        const [x, y] = pixels[places.findIndex((each) => each.end === end && each.point === point)];
        await explorer.page.mouse.move(x, y);
        await explorer.untilState(`point ${point} of ${end}`, ({ shown }) => shown?.[0] === `circuits.corpus_plane.${['query', 'key'][end]}.x.${point}`);
    }

    // Texts about a pinned query or key: the highest of the products computed here, and the one with the
    // nearest place.
    for (const [end, point] of [[0, 0], [0, 8], [1, 3]]) {
        await explorer.visit(`${(await explorer.state()).fragment.replace(/&pin=[^&]*/, '')}&pin=number.${corpus(end)}.${point}`);
        await explorer.untilState('the pin', ({ pin }) => pin?.[0] === `circuits.corpus_plane.${['query', 'key'][end]}.x.${point}`);
        await explorer.settled();
        const { spoken } = await explorer.state();
        const all = points.map((to) => (end ? score(to, point) : score(point, to))), most = Math.max(...all);
        const [x, y] = places.find((each) => each.end === end && each.point === point).at;
        const away = places.filter((each) => each.end !== end).map(({ at: [a, b] }) => Math.hypot(a - x, b - y));
        const nearest = away.indexOf(Math.min(...away));
        assert.ok(spoken.startsWith('Of 11 tokens of 2 texts, the '), spoken);
        const [, highest, other] = /highest \(([\d.−-]+)\)(?:; nearest .* \(([\d.−-]+)\)\.|, which is also nearest in the plane\.)$/.exec(spoken);
        const number = (text) => Number(text.replace('−', '-'));
        near(number(highest), most, 0.006, spoken);
        near(other ? number(other) : most, all[nearest], 0.006, spoken);
    }
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Circuits: seeded texts in one plane: 3,000 points, another seed draws others, the link brings them', { fragment: 'v=1&subject=sentence&text=Once%20upon%20a%20time&model=storyteller&lens=circuits&circuits.part=plane' }, async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    await explorer.untilState('the storyteller', ({ model, tokens }) => model === 'storyteller' && tokens > 0);
    await explorer.settled();
    await press(explorer, 'circuits/source/many texts');
    await explorer.until('the texts', () => explorer.linked('circuits.source'), (now) => now === 'texts');
    await explorer.until('the plane', () => explorer.state(), ({ spoken }) => /^Of 1,?500 tokens of \d+ texts/.test(spoken));
    await explorer.settled();
    const first = await vector(explorer, 0, 100);
    await explorer.click('corpus/seed/more');
    await explorer.until('the seed', () => explorer.linked('corpus.seed'), (seed) => seed === '2');
    await explorer.until('another plane', () => textOf(explorer).then(async (text) => [text.includes('written by the program with seed 2'), (await explorer.state()).spoken]), ([seeded, spoken]) => seeded && /^Of 1,?500 tokens of \d+ texts/.test(spoken));
    await explorer.settled();  // the sentence may still belong to the previous texts
    const second = await vector(explorer, 0, 100);
    assert.notDeepEqual(second, first);
    const { fragment } = await explorer.state();
    await explorer.visit('v=1&lens=scale');
    await explorer.untilState('another lens', ({ lens }) => lens === 'scale');
    await explorer.visit(fragment);
    await explorer.until('the plane again', () => textOf(explorer).then(async (text) => [text.includes('written by the program with seed 2'), (await explorer.state()).spoken]), ([seeded, spoken]) => seeded && /^Of 1,?500 tokens of \d+ texts/.test(spoken));
    await explorer.settled();
    assert.deepEqual(await vector(explorer, 0, 100), second);
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Circuits with the keyboard alone: every control has the focus and answers', async (explorer) => {
    await open(explorer, tiny);
    const { page } = explorer;
    const field = page.getByRole('textbox', { name: 'The query token', exact: true });
    await field.focus();
    await explorer.settled();
    await explorer.press('Control+A');
    await page.keyboard.type('cat');
    const cat = tiny.words.indexOf('cat');
    await explorer.until('the cat', () => explorer.linked('circuits.query'), (id) => id === String(cat));
    await explorer.settled();
    const grid = page.getByRole('grid', { name: 'Map, score' });
    await grid.getByRole('gridcell').first().focus();
    await page.keyboard.press('Enter');
    await explorer.untilState('the pin', ({ pin }) => pin?.[0].startsWith('circuits.map.qk.'));
    await explorer.enter('radio', 'wiring');
    await explorer.until('the wiring', () => explorer.linked('circuits.part'), (now) => now === 'wiring');
    await explorer.settled();
    await explorer.enter('button', 'Q');
    await explorer.until('keys and values', () => explorer.linked('circuits.kinds'), (kinds) => kinds === 'kv');
    await explorer.settled();
    await page.getByRole('option', { name: /^0\.\d → 1\.\d\s+[KV]/ }).nth(2).focus();
    await explorer.settled();
    await page.keyboard.press('Enter');
    await explorer.until('a wire', () => explorer.linked('circuits.wire'));
    await explorer.enter('radio', 'plane');
    await explorer.until('the plane', () => explorer.linked('circuits.part'), (now) => now === 'plane');
    await explorer.settled();
    await page.getByRole('option', { name: /^Query of/ }).nth(2).focus();
    await explorer.settled();
    await page.keyboard.press('Enter');
    await explorer.untilState('the query', ({ query }) => query === 2);
    assert.deepEqual(await explorer.notices('error'), []);
});
