// Lens Sentence by words: the tokens of a word as one row and one column of the map.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { bundled } from './lib/bundled.mjs';
import { near } from './lib/numbers.mjs';
import { skip, test } from './lib/suite.mjs';

// How the page's own model splits its first sentence, and the words of it: [first token, the one after the last].
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

// From a word the mean over its tokens, to a word the sum over its tokens.
const merged = (rows) => tokens.map(([from, to]) => tokens.map(([first, last]) =>
    rows.slice(from, to).flatMap((row) => row.slice(first, last)).reduce((a, b) => a + b, 0) / (to - from)));

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
        // Rounded once to f32, as every weight under it.
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
    assert.match(await explorer.page.innerText('#table-title'), /^Weights between words, layer \d+, head \d+$/);
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

    await explorer.page.click('#undo');
    await explorer.until('tokens again', () => explorer.linked('map'), (map) => !map);
    await explorer.click('map/unit/words');  // the map stays as large as it was
    await explorer.until('words', () => explorer.linked('map'), (map) => map === 'weight,words');
    await explorer.click('places/keep');
    await explorer.until('a place, in tokens', () => explorer.linked('places'), (places) => /^\d\.\d\.\d+-\d+\.\d+-\d+$/.test(places ?? ''));

    await explorer.click('map/save');
    await explorer.until('what can be saved', () => explorer.rect('map/save/CSV'));
    await explorer.settled();
    const download = explorer.page.waitForEvent('download');
    const { x, y } = await explorer.rect('map/save/CSV');
    await explorer.page.mouse.click(x, y);
    const lines = readFileSync(await (await download).path(), 'utf8').trim().split('\n').map((line) => line.trim().replaceAll('"', '').split(','));
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

bare('a tap on a phone takes words', { context: { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true, deviceScaleFactor: 2 } }, async (explorer) => {
    await explorer.reveal('map/unit/words');
    await explorer.settled();
    await explorer.tap('map/unit/words');
    await explorer.until('words', () => explorer.linked('map'), (map) => map === 'weight,words');
});
