// Tests that tokens of a word are combined: they are one row and one column of the map, and one word of the
// flow.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { bundled } from './lib/bundled.mjs';
import { edgesFrom, heaviest } from './lib/flow.mjs';
import { attention, near } from './lib/numbers.mjs';
import { phone, skip, test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

// The page's own model's tokens of its first sentence, and the words: [first token, the one after the last].
const words = ['The', 'animal', "didn't", 'cross', 'the', 'street', 'because', 'it', 'was', 'too', 'tired', '.', 'It'];
const tokens = words.map((_, i) => (i < 2 ? [i, i + 1] : i === 2 ? [2, 4] : [i + 1, i + 2]));

const bare = (name, options, body) => test(name, { fragment: '', ...options }, async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    const state = await explorer.untilRun('the first sentence', ({ text, pieces }) => text === bundled.texts.tired && pieces);
    assert.deepEqual(state.words, words);
    await body(explorer, state);
});

// A word's row is the mean over its tokens, and its column the sum over them.
const merged = (rows, queries = tokens, keys = tokens) => queries.map(([from, to]) => keys.map(([first, last]) =>
    rows.slice(from, to).flatMap((row) => row.slice(first, last)).reduce((a, b) => a + b, 0) / (to - from)));

const saved = async (explorer, menu, item) => readFileSync(await (await explorer.saved(menu, item)).path(), 'utf8');

async function takeWords(explorer) {
    await explorer.click('map/unit/words');
    await explorer.until('words', () => explorer.linked('map'), (map) => map === 'weight,words');
    await explorer.until('as many rows as there are words', () => explorer.rect('map/12/0'));
    await explorer.until('no more', () => explorer.rect('map/13/0'), (rect) => !rect);
}

bare('tokens of a word are one row and one column, which a click explains with its operands', {}, async (explorer, { layer, head }) => {
    const expected = merged(await explorer.attention(layer, head));
    near(expected.map((row) => row.reduce((a, b) => a + b)), expected.map(() => 1), 1e-5, 'sums of rows');
    await takeWords(explorer);
    for (const [query, key] of [[2, 1], [3, 2], [2, 2], [12, 10]]) {
        await explorer.hover(`map/${query}/${key}`);
        await explorer.untilState('the cell under the mouse', ({ shown }) => shown?.[1] === query && shown[2] === key && shown[4] === 1);
        const why = await explorer.explain('weight', query, key, { words: 1 });
        // Rounded once to f32, like every weight that it combines.
        assert.ok(Math.abs(why.f32 - expected[query][key]) < 2e-7, `${why.f32} instead of ${expected[query][key]}`);
        const [rows, columns] = [query, key].map((word) => tokens[word][1] - tokens[word][0]);
        assert.equal(why.operands.length, rows * columns);
        assert.ok(why.operands.every(([, share]) => share === 1 / rows));
    }
    await explorer.click('map/3/2');
    const state = await explorer.untilState('the pin', ({ pin }) => pin?.[1] === 3 && pin[4] === 1);
    assert.deepEqual([state.query, state.key], [4, 3], 'the last token of each word');
    assert.match(state.fragment, /pin=weight\.3\.2\.words/);
    assert.match((await explorer.explain('weight', 3, 2, { words: 1 })).title, /^Weights\["cross", "didn't"\]$/);
    await explorer.page.click('#table');
    assert.match(await explorer.page.innerText('#table-title'), /^Weights between words of storyteller, layer \d+, head \d+$/);
    await explorer.press('Escape');

    await explorer.click('map/unit/tokens');
    await explorer.until('the tokens', () => explorer.rect('map/13/0'));
});

bare('words are found, gone to, kept as places and saved under their names', {}, async (explorer, { layer, head }) => {
    const expected = merged(await explorer.attention(layer, head));
    await takeWords(explorer);
    await explorer.click('find');
    await explorer.page.keyboard.type("didn't");
    await explorer.press('Enter');
    await explorer.untilState('the word', ({ query, key }) => query === 3 && key === 3);
    await explorer.click('find/bright');
    const cells = expected.flatMap((row, query) => row.map((value, key) => ({ value, query, key }))).sort((a, b) => b.value - a.value);
    await explorer.untilState('the brightest cell', ({ query, key }) => query === tokens[cells[0].query][1] - 1 && key === tokens[cells[0].key][1] - 1);

    await explorer.page.click('#undo');  // undoes the choice of words
    await explorer.page.click('#undo');
    await explorer.until('tokens again', () => explorer.linked('map'), (map) => !map);
    await explorer.click('map/unit/words');  // the map keeps its size
    await explorer.until('words', () => explorer.linked('map'), (map) => map === 'weight,words');
    await explorer.click('places/keep');
    await explorer.until('a place, in tokens', () => explorer.linked('places'), (places) => /^\d\.\d\.\d+-\d+\.\d+-\d+$/.test(places ?? ''));

    const csv = await saved(explorer, 'map/save', 'CSV');
    const lines = csv.trim().split('\n').map((line) => line.trim().replaceAll('"', '').split(','));
    const shown = lines[0].slice(1);
    assert.ok(shown.every((name) => words.includes(name)), lines[0].join());
    const [from, first] = [words.indexOf(lines[1][0]), words.indexOf(shown[0])];
    near(lines.slice(1).map((row) => row.slice(1).map(Number)), expected.slice(from, from + lines.length - 1).map((row) => row.slice(first, first + shown.length)), 1e-6, 'saved');
});

bare('other stages have tokens, and say why', {}, async (explorer) => {
    await takeWords(explorer);
    await explorer.click('map/stage/scores');
    await explorer.until('the scores', () => explorer.linked('map'), (map) => map === 'scaled,words');
    await explorer.until('tokens', () => explorer.rect('map/13/0'));
    await explorer.click('map/unit/words');
    await explorer.settled();
    assert.equal(await explorer.linked('map'), 'scaled,words');
    await explorer.until('still tokens', () => explorer.rect('map/13/0'));
    await explorer.click('map/stage/weights');
    await explorer.until('words again', () => explorer.rect('map/13/0'), (rect) => !rect);
});

for (const form of ['arcs', 'columns']) {
    bare(`the flow's ${form} are by words as the map is: which they are, and what they say`, {}, async (explorer, { layer, head }) => {
        const expected = merged(await explorer.attention(layer, head));
        await explorer.click('token/2');  // the first token of "didn't"
        await explorer.untilState('the token', ({ query }) => query === 2);
        await takeWords(explorer);
        await explorer.until('a word fewer', () => explorer.rect('token/13'), (rect) => !rect);
        await explorer.click(`flow/form/${form}`);
        await explorer.until(form, () => explorer.rect('flow/key/12'), (rect) => !!rect === (form === 'columns'));
        assert.deepEqual(await edgesFrom(explorer, 2), heaviest(expected[2], 0.8).sort((a, b) => a - b), 'of the word of the chosen token');
        await explorer.click('token/2');
        await explorer.untilState('no word', ({ query }) => query === undefined);
        await explorer.click('token/3');
        await explorer.untilState('the token of the word', ({ query }) => query === 4);
        assert.deepEqual(await edgesFrom(explorer, 3), heaviest(expected[3], 0.8).sort((a, b) => a - b));
        const key = heaviest(expected[3], 0.8).find((k) => k !== 3);
        await explorer.hover(`flow/edge/3/${key}`);
        await explorer.untilState('its weight', ({ shown }) => shown?.[1] === 3 && shown[2] === key && shown[4] === 1);
        const why = await explorer.explain('weight', 3, key, { words: 1 });
        assert.ok(Math.abs(why.f32 - expected[3][key]) < 2e-7, `${why.f32} instead of ${expected[3][key]}`);
        await explorer.click(`flow/edge/3/${key}`);
        const state = await explorer.untilState('the pin', ({ pin }) => pin?.[1] === 3 && pin[2] === key && pin[4] === 1);
        assert.deepEqual([state.query, state.key], [4, tokens[key][1] - 1]);
    });
}

bare('a key of the flow is a word, which is saved under its name', {}, async (explorer) => {
    await takeWords(explorer);
    await explorer.click('flow/form/columns');
    await explorer.click('flow/key/2');
    await explorer.untilState('the last token of "didn\'t"', ({ query, key }) => query === undefined && key === 3);
    assert.match(await saved(explorer, 'flow/save', 'SVG'), />didn&apos;t</);
});

bare('the flow has tokens where the map has', {}, async (explorer) => {
    await takeWords(explorer);
    await explorer.click('map/stage/scores');
    await explorer.until('the tokens', () => explorer.rect('token/13'));
});

bare('a tap on a phone takes words', { context: phone }, async (explorer) => {
    await explorer.reveal('map/unit/words');
    await explorer.settled();
    await explorer.tap('map/unit/words');
    await explorer.until('words', () => explorer.linked('map'), (map) => map === 'weight,words');
});

// ---- A user's own tensors ---------------------------------------------------------------------------------

const own = { fragment: 'v=1&lens=tensors' };
async function complete(explorer) {
    await explorer.until('the tensors', () => explorer.tensors(), ({ open, phase }) => phase === null && open);
    await explorer.idle();  // the flow settles
}

const grid = (rows, seed) => Array.from({ length: rows }, (_, i) => Array.from({ length: 4 }, (__, j) => Math.fround(2 * Math.sin(seed + 3 * i + 7 * j))));
const [q, k] = [grid(4, 1), grid(7, 2)];
const rectangle = attention({ q, k }).weight;
const finished = npy([4, 7], rectangle.flat());
const asked = [' did', 'n', "'t", ' go'], given = ['The', ' anim', 'al', ' didn', "'t", ' go', '.'];
const [askedWords, givenWords] = [[[0, 3], [3, 4]], [[0, 1], [1, 3], [3, 5], [5, 6], [6, 7]]];

test('queries and keys of one\'s own are merged each to their words', own, async (explorer) => {
    await explorer.drop(...written({ 'attention.npy': finished, 'queries.json': JSON.stringify(asked), 'keys.json': JSON.stringify(given) }));
    await complete(explorer);
    await explorer.until('tokens', () => explorer.rect('map/3/6'));
    await explorer.click('map/unit/words');
    await explorer.until('words', () => explorer.linked('shown'), (map) => map === 'weight,words');
    await explorer.until('fewer', () => explorer.rect('map/3/6'), (rect) => !rect);
    const expected = merged(rectangle, askedWords, givenWords);
    for (const [query, key] of [[0, 1], [1, 2], [0, 4], [1, 0]]) {
        await explorer.hover(`map/${query}/${key}`);
        await explorer.untilState('the cell under the mouse', ({ shown }) => shown?.[1] === query && shown[2] === key && shown[4] === 1);
        const why = await explorer.explain('weight', query, key, { words: 1 });
        assert.ok(Math.abs(why.f32 - expected[query][key]) < 2e-7, `${why.f32} instead of ${expected[query][key]}`);
        const [rows, columns] = [askedWords[query], givenWords[key]].map(([from, to]) => to - from);
        assert.equal(why.operands.length, rows * columns);
        assert.equal(why.provenance, 'head 0 · loaded from attention.npy');
    }
    await explorer.click('map/0/1');
    const state = await explorer.untilState('the pin', ({ pin }) => pin?.[1] === 0 && pin[2] === 1 && pin[4] === 1);
    assert.deepEqual([state.query, state.key], [2, 2], 'the last token of each word');
    assert.match(state.fragment, /pin=weight\.0\.1\.words/);
    assert.equal((await explorer.explain('weight', 0, 1, { words: 1 })).title, 'Weights["didn\'t", "animal"]');
    await explorer.page.click('#table');
    assert.match(await explorer.page.innerText('#table-title'), /^Weights between words of attention\.npy/);
    await explorer.press('Escape');

    await explorer.click('find');
    await explorer.page.keyboard.type('go');
    await explorer.press('Enter');
    await explorer.untilState('the word among the queries', ({ query, key }) => query === 3 && key === 2);
    await explorer.click('find/on');
    await explorer.untilState('and among the keys', ({ key }) => key === 5);
    await explorer.click('find/bright');
    const cells = expected.flatMap((row, query) => row.map((value, key) => ({ value, query, key }))).sort((a, b) => b.value - a.value);
    await explorer.untilState('the brightest cell', ({ query, key }) => query === askedWords[cells[0].query][1] - 1 && key === givenWords[cells[0].key][1] - 1);

    await explorer.click('map/unit/tokens');
    await explorer.until('tokens again', () => explorer.linked('shown'), (map) => map === undefined);
    await explorer.page.click('#undo');
    await explorer.until('a step back', () => explorer.linked('shown'), (map) => map === 'weight,words');
});

test('in columns queries and keys of one\'s own are words', own, async (explorer) => {
    await explorer.drop(...written({ 'q.npy': npy([4, 4], q.flat()), 'k.npy': npy([7, 4], k.flat()), 'tokens.json': JSON.stringify(given) }));
    await complete(explorer);
    await explorer.click('map/unit/words');
    await explorer.until('words', () => explorer.linked('shown'), (map) => map === 'weight,words');
    await explorer.until('the keys\' words', () => explorer.rect('flow/key/5'), (rect) => !rect);
    await explorer.until('the queries\' positions', () => explorer.rect('token/3'));
    const expected = merged(rectangle, rectangle.map((_, i) => [i, i + 1]), givenWords);
    await explorer.click('token/2');
    await explorer.untilState('the query', ({ query }) => query === 2);
    assert.deepEqual(await edgesFrom(explorer, 2), heaviest(expected[2], 0.8).sort((a, b) => a - b));
    await explorer.click('token/2');
    await explorer.untilState('no query', ({ query }) => query === undefined);
    await explorer.click('flow/key/1');
    await explorer.untilState('the last token of the key', ({ key }) => key === 2);
    // Scores exist only for tokens, on the map and in the flow.
    await explorer.click('map/stage/scores');
    await explorer.until('tokens', () => explorer.rect('flow/key/6'));
    await explorer.until('the map of tokens', () => explorer.rect('map/3/6'));
    await explorer.click('map/stage/weights');
    await explorer.until('words', () => explorer.rect('flow/key/6'), (rect) => !rect);
    // Another rule leads to a new computation.
    await explorer.click('tensors/causal/yes');
    await complete(explorer);
    const causal = merged(attention({ q, k, allowed: (i, j) => j <= i }).weight, rectangle.map((_, i) => [i, i + 1]), givenWords);
    const why = await explorer.explain('weight', 3, 1, { words: 1 });
    assert.ok(Math.abs(why.f32 - causal[3][1]) < 1e-6, `${why.f32} instead of ${causal[3][1]}`);
});

test('weights of one\'s own have arcs between words', own, async (explorer) => {
    const rows = attention({ q: k, k, allowed: (i, j) => j <= i }).weight, n = rows.length;
    await explorer.drop(...written({ 'attention.npy': npy([2, n, n], [...rows.flat(), ...rows.flat()]), 'tokens.json': JSON.stringify(given) }));
    await complete(explorer);
    await explorer.click('token/3');  // the first token of "didn't"
    await explorer.untilState('the token', ({ query }) => query === 3);
    await explorer.click('map/unit/words');
    await explorer.until('words', () => explorer.rect('token/5'), (rect) => !rect);
    const expected = merged(rows, givenWords, givenWords);
    assert.deepEqual(await edgesFrom(explorer, 2), heaviest(expected[2], 0.8).sort((a, b) => a - b));
    const key = heaviest(expected[2], 0.8).find((j) => j !== 2);
    await explorer.click(`flow/edge/2/${key}`);
    const { fragment } = await explorer.untilState('the pin', ({ pin }) => pin?.[1] === 2 && pin[2] === key && pin[4] === 1);
    // The link restores them.
    await explorer.visit(fragment.replace('shown=weight,words', 'shown=weight').replace('.words', ''));
    await explorer.until('tokens', () => explorer.rect('token/6'));
    await explorer.visit(fragment);
    await explorer.until('words', () => explorer.rect('token/6'), (rect) => !rect);
    await explorer.untilState('their pin', ({ pin }) => pin?.[4] === 1);
});

test('where no tokens are merged there is no choice of words', own, async (explorer) => {
    const files = { 'q.npy': npy([4, 4], q.flat()), 'k.npy': npy([7, 4], k.flat()) };
    await explorer.drop(...written(files));
    await complete(explorer);
    await explorer.until('the map', () => explorer.rect('map/3/6'));
    assert.equal(await explorer.rect('map/unit/words'), undefined);
    await explorer.drop(...written({ 'tokens.json': JSON.stringify([' a', ' b', ' c', ' d', ' e', ' f', '.']) }));
    await explorer.until('the tokens', () => explorer.explain('weight', 0, 0), (why) => why?.title === 'Weights["0", "·a"]');
    await complete(explorer);
    assert.equal(await explorer.rect('map/unit/words'), undefined);
    await explorer.drop(...written({ ...files, 'tokens.json': JSON.stringify(given) }));
    await explorer.until('a choice', () => explorer.rect('map/unit/words'));
});

test('a tap on a phone takes words of one\'s own', { ...own, context: phone }, async (explorer) => {
    const choosing = explorer.page.waitForEvent('filechooser');
    await explorer.tap('tensors/choose');
    await (await choosing).setFiles(written({ 'attention.npy': finished, 'queries.json': JSON.stringify(asked), 'keys.json': JSON.stringify(given) }));
    await complete(explorer);
    await explorer.reveal('map/unit/words');
    await explorer.settled();
    await explorer.tap('map/unit/words');
    await explorer.until('words', () => explorer.linked('shown'), (map) => map === 'weight,words');
});

bare('words that are not ASCII read as characters, and the parts of a character say so', {}, async (explorer) => {
    await explorer.write('Die Größe, Привет مرحبا 猫.');
    const { words: read, pieces } = await explorer.untilRun('the run', ({ text, tokens: count }) => text.startsWith('Die') && count > 5);
    assert.deepEqual(read.filter((word) => word !== '·'), ['Die', 'Größe', ',', 'Привет', 'مرحبا', '猫', '.']);
    assert.ok(pieces.every((piece) => !/\\x|\ufffd/.test(piece)), pieces.join(' '));
    assert.ok(pieces.some((piece) => piece.includes('⟨猫 1/')), pieces.join(' '));
});
