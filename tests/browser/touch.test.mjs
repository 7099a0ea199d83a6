// Tests fingers on a phone: a swipe scrolls wherever it begins, a sideways drag edits, a tap chooses, and
// nothing stays hovered over.
import assert from 'node:assert/strict';
import { bundled } from './lib/bundled.mjs';
import { finger } from './lib/fingers.mjs';
import { phone, skip, test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

const starts = 30;

const lenses = ['overview', 'ladder', 'compare', 'scale', 'masks', 'softmax', 'gradient', 'inverse', 'order', 'tiles', 'geometry',
    'memory', 'sources', 'paths', 'layers', 'knockout', 'steer', 'examples', 'heads', 'circuits', 'cache', 'cost', 'properties'];

/** The places of everything in the lens, from its top to its bottom. */
async function places(explorer) {
    const all = await explorer.landmarks();
    const [, top, , bottom] = all['panel/lens'];
    return new Map(Object.entries(all).filter(([name, rect]) => !name.startsWith('panel/') && rect[1] > top - 2000 && rect[3] < bottom + 4000)
        .map(([name, rect]) => [name, rect[1]]));
}

const seen = [...lenses.map((lens) => ['a sentence', '', lens]), ...['ladder', 'scale', 'softmax'].map((lens) => ['the example', 'v=1&lens=worked', lens])];

for (const [subject, fragment, lens] of seen) {
    test(`a swipe scrolls ${lens} of ${subject} wherever it begins, and changes nothing`, { context: phone, fragment }, async (explorer) => {
        if (!fragment && bundled.absent) {
            skip(bundled.absent);
        }
        await explorer.settled();
        const open = new URLSearchParams((await explorer.state()).fragment);
        open.set('lens', lens);
        await explorer.page.evaluate((to) => { location.hash = to; }, open.toString().replaceAll('+', '%20'));
        await explorer.untilState(lens, (state) => state.lens === lens);
        await explorer.settled();
        const panel = await explorer.rect('panel/lens');
        const edge = { x: panel.right - 6, y: panel.y };
        const movedBy = async (act) => {
            const before = await places(explorer);
            await act();
            const after = await places(explorer);
            return Math.max(0, ...[...before].map(([name, top]) => Math.abs((after.get(name) ?? top) - top)));
        };
        const scrolls = await movedBy(() => finger(explorer, edge, { x: edge.x, y: edge.y - 130 }));
        await explorer.settled();
        const before = await explorer.state(), still = [];
        for (let i = 0, up = false; i < starts; ++i, up = !up) {
            const from = { x: panel.left + 10 + (i * 67) % (panel.right - panel.left - 20), y: panel.top + 150 + (i * 89) % (panel.bottom - panel.top - 300) };
            const moved = await movedBy(() => finger(explorer, from, { x: from.x + 9, y: from.y + (up ? -110 : 110) }));
            if (moved < 20) {
                still.push(`${Math.round(from.x)}, ${Math.round(from.y)}`);
            }
        }
        const { fragment: now, pin, ...after } = await explorer.state();
        assert.deepEqual([now, pin, after.query, after.key], [before.fragment, before.pin, before.query, before.key]);
        if (scrolls > 100) {
            assert.deepEqual(still, [], 'places where a swipe does not scroll');
        }
    });
}

test('a sideways drag edits a cell, a tap explains it, and neither leaves anything hovered over', { context: phone }, async (explorer) => {
    await explorer.settled();
    const cell = await explorer.rect('x/0/1'), before = (await explorer.matrix('x'))[0][1];
    await finger(explorer, { x: cell.x, y: cell.y }, { x: cell.x + 60, y: cell.y + 6 });
    await explorer.until('the number', () => explorer.matrix('x'), (rows) => rows[0][1] !== before);
    await explorer.settled();
    await explorer.tap('sheet/close');
    await explorer.untilState('no pin', ({ pin }) => !pin);
    await explorer.tap('lens-menu');
    await explorer.until('the lenses', () => explorer.rect('lens/scale'));
    assert.equal(await explorer.rect('tooltip'), undefined);
});

const byHand = new Set(['order', 'heads', 'paths', 'steer']);  // their first pictures are boxes or bars of their own

/** Where the first picture begins, and which touch targets are small or off the screen. */
const layout = (explorer) => explorer.page.evaluate(() => {
    /** @type {NodeListOf<HTMLElement>} */
    const elements = document.querySelectorAll('#semantics [data-key]');
    const all = [...elements].map((element) => {
        const { left, right, top, bottom, width, height } = element.getBoundingClientRect();
        return { key: element.dataset.key ?? '', role: element.getAttribute('role'), left, right, top, bottom, width, height };
    });
    const pictures = all.filter(({ key, role, height }) => height > 20 && (role === 'grid' || role === 'img' || /^(chart|token)\//.test(key)));
    return {
        first: Math.min(...pictures.map(({ top }) => top)),
        small: all.filter(({ role, height, width }) => (role === 'button' || role === 'tab' || role === 'radio') && width > 1 && height > 1 && height < 38)
            .map(({ key, height }) => `${key}: ${height}`),
        outside: all.filter(({ key, left, right }) => /^(subject\/|lens-menu|guide|settings|head-name)/.test(key) && (left < 0 || right > innerWidth)).map(({ key }) => key),
    };
});

for (const [width, height] of [[390, 844], [320, 640], [844, 390]]) {
    test(`on ${width} × ${height} points every lens begins with its picture, and its buttons suit fingers`, {
        context: { ...phone, viewport: { width, height } }, fragment: '',
    }, async (explorer) => {
        if (bundled.absent) {
            skip(bundled.absent);
        }
        await explorer.settled();
        const open = new URLSearchParams((await explorer.state()).fragment), found = {};
        for (const lens of lenses) {
            open.set('lens', lens);
            await explorer.page.evaluate((to) => { location.hash = to; }, open.toString().replaceAll('+', '%20'));
            await explorer.untilState(lens, (state) => state.lens === lens);
            await explorer.settled();
            await new Promise((resume) => { setTimeout(resume, 250); });  // the elements follow
            const { first, small, outside } = await layout(explorer);
            const late = height === 844 && Number.isFinite(first) && first > 420 && !byHand.has(lens);
            if (late || small.length || outside.length) {
                found[lens] = { first, small, outside };
            }
        }
        assert.deepEqual(found, {});
    });
}

/** How to reach a picture on a phone if the lens does not begin with one for the first sentence. */
const pictures = {
    async 'two sentences'(explorer) {
        await explorer.page.evaluate(() => { location.hash = 'v=1&subject=sentence&model=storyteller&lens=compare&text=The%20animal%20slept.&with=The%20animal%20did%20not%20cross.'; });
        await explorer.until('the second', () => explorer.rect('compare/second/0'));
    },
    async 'two languages'(explorer) {
        await explorer.page.evaluate(() => { location.hash = 'v=1&subject=sentence&model=translator&lens=translation&text=the%20cat%20sat'; });
        await explorer.until('the words', () => explorer.rect('translation/read/0'));
    },
    async 'tensors of one\'s own'(explorer) {
        const vectors = (seed) => npy([2, 2, 9, 4], Array.from({ length: 144 }, (_, i) => Math.sin(seed + 7 * i)));
        await explorer.drop(...written({ 'q.npy': vectors(1), 'k.npy': vectors(2) }));
        await explorer.until('the flow', () => explorer.rect('token/0'));
    },
    async 'a training'(explorer) {
        await explorer.page.evaluate(() => { location.hash = 'v=1&subject=training&lens=curves&train=induction,steps:20'; });
        await explorer.enter('button', 'Train');
        await explorer.until('the curves', () => explorer.rect('chart/loss'));
    },
};
for (const [what, open] of Object.entries(pictures)) {
    test(`on a phone the picture of ${what} begins in the upper half`, { context: phone, fragment: '' }, async (explorer) => {
        if (bundled.absent) {
            skip(bundled.absent);
        }
        await explorer.settled();
        await open(explorer);
        await explorer.idle();
        const landmarks = Object.entries(await explorer.landmarks()).filter(([name]) => /^(token\/|translation\/read\/|compare\/first\/|chart\/)/.test(name));
        const { y: bar } = await explorer.page.evaluate(() => document.getElementById('canvas').getBoundingClientRect());
        assert.ok(landmarks.length > 0);
        const first = bar + Math.min(...landmarks.map(([, [, top]]) => top));
        assert.ok(first > 100 && first <= 420, `${first}`);
    });
}

test('of two boxes each says which it is', { fragment: '' }, async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    const names = () => explorer.page.$$eval('.sentence:not([hidden])', (all) => all.map((each) => /** @type {HTMLElement} */ (each).dataset.name ?? ''));
    await explorer.settled();
    assert.deepEqual(await names(), ['']);
    await explorer.page.evaluate(() => { location.hash = 'v=1&subject=sentence&model=storyteller&lens=compare&text=The%20animal%20slept.&with=The%20animal%20did%20not%20cross.'; });
    await explorer.until('two names', names, (now) => now.join() === 'first,second');
    await explorer.page.evaluate(() => { location.hash = 'v=1&subject=sentence&model=translator&lens=translation&text=the%20cat%20sat'; });
    await explorer.until('what each is', names, (now) => now.join() === 'read,written');
    await explorer.page.evaluate(() => { location.hash = 'v=1&lens=worked'; });
    await explorer.until('no box', names, (now) => now.length === 0);
});

test('the guide of a lens opens on a phone, in words for fingers, and has its element', { context: phone }, async (explorer) => {
    await explorer.settled();
    await explorer.tap('guide');
    await explorer.until('the guide', () => explorer.rect('panel/inspector'));
    await explorer.settled();
    const guide = explorer.page.getByRole('button', { name: 'How to use this lens' });
    await explorer.until('its element', () => guide.getAttribute('aria-expanded'), (open) => open === 'true');
    const told = await explorer.page.locator('#semantics').innerText();
    assert.doesNotMatch(told, /\b(click|hover|drop)/i);
    await explorer.tap('guide');
    await explorer.until('it to close', () => explorer.rect('panel/inspector'), (rect) => !rect);
});
