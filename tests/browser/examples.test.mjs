// Tests Examples: what the bundled model's heads fire on in many texts, and that an example opens as it was measured.
import assert from 'node:assert/strict';
import { bundled } from './lib/bundled.mjs';
import { skip, test } from './lib/suite.mjs';

async function open(explorer, state = '') {
    if (bundled.absent) skip(bundled.absent);
    await explorer.visit(`v=1&subject=sentence&lens=examples&layer=3${state}`);
    await explorer.untilState('the examples', ({ lens, spoken }) => lens === 'examples' && spoken.startsWith('It fires'));
    await explorer.settled();
}

test('Examples: a head’s strongest pairs stand beside the usual ones, and a link keeps the choice', async (explorer) => {
    await open(explorer);
    const { spoken } = await explorer.state();
    assert.match(spoken, /^It fires most where “.+” looks at “.+”, with an effect of \d/);
    assert.match(spoken, /At the median of [\d,]+ pairs it is [-\d.e]+\.$/);
    await explorer.click('examples/strongest/0/number');
    await explorer.settled();
    const { f32, f64 } = await explorer.explained(await explorer.linked('pin'));
    assert.ok(f32 > 1 && Math.abs(f32 - f64) <= 1e-4 * Math.abs(f64));
    await explorer.click('examples/by/weight');
    await explorer.settled();
    assert.equal(await explorer.linked('examples.by'), 'weight');
    await explorer.press('Control+Z');
    await explorer.settled();
    assert.equal(await explorer.linked('examples.by'), undefined);
});

test('Examples: a click opens the text, in which the head has the same weight', async (explorer) => {
    await open(explorer);
    await explorer.click('examples/by/weight');
    await explorer.settled();
    await explorer.click('examples/strongest/0/number');
    await explorer.settled();
    const { f32 } = await explorer.explained(await explorer.linked('pin'));
    await explorer.click('examples/strongest/0');
    await explorer.settled();
    const { query, key, layer, head } = await explorer.state();
    assert.equal((await explorer.state()).lens, 'overview');
    assert.equal(layer, 3);
    assert.equal(head, 0);
    const there = await explorer.explained(`weight.${query}.${key}`);
    assert.ok(Math.abs(there.f32 - f32) < 1e-5);
    assert.deepEqual(await explorer.notices('error'), []);
});
