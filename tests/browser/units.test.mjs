// Tests larger units: sentences, spans with names, and means over heads, in maps, flows and scores.
import assert from 'node:assert/strict';
import { bundled } from './lib/bundled.mjs';
import { near } from './lib/numbers.mjs';
import { phone, skip, test } from './lib/suite.mjs';

const bare = (name, options, body) => test(name, { fragment: '', ...options }, async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    const state = await explorer.untilRun('the first sentence', ({ text, pieces }) => text === bundled.texts.tired && pieces);
    await body(explorer, state);
});

// Tokens 3 to 6 are one unit, every other one its own: [first token, the one after the last].
const groups = (count) => Array.from({ length: count - 3 }, (_, i) => (i < 3 ? [i, i + 1] : i === 3 ? [3, 7] : [i + 3, i + 4]));
const merged = (rows, units) => units.map(([from, to]) => units.map(([first, last]) =>
    rows.slice(from, to).flatMap((row) => row.slice(first, last)).reduce((a, b) => a + b, 0) / (to - from)));

async function press(explorer, name, how = 'click') {
    await explorer.reveal(name);
    await explorer.settled();
    await explorer[how](name);
    await explorer.settled();
}

async function nameSpan(explorer, how) {
    await press(explorer, 'map/unit/spans', how);
    await press(explorer, 'map/span/new', how);
    await press(explorer, 'span/token/3', how);
    await press(explorer, 'span/token/6', how);
    await press(explorer, 'span/name', how);
    await explorer.page.keyboard.type('did it');
    await explorer.settled();
    await press(explorer, 'span/add', how);
    await explorer.until('the span', () => explorer.linked('sentence.spans'), (spans) => spans === '3-6.did it');
}

bare('a span that is named is one row and one column of map and flow, and its cells explain themselves', {}, async (explorer, { layer, head, pieces }) => {
    await nameSpan(explorer, 'click');
    const units = groups(pieces.length), expected = merged(await explorer.attention(layer, head), units);
    near(expected.map((row) => row.reduce((a, b) => a + b)), expected.map(() => 1), 1e-5, 'sums of rows');
    assert.equal(await explorer.linked('map'), 'weight,spans');
    await explorer.until('a row for each unit', () => explorer.rect(`map/${units.length - 1}/0`));
    assert.equal(await explorer.rect(`map/${units.length}/0`), undefined);
    for (const [query, key] of [[3, 1], [4, 3], [units.length - 1, 3]]) {
        const why = await explorer.explained(`weight.${query}.${key}.spans`);
        // Rounded once to f32, like every weight that it combines.
        assert.ok(Math.abs(why.f32 - expected[query][key]) < 2e-7, `${why.f32} instead of ${expected[query][key]}`);
    }
    await press(explorer, 'map/4/3');
    const { fragment } = await explorer.untilState('the pin', ({ pin }) => pin?.[1] === 4 && pin[4] === 3);
    assert.match(fragment, /pin=weight\.4\.3\.spans/);
    await press(explorer, 'map/span/0');
    await explorer.until('no span', () => explorer.linked('sentence.spans'), (spans) => spans === undefined);
    await explorer.press('Control+Z');
    await explorer.until('the span again', () => explorer.linked('sentence.spans'), (spans) => spans === '3-6.did it');
    await explorer.visit('v=1&subject=worked');
    await explorer.visit(fragment);
    await explorer.untilState('the pin from the link', ({ pin }) => pin?.[1] === 4 && pin[4] === 3);
});

bare('a tap on a phone names a span', { context: phone }, async (explorer) => {
    await explorer.dismiss();
    await explorer.settled();
    await nameSpan(explorer, 'tap');
});

bare('means over heads stand below the heads, and are chosen, explained and undone like them', {}, async (explorer, { layer, head }) => {
    const heads = await Promise.all(Array.from({ length: 8 }, (_, i) => explorer.attention(layer, i)));
    await explorer.until('the means', () => explorer.rect(`mean/${layer}`));
    await press(explorer, `mean/${layer}`);
    await explorer.until('the mean', () => explorer.linked('map'), (map) => map === 'weight,layer_mean');
    const query = heads[0].length - 1;
    for (const key of [1, query]) {
        const why = await explorer.explained(`weight.${query}.${key}.layer_mean`);
        const mean = heads.reduce((sum, rows) => sum + rows[query][key], 0) / heads.length;
        assert.ok(Math.abs(why.f32 - mean) < 1e-7, `${why.f32} instead of ${mean}`);
        assert.equal(why.operands.length, heads.length);
    }
    await press(explorer, `head/${layer}/${head}`);
    await explorer.until('the head', () => explorer.linked('map'), (map) => map === undefined);
    await explorer.press('Control+Z');
    await explorer.until('the mean again', () => explorer.linked('map'), (map) => map === 'weight,layer_mean');
});

bare('a lens that stays with tokens says why where the map shows larger units', {}, async (explorer) => {
    await press(explorer, 'map/unit/words');
    const { fragment } = await explorer.state();
    await explorer.visit(`${fragment}&lens=ladder`);
    await explorer.until('the sentence', () => explorer.rect('tokens-alone'));
    await explorer.visit(`${fragment}&lens=layers`);
    await explorer.untilState('the lens', ({ lens }) => lens === 'layers');
    await explorer.settled();
    assert.equal(await explorer.rect('tokens-alone'), undefined);
});
