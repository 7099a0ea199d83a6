// Tests all heads of a sentence at once: in layers, in the order of a score, and as points over two scores.
import assert from 'node:assert/strict';
import { tiny } from './lib/models.mjs';
import { headScores } from './lib/numbers.mjs';
import { phone, test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

// The page's measurements of every head, from the weights that PyTorch computed: {layer, head, entropy,
// first, …}.
const scored = headScores(tiny.attention, tiny.ids);
const name = ({ layer, head }) => `head/${layer}/${head}`;
const strongestFirst = (score) => [...scored].sort((a, b) => b[score] - a[score]).map(name);

// The two scores that spread most: s_a s_b (1 − |ρ|), where s is the deviation relative to the largest value
// and ρ the rank correlation (no two heads are equal here).
function widestOf(scores) {
    const mean = (all) => all.reduce((a, b) => a + b, 0) / all.length;
    const moment = (a, b) => mean(a.map((x, i) => (x - mean(a)) * (b[i] - mean(b))));
    const values = (score) => scored.map((head) => head[score]);
    const spread = (score) => Math.sqrt(moment(values(score), values(score))) / Math.max(...values(score));
    const ranks = (score) => values(score).map((x, _, all) => all.filter((y) => y < x).length);
    const pairs = scores.flatMap((a, i) => scores.slice(i + 1).map((b) => {
        const rho = moment(ranks(a), ranks(b)) / Math.sqrt(moment(ranks(a), ranks(a)) * moment(ranks(b), ranks(b)));
        return { pair: spread(b) > spread(a) ? [b, a] : [a, b], apart: spread(a) * spread(b) * (1 - Math.abs(rho)) };
    }));
    return pairs.sort((a, b) => b.apart - a.apart)[0].pair.join();
}
const widest = widestOf(['entropy', 'first', 'previous', 'duplicate', 'induction', 'distance']);

async function choose(explorer, menu, score) {
    await explorer.click(menu);
    await explorer.until('the list of scores', () => explorer.rect(`${menu}/${score}`));
    await explorer.settled();  // a list finds its place in its first frames
    const { x, y } = await explorer.rect(`${menu}/${score}`);
    await explorer.page.mouse.move(x, y);
    await explorer.page.mouse.click(x, y);
}

// The heads on the screen, as a user reads them.
async function read(explorer) {
    await explorer.reveal('head/0/0');
    await explorer.settled();
    const marks = Object.entries(await explorer.landmarks()).filter(([mark]) => /^head\//.test(mark));
    return marks.sort(([, a], [, b]) => (Math.abs(a[1] - b[1]) > 4 ? a[1] - b[1] : a[0] - b[0])).map(([mark]) => mark);
}

const untilHead = (explorer, mark) =>
    explorer.untilState(mark, ({ layer, head }) => `head/${layer}/${head}` === mark);

test('heads stand in the order of every score, arrow keys walk along it, undo goes back', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    assert.deepEqual(await read(explorer), scored.map(name), 'in layers');
    await explorer.click('heads/view/by score');
    await explorer.until('the order', () => explorer.linked('heads'), (heads) => heads === 'induction');
    for (const score of ['previous', 'first', 'distance', 'entropy']) {
        await choose(explorer, 'heads/by', score);
        await explorer.until(score, () => explorer.linked('heads'), (heads) => heads === score);
        assert.deepEqual(await read(explorer), strongestFirst(score), score);
    }
    const order = strongestFirst('entropy');
    await explorer.click(order[1]);
    await untilHead(explorer, order[1]);
    await explorer.press('ArrowRight', 'ArrowRight');
    await untilHead(explorer, order[3]);
    await explorer.press('ArrowLeft');
    await untilHead(explorer, order[2]);

    await explorer.page.click('#undo');  // undoes the heads
    await explorer.page.click('#undo');
    await explorer.until('the order before', () => explorer.linked('heads'), (heads) => heads === 'distance');
    await explorer.click('heads/view/by layer');
    await explorer.until('the layers', async () => await explorer.linked('heads') === undefined);
    assert.deepEqual(await read(explorer), scored.map(name), 'in layers again');
});

test('heads are points over two scores; a click chooses one, arrow keys the next along an axis', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('heads/view/scatter');
    await explorer.until('the scatter', () => explorer.linked('heads'), (heads) => heads === widest);
    await choose(explorer, 'heads/up', 'entropy');
    await explorer.until('the axis upwards', () => explorer.linked('heads'), (heads) => heads === `${widest.split(',')[0]},entropy`);
    await choose(explorer, 'heads/across', 'distance');
    await explorer.until('the axis across', () => explorer.linked('heads'), (heads) => heads === 'distance,entropy');
    await explorer.reveal('heads/scatter');
    await explorer.settled();

    // Both axes are linear and begin at 0, where the plot's edge is 10 points away.
    const plot = await explorer.rect('heads/scatter');
    const places = await explorer.rects(...scored.map(name));
    const axes = { distance: ({ x }) => x - plot.left - 10, entropy: ({ y }) => plot.bottom - 10 - y };
    for (const [score, place] of Object.entries(axes)) {
        const scales = scored.map((each, i) => place(places[i]) / each[score]);
        assert.ok(Math.max(...scales) / Math.min(...scales) < 1.03, `${score}: ${scales}`);
    }

    const far = [...scored].sort((a, b) => b.distance - a.distance);
    await explorer.click(name(far[1]));
    await untilHead(explorer, name(far[1]));
    await explorer.press('ArrowRight');
    await untilHead(explorer, name(far[0]));
    await explorer.press('ArrowLeft', 'ArrowLeft');
    await untilHead(explorer, name(far[2]));
});

test('a link says how heads are shown, and what it cannot mean is said',
    { fragment: `v=1&lens=sentence&heads=brightness&text=${encodeURIComponent(tiny.text)}` },
    async (explorer) => {
        await explorer.untilNotice(/'brightness' for 'heads' is not entropy, first, previous, duplicate, induction, distance, itself or spread/);
        const { fragment } = await explorer.state();
        assert.ok(!fragment.includes('heads='), fragment);
        await explorer.dismiss();
        await explorer.drop(tiny.folder);
        await explorer.untilRun('the sentence of the link', ({ tokens }) => tokens === tiny.ids.length);
        const { fragment: open } = await explorer.state();
        await explorer.visit(`${open}&heads=first`);
        await explorer.until('the order', () => explorer.linked('heads'), (heads) => heads === 'first');
        assert.deepEqual(await read(explorer), strongestFirst('first'));
    });

test('on a phone a tap on a thumbnail or on a point chooses its head',
    { context: phone },
    async (explorer) => {
        await explorer.openModel(tiny.folder, tiny.text);
        await explorer.dismiss();  // a notice may cover the head to tap
        await explorer.click('heads/view/by score');
        await explorer.until('the order', () => explorer.linked('heads'));
        // Thumbnails have landmarks only while they are in view.
        const { right, y } = await explorer.rect('panel/lens');
        await explorer.page.mouse.move(right - 4, y);
        await explorer.until('the thumbnail to scroll into view', async () => {
            await explorer.page.mouse.wheel(0, 120);
            return explorer.rect('head/1/2');
        });
        await explorer.settled();
        await explorer.tap('head/1/2');
        await untilHead(explorer, 'head/1/2');
        await explorer.click('heads/view/scatter');
        await explorer.until('the scatter', () => explorer.linked('heads'), (heads) => heads?.includes(','));
        await explorer.settled();  // until then the thumbnail may be where the point will be
        await explorer.reveal('head/1/0');
        await explorer.settled();
        await explorer.tap('head/1/0');
        await untilHead(explorer, 'head/1/0');
    });

// ---- A user's own tensors ---------------------------------------------------------------------------------

const own = { fragment: 'v=1&lens=tensors' };
const layers = tiny.attention.length, heads = tiny.attention[0].length, n = tiny.ids.length;
const file = () => ({ 'attention.npy': npy([layers, heads, n, n], tiny.attention.flat(3)) });
const tokens = () => ({ 'tokens.json': JSON.stringify(tiny.ids.map((id) => `t${id}`)) });

async function complete(explorer, what) {
    await explorer.until(what, () => explorer.tensors(), ({ open, phase }) => phase === null && open);
    await explorer.idle();
}

test('finished weights stand in the order of every score, and as points', own, async (explorer) => {
    await explorer.drop(...written({ ...file(), ...tokens() }));
    await complete(explorer, 'weights with tokens');
    assert.deepEqual(await read(explorer), scored.map(name), 'in layers');
    await explorer.click('heads/view/by score');
    await explorer.until('the order', () => explorer.linked('sorted'), (sorted) => sorted === 'induction');
    assert.deepEqual(await read(explorer), strongestFirst('induction'), 'induction');
    for (const score of ['duplicate', 'distance', 'entropy']) {
        await choose(explorer, 'heads/by', score);
        await explorer.until(score, () => explorer.linked('sorted'), (sorted) => sorted === score);
        assert.deepEqual(await read(explorer), strongestFirst(score), score);
    }
    const order = strongestFirst('entropy');
    await explorer.click(order[1]);
    await untilHead(explorer, order[1]);
    await explorer.press('ArrowRight');
    await untilHead(explorer, order[2]);

    await explorer.click('heads/view/scatter');
    await explorer.until('the scatter', () => explorer.linked('sorted'), (sorted) => sorted === widest);
    const far = [...scored].sort((a, b) => b[widest.split(',')[0]] - a[widest.split(',')[0]]);
    await explorer.click(name(far[2]));
    await untilHead(explorer, name(far[2]));
    await explorer.press('ArrowRight');
    await untilHead(explorer, name(far[1]));
    assert.equal(await explorer.linked('heads'), undefined, 'the sentence keeps its own order');
});

test('scores that need tokens say so until the tokens are there', { fragment: 'v=1&lens=tensors&sorted=duplicate' }, async (explorer) => {
    await explorer.drop(...written(file()));
    await complete(explorer, 'weights without tokens');
    assert.deepEqual(await read(explorer), scored.map(name), 'there is nothing to sort by');
    await choose(explorer, 'heads/by', 'induction');
    await explorer.settled();
    assert.equal(await explorer.linked('sorted'), 'duplicate', 'induction cannot be chosen');
    const { x, y } = await explorer.rect('heads/by/previous');  // the list is still open
    await explorer.page.mouse.click(x, y);
    await explorer.until('previous token', () => explorer.linked('sorted'), (sorted) => sorted === 'previous');
    assert.deepEqual(await read(explorer), strongestFirst('previous'));
    await explorer.drop(...written(tokens()));
    await explorer.until('the tokens', () => explorer.explain('weight', 0, 0), (why) => why?.title.includes(`t${tiny.ids[0]}`));
    await complete(explorer, 'weights with tokens');
    await choose(explorer, 'heads/by', 'induction');
    await explorer.until('induction', () => explorer.linked('sorted'), (sorted) => sorted === 'induction');
    assert.deepEqual(await read(explorer), strongestFirst('induction'));
});
