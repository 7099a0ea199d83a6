// Tests the house: what is shown (tabs of subjects), how (a rail of lenses), and the palette that finds both
// by name.
import assert from 'node:assert/strict';
import { tiny } from './lib/models.mjs';
import { attention, near } from './lib/numbers.mjs';
import { phone, test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

const subjects = ['worked', 'sentence', 'tensors', 'training'];
// A landmark that exists when a lens shows something; for lenses not named here, one that begins with their
// key.
const known = { overview: /^map\/\d+\/\d+$/, ladder: /^weight\/\d+\/\d+$/, compare: /^compare\/head\/0\/0$/, curves: /^chart\/loss$/ };
const shows = (lens) => known[lens] ?? new RegExp(`^${lens}/`);

const has = async (explorer, pattern) => Object.keys(await explorer.landmarks()).some((name) => pattern.test(name));
const untilShown = (explorer, lens) => explorer.until(`lens ${lens} to show something`, () => has(explorer, shows(lens)));
// The keys of all lenses.
const inRail = async (explorer) => Object.keys(await explorer.landmarks()).filter((name) => /^lens\//.test(name)).map((name) => name.slice('lens/'.length));

async function open(explorer, subject, lens) {
    await explorer.click(`subject/${subject}`);
    await explorer.untilState(`subject ${subject}`, (state) => state.subject === subject);
    await explorer.click(`lens/${lens}`);
    await explorer.untilState(`lens ${lens}`, (state) => state.subject === subject && state.lens === lens);
    await explorer.settled();
}

// ---- Subjects and lenses ----------------------------------------------------------------------------------

const trained = 'v=1&subject=training&train=induction,layers:1,heads:2,d:16,context:16,batch:2,steps:400&step=8';

async function openAll(explorer) {
    await explorer.until('the training', () => explorer.training(), (run) => run?.taken >= 8);
    const { length: n } = tiny.ids, [layers, heads] = [tiny.attention.length, tiny.attention[0].length];
    await explorer.drop(...written({ 'attention.npy': npy([layers, heads, n, n], tiny.attention.flat(3)) }));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open: set, phase }) => set && phase === null);
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.settled();
}

// The native tests show every lens on every subject; here each lens is on one, such that every subject has
// some.
test('every lens shows something, or says what is missing and leads there', { fragment: trained }, async (explorer) => {
    await openAll(explorer);
    const lenses = await inRail(explorer);
    assert.deepEqual(Object.keys(known).filter((lens) => !lenses.includes(lens)), []);
    for (const [i, lens] of lenses.entries()) {
        await open(explorer, subjects[i % subjects.length], lens);
        if (!await explorer.rect('missing')) {
            await untilShown(explorer, lens);
            continue;
        }
        assert.ok(!await has(explorer, shows(lens)), `${lens} misses something and shows something`);
        const offer = Object.keys(await explorer.landmarks()).find((name) => name.startsWith('missing/'));
        assert.ok(offer, `${lens} says what is missing, and leads nowhere`);
        await explorer.click(offer);
        await explorer.settled();
        assert.equal((await explorer.state()).lens, lens, `${offer} keeps the lens`);
        // If one of that subject's own steps is still needed, it is offered there.
        if (await explorer.rect('missing/offer')) {
            await explorer.click('missing/offer');
        }
        await untilShown(explorer, lens);
        assert.equal(await explorer.rect('missing'), undefined);
    }
    assert.deepEqual(await explorer.notices('error'), []);
});

test('back and forward go through subjects and lenses', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.untilState('the sentence', ({ subject, lens }) => subject === 'sentence' && lens === 'overview');
    const places = [['sentence', 'overview'], ['sentence', 'ladder'], ['worked', 'ladder'], ['worked', 'overview'], ['training', 'curves']];
    await explorer.click('lens/ladder');
    await explorer.untilState('the ladder', ({ lens }) => lens === 'ladder');
    assert.equal(await explorer.linked('lens'), 'ladder');
    await explorer.click('subject/worked');
    await explorer.untilState('the worked example', ({ subject, lens }) => subject === 'worked' && lens === 'ladder');
    assert.deepEqual([await explorer.linked('subject'), await explorer.linked('lens')], [undefined, undefined], 'its usual lens');
    await explorer.click('lens/overview');
    await explorer.untilState('its overview', ({ lens }) => lens === 'overview');
    await explorer.click('subject/training');
    await explorer.untilState('the training', ({ subject, lens }) => subject === 'training' && lens === 'curves');
    const at = (place) => explorer.untilState(place.join(), ({ subject, lens }) => `${subject},${lens}` === place.join());
    for (const place of places.slice(0, -1).reverse()) {
        await explorer.page.goBack();
        await at(place);
    }
    for (const place of places.slice(1)) {
        await explorer.page.goForward();
        await at(place);
    }
});

test('one button that leads elsewhere is one step back', { fragment: trained }, async (explorer) => {
    await openAll(explorer);
    await open(explorer, 'tensors', 'ladder');
    await explorer.click('missing/sentence');
    await explorer.untilState('the ladder of the sentence', ({ subject, lens }) => subject === 'sentence' && lens === 'ladder');
    await explorer.settled();
    await explorer.page.goBack();
    await explorer.untilState('another place', ({ subject, lens }) => subject !== 'sentence' || lens !== 'ladder');
    const { subject, lens } = await explorer.state();
    assert.deepEqual([subject, lens], ['tensors', 'ladder']);
});

test('a head of a sentence is taken to the worked example, with its weights', async (explorer) => {
    // No more tokens than the ladder shows at once.
    const words = tiny.text.split(' ').slice(0, 7), last = words.length - 1;
    await explorer.openModel(tiny.folder, words.join(' '));
    await explorer.click('head/1/2');
    await explorer.untilState('the head', ({ layer, head }) => layer === 1 && head === 2);
    const weights = await explorer.attention(1, 2);
    await explorer.click('lens/ladder');
    await explorer.until('its ladder', () => explorer.rect(`weight/${last}/${last}`));
    await explorer.click('take');
    await explorer.untilState('the worked example', ({ subject, lens }) => subject === 'worked' && lens === 'ladder');
    near(await explorer.matrix('weight'), weights, 1e-6, 'weights');
    const why = await explorer.explain('weight', last, 0);
    near([why.f32, why.f64], [weights[last][0], weights[last][0]], 1e-6, 'an explained weight');
    assert.ok(why.title.includes(words[last]) && why.title.includes(words[0]), why.title);
    const { fragment } = await explorer.state();

    await explorer.type(`q/${last}/0`, '3');
    await explorer.until('the typed number', () => explorer.matrix('q'), (rows) => rows[last][0] === 3);
    const [q, k] = [await explorer.matrix('q'), await explorer.matrix('k')];
    const edited = await explorer.matrix('weight');
    near(edited, attention({ q, k, allowed: (i, j) => j <= i }).weight, 1e-6, 'weights after an edit');
    assert.notDeepEqual(edited[last], weights[last]);

    await explorer.page.click('#undo');
    await explorer.until('undo', () => explorer.matrix('q'), (rows) => rows[last][0] !== 3);
    near(await explorer.matrix('weight'), weights, 1e-6, 'weights as they were');
    const taken = await explorer.matrix('weight');
    await explorer.visit('v=1&ex=three-tokens');
    await explorer.until('another example', () => explorer.linked('ex'), (ex) => ex === 'three-tokens');
    await explorer.visit(fragment);
    await explorer.until('the head of the link', () => explorer.matrix('weight'), (rows) => rows.length === words.length);
    assert.deepEqual(await explorer.matrix('weight'), taken);
    assert.deepEqual(await explorer.notices('error'), []);
});

test('undo takes a head back to where it was taken from', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('lens/ladder');
    await explorer.click('take');
    await explorer.untilState('the worked example', ({ subject }) => subject === 'worked');
    const { fragment } = await explorer.state();
    await explorer.page.click('#undo');
    await explorer.untilState('the ladder of the sentence', ({ subject, lens }) => subject === 'sentence' && lens === 'ladder');
    await explorer.page.click('#redo');
    await explorer.untilState('the copy', (state) => state.fragment === fragment);
});

// ---- The palette ------------------------------------------------------------------------------------------

const opened = (explorer) => explorer.until('the palette', () => explorer.rect('palette'));
const closed = (explorer) => explorer.until('the palette to close', () => explorer.rect('palette'), (rect) => !rect);

async function find(explorer, text) {
    await explorer.press('Control+K');
    await opened(explorer);
    await explorer.settled();
    await explorer.page.keyboard.type(text);
    await explorer.settled();
    await explorer.until('what is found', () => explorer.rect('palette/0'));
    await explorer.press('Enter');
    await closed(explorer);
}

test('the palette finds a head, a token, a lens and a subject by their names', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.page.locator('#sentence').blur();
    await find(explorer, 'head 1.2');
    await explorer.untilState('the head', ({ layer, head }) => layer === 1 && head === 2);
    const words = tiny.text.split(' '), word = words.find((each, i) => i > 1 && words.indexOf(each) === words.lastIndexOf(each));
    await find(explorer, word);
    await explorer.untilState('the token', ({ query, key }) => query === words.indexOf(word) && key === undefined);
    await find(explorer, 'ladder');
    await explorer.untilState('the lens', ({ subject, lens }) => subject === 'sentence' && lens === 'ladder');
    const { layer, head, query } = await explorer.state();
    assert.deepEqual([layer, head, query], [1, 2, words.indexOf(word)], 'what was chosen stays');
    await find(explorer, 'your tensors');
    await explorer.untilState('the subject', ({ subject }) => subject === 'tensors');
    await find(explorer, 'undo');
    await explorer.untilState('undone', ({ subject, lens }) => subject === 'sentence' && lens === 'ladder');
});

test('the palette opens from a sentence box and from its button, and Escape closes it', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const before = await explorer.state();
    await explorer.page.click('#sentence');
    await explorer.press('Control+K');
    await opened(explorer);
    await explorer.page.keyboard.type('ladder');
    await explorer.settled();
    await explorer.press('Escape');
    await closed(explorer);
    assert.equal(await explorer.page.inputValue('#sentence'), tiny.text, 'what is typed goes to the palette');
    assert.deepEqual(await explorer.state(), before);

    await explorer.page.click('#find');
    await opened(explorer);
    await explorer.page.keyboard.type('no such thing anywhere');
    await explorer.until('nothing to be found', () => explorer.rect('palette/0'), (rect) => !rect);
    await explorer.press('Enter', 'Escape');
    await closed(explorer);
    assert.deepEqual(await explorer.state(), before);

    await explorer.page.click('#find');
    await opened(explorer);
    await explorer.page.keyboard.type('ladder');
    await explorer.settled();
    await explorer.click('palette/0');
    await explorer.untilState('the lens', ({ lens }) => lens === 'ladder');
    await closed(explorer);
});

test('arrow keys walk over what the palette has found, and what is typed is still looked for', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.page.locator('#sentence').blur();
    const three = async () => {
        await explorer.press('Control+K');
        await opened(explorer);
        await explorer.settled();
        await explorer.page.keyboard.type('layer head 0.');
        await explorer.until('three heads alone', () => explorer.rects('palette/2', 'palette/3'), ([third, fourth]) => third && !fourth);
    };
    await three();
    await explorer.press('ArrowDown', 'ArrowDown', 'ArrowUp', 'Enter');
    await explorer.untilState('the second', ({ layer, head }) => layer === 0 && head === 1);
    await closed(explorer);
    await three();
    await explorer.press('ArrowDown');
    await explorer.page.keyboard.type('2');
    await explorer.until('one head alone', () => explorer.rects('palette/0', 'palette/1'), ([first, second]) => first && !second);
    await explorer.press('Enter');
    await explorer.untilState('the third', ({ layer, head }) => layer === 0 && head === 2);
});

test('what is typed in one go with Ctrl+K is looked for, all of it', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.page.locator('#sentence').blur();
    const words = tiny.text.split(' '), once = words.findIndex((word, i) => i > 1 && words.indexOf(word) === words.lastIndexOf(word));
    await explorer.press('Control+K', ...words[once], 'Enter');
    await explorer.untilState('the token', ({ query }) => query === once);
});

// ---- On a phone -------------------------------------------------------------------------------------------

test('on a phone subjects are tabs and lenses stand behind one button', { context: phone }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const inside = async (...names) => {
        for (const [i, rect] of (await explorer.rects(...names)).entries()) {
            assert.ok(rect && rect.left >= 0 && rect.right <= 390 && rect.top >= 0 && rect.bottom <= 844, `${names[i]}: ${JSON.stringify(rect)}`);
        }
    };
    await inside('lens-menu', ...subjects.map((subject) => `subject/${subject}`));
    for (const subject of [...subjects, 'sentence']) {
        await explorer.tap(`subject/${subject}`);
        await explorer.untilState(subject, (state) => state.subject === subject);
        await explorer.settled();
    }
    for (let lenses = ['overview'], at = 0; at < lenses.length; ++at) {
        await explorer.tap('lens-menu');
        await explorer.until('the lenses', () => explorer.rect('lens/overview'));
        await explorer.settled();  // a list finds its place in its first frames
        lenses = await inRail(explorer);
        await inside(...lenses.map((each) => `lens/${each}`));
        const lens = [...lenses.filter((each) => each !== 'overview'), 'overview'][at];
        await explorer.tap(`lens/${lens}`);
        await explorer.untilState(lens, (state) => state.subject === 'sentence' && state.lens === lens);
        await explorer.until('the list to close', () => explorer.rect(`lens/${lens}`), (rect) => !rect);
        await explorer.settled();
    }
    await untilShown(explorer, 'overview');
});
