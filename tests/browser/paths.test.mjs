// Tests Paths: a logit that is the sum of what enters it, the share that is kept, what a model keeps with
// these edges alone, and the ways on from a head.
import assert from 'node:assert/strict';
import { bundled } from './lib/bundled.mjs';
import { tiny } from './lib/models.mjs';
import { near as allNear } from './lib/numbers.mjs';
import { phone, skip, test } from './lib/suite.mjs';

const near = (actual, expected, tolerance, what) => allNear([actual], [expected], tolerance, what);
const node = /^paths\/graph\/(\d+)$/;
const told = /^(These \d+ edges keep|This edge keeps) -?[\d.]+ of -?[\d.]+ for .+; random ones -?[\d.]+ on average \(-?[\d.]+ to -?[\d.]+\)\./;
// GPT-2 of two layers with three heads has so many nodes at each token.
const nodesAtToken = 1 + 2 * (3 + 1);

const done = (explorer, what = 'the proof') => explorer.untilState(what, ({ spoken }) => told.test(spoken));
const kept = (state) => Number(/^(?:These (\d+)|This) edges?/.exec(state.spoken)[1] ?? 1);
const nodes = async (explorer) => Object.keys(await explorer.landmarks()).flatMap((name) => (node.test(name) ? [Number(node.exec(name)[1])] : []));

async function press(explorer, name) {
    await explorer.reveal(name);
    await explorer.settled();
    await explorer.click(name);
    await explorer.settled();
}

async function open(explorer, state = '') {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.dismiss();
    const { fragment } = await explorer.state();
    await explorer.visit(`${fragment}&lens=paths${state}`);
    await explorer.untilState('the lens', ({ lens }) => lens === 'paths');
    return done(explorer);
}

async function openBundled(explorer) {
    if (bundled.absent) skip(bundled.absent);
    await explorer.visit('v=1&subject=sentence&lens=paths');
    await done(explorer);
    await explorer.settled();
}

test('Paths: what enters a logit adds up to PyTorch’s, and a link keeps share, merged nodes and pin', async (explorer) => {
    await open(explorer);
    const logit = nodesAtToken * tiny.ids.length, most = Math.max(...tiny.logits);
    const why = await explorer.explained(`paths.node.${logit}.each`);
    near(why.f64, most, 1e-4, 'the logit');
    const graph = await nodes(explorer);
    assert.ok(graph.includes(logit));
    await press(explorer, `paths/graph/${graph[0]}`);
    await explorer.until('the pin', () => explorer.linked('pin'), (pin) => pin === `paths.node.${graph[0]}.each`);
    await press(explorer, 'paths/strongest/0');
    const pin = await explorer.until('the edge', () => explorer.linked('pin'), (now) => now?.startsWith('paths.edge.'));
    const { f32, f64 } = await explorer.explained(pin);
    near(f32, f64, 1e-6 * (1 + Math.abs(f64)), 'the edge in f32');
    await press(explorer, 'paths/merged/tokens');
    assert.equal(await explorer.linked('paths.merged'), 'tokens');
    const { fragment, spoken } = await done(explorer);
    await explorer.press('Control+Z');
    await explorer.until('single nodes', () => explorer.linked('paths.merged'), (merged) => merged === undefined);
    await explorer.visit(fragment);
    await explorer.untilState('the link', (state) => state.fragment === fragment && state.spoken === spoken);
    assert.deepEqual(await explorer.notices('error'), []);
});

test('Paths: the slider and the line in the curve keep more, by mouse and by keyboard, and undo takes it back', async (explorer) => {
    const before = kept(await open(explorer, '&paths.share=0.2'));
    const share = async () => Number(await explorer.linked('paths.share') ?? 0.6);
    await explorer.drag('paths/share', 60, 0.2);
    const dragged = await explorer.until('a larger share', share, (now) => now > 0.25);
    await explorer.settled();
    assert.ok(kept(await done(explorer)) >= before);
    await explorer.focus('slider', 'keep');
    await explorer.press('ArrowRight');
    near(await explorer.until('a percent more', share, (now) => now !== dragged), dragged + 0.01, 1e-9, 'the share');
    await explorer.settled();
    await explorer.press('Control+Z');
    await explorer.until('the dragged share', share, (now) => now === dragged);
    await explorer.press('Control+Z');
    await explorer.until('the first share', share, (now) => now === 0.2);
    await explorer.settled();
    const { left, right, y } = await explorer.reveal('chart/paths-kept');
    await explorer.dragBetween({ x: (left + right) / 2, y }, { x: right - 20, y }, 6);
    await explorer.until('a share of the curve', share, (now) => now > 0.2);
});

test('Paths: a head leads to its weights and to why it attends to its strongest key', async (explorer) => {
    await open(explorer, '&paths.share=0.9');
    const last = tiny.ids.length;
    // The heads of the first layer follow the embeddings.
    const head = (await nodes(explorer)).find((each) => each >= last && each < 4 * last);
    await explorer.page.getByRole('option', { name: /^head 0\.\d at / }).first().waitFor({ state: 'attached' });
    await press(explorer, `paths/graph/${head}`);
    const wanted = { layer: 0, head: Math.floor(head / last) - 1, query: head % last };
    await explorer.untilState('the head', (now) => now.layer === 0 && now.head === wanted.head && now.query === wanted.query);
    await press(explorer, 'paths/why');
    await explorer.untilState('its sources', (now) => now.lens === 'sources' && now.query === wanted.query);
    await explorer.press('Control+Z');
    await explorer.untilState('the paths', ({ lens }) => lens === 'paths');
    await explorer.settled();
    await press(explorer, 'paths/weights');
    await explorer.untilState('its weights', (now) => now.lens === 'overview' && now.head === wanted.head);
});

test('Paths: a node is pinned by keyboard', async (explorer) => {
    await open(explorer);
    const button = explorer.page.getByRole('option', { name: /^the logit of / }).first();
    await button.focus();
    await explorer.settled();
    await explorer.press('Enter');
    const logit = nodesAtToken * tiny.ids.length;
    await explorer.until('the pin', () => explorer.linked('pin'), (pin) => pin === `paths.node.${logit}.each`);
});

test('Paths: presets of the bundled models have their proof', async (explorer) => {
    await openBundled(explorer);
    for (const [key, token] of [['pronoun', '“animal”'], ['induction', '“stone”']]) {
        await press(explorer, `paths/preset/${key}`);
        const { spoken } = await explorer.untilState(key, (now) => told.test(now.spoken) && now.spoken.includes(token));
        const [, proof, random] = /keep (-?[\d.]+) of .+; random ones (-?[\d.]+) on average/.exec(spoken);
        assert.ok(Number(proof) > Number(random) + 5, spoken);
    }
    await press(explorer, 'paths/preset/agreement');
    await explorer.untilState('the translator', ({ model, spoken }) => model === 'translator' && told.test(spoken) && spoken.includes('“entendue” over “entendu”'));
});

test('Paths: on a phone a tap pins a node', { context: phone }, async (explorer) => {
    await openBundled(explorer);
    const [first] = await nodes(explorer);
    await explorer.reveal(`paths/graph/${first}`);
    await explorer.settled();
    await explorer.tap(`paths/graph/${first}`);
    await explorer.until('the pin', () => explorer.linked('pin'), (pin) => pin === `paths.node.${first}.each`);
});
