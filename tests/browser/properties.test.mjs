// Tests Properties: all nine hold in a small model, a change of the run breaks one, and a click leads to its worst cell.
import assert from 'node:assert/strict';
import { tiny } from './lib/models.mjs';
import { phone, test } from './lib/suite.mjs';

async function open(explorer, more = '') {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.dismiss();
    const { fragment } = await explorer.state();
    await explorer.visit(`${fragment}&lens=properties${more}`);
    await explorer.untilState('the lens', ({ lens, spoken }) => lens === 'properties' && !spoken.startsWith('Checking'));
    await explorer.idle();
}

test('Properties: all nine hold in a model, a constant and an order change what is checked, and undo takes them back', async (explorer) => {
    await open(explorer);
    assert.match((await explorer.state()).spoken, /^All 9 properties hold here; nearest to a bound: .+ of .+\.$/);
    await explorer.click('properties/property/4/1');
    await explorer.until('the pinned error', () => explorer.linked('pin'), (now) => now === 'properties.error.shift');
    assert.equal(await explorer.linked('properties.show'), 'shift');
    await explorer.click('properties/try/constant');
    await explorer.until('the constant', () => explorer.linked('properties.constant'), (now) => now === '1000');
    await explorer.idle();
    assert.match((await explorer.state()).spoken, /^All 9 properties hold here/);
    await explorer.page.locator('#undo').click();
    await explorer.until('no constant', () => explorer.linked('properties.constant'), (now) => now === undefined);
});

test('Properties: a weight that is set breaks its row, and a click leads there', async (explorer) => {
    await open(explorer, '&changes=weight,0,0,3,1,set,0.75&properties.show=rows');
    assert.match((await explorer.state()).spoken, /propert(y|ies) fail.+“Rows sum to 1”\./);
    await explorer.click('properties/try/worst');
    await explorer.untilState('the worst row', ({ lens, pin }) => lens !== 'properties' && Boolean(pin));
});

test('Properties fits a phone', { context: phone }, async (explorer) => {
    await open(explorer);
    await explorer.found('properties/property/0/0');
});
