// Tests subject Sentence: a model dropped onto the page, a sentence typed, and everything that can be shown.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pinName } from './lib/explorer.mjs';
import { tiny, tokenizer, variation } from './lib/models.mjs';
import { near } from './lib/numbers.mjs';
import { phone, test } from './lib/suite.mjs';

const bound = 1e-4;  // attention of an f32 run against float64
const words = tiny.text.split(' ');
const last = tiny.ids.length - 1;

test('a dropped model and a typed sentence give the attention that PyTorch gives', { each: true }, async (explorer) => {
    await explorer.openModel(tiny.folder);
    assert.equal((await explorer.state()).subject, 'sentence');
    await explorer.page.click('#sentence');
    await explorer.page.keyboard.type(tiny.text);
    const { ids, pieces } = await explorer.untilRun('the run', ({ tokens, text }) => text === tiny.text && tokens === words.length);
    assert.deepEqual([ids, pieces], [tiny.ids, words]);
    for (const [layer, heads] of tiny.attention.entries()) {
        for (const [head, rows] of heads.entries()) {
            near(await explorer.attention(layer, head), rows, bound, `layer ${layer}, head ${head}`);
        }
    }
    near(await explorer.logits(), tiny.logits, 1e-4, 'logits');
});

test('every edit of the sentence is followed, and undone', async (explorer) => {
    await explorer.openModel(tiny.folder, 'the cat sat');
    await explorer.click('map/stage/scores');  // so that the two texts are not one typing step
    await explorer.until('the scores', () => explorer.linked('map'));
    await explorer.write('the cat slept near the door');
    await explorer.untilRun('the longer text', ({ tokens }) => tokens === 6);
    await explorer.page.click('#undo');
    await explorer.untilRun('the text before', ({ tokens }) => tokens === 3);
    assert.equal(await explorer.page.inputValue('#sentence'), 'the cat sat');
    await explorer.page.click('#redo');
    await explorer.untilRun('the text again', ({ tokens }) => tokens === 6);
});

test('a click on a thumbnail chooses its head, arrow keys walk on', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('head/1/2');
    await explorer.untilState('the head', ({ layer, head }) => layer === 1 && head === 2);
    await explorer.press('ArrowLeft', 'ArrowUp');
    await explorer.untilState('the head beside and above', ({ layer, head }) => layer === 0 && head === 1);
    const why = await explorer.explain('weight', last, 0);
    near([why.f32, why.f64], [tiny.attention[0][1][last][0], tiny.attention[0][1][last][0]], bound, 'its weight');
});

test('hovering the map explains the cell, a click keeps it', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.hover('map/4/2');
    const { shown } = await explorer.untilState('the inspector to show it', ({ shown: at }) => pinName(at) === 'weight/4/2');
    const why = await explorer.explained(...shown);
    near([why.f32, why.f64], [tiny.attention[0][0][4][2], tiny.attention[0][0][4][2]], bound, 'the weight');
    assert.ok(why.title.includes(words[4]) && why.title.includes(words[2]), why.title);
    assert.equal(why.operands.length, 6, 'one product for each component of a head');
    await explorer.click('map/5/1');
    const { query, key } = await explorer.untilState('the cell to be pinned', ({ pin }) => pinName(pin) === 'weight/5/1');
    assert.deepEqual([query, key], [5, 1]);
    assert.equal((await explorer.explain('weight', 2, 7)).f32, 0, 'the future is hidden');
});

test('the map shows scores and contributions too, zooms under the wheel, and a double click resets it', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('map/stage/scores');
    await explorer.until('the scores', () => explorer.linked('map'), (map) => map === 'scaled');
    await explorer.hover('map/3/1');
    await explorer.untilState('a scaled score', ({ shown: at }) => at?.[0] === 'scaled');
    await explorer.click('map/stage/contribution');
    await explorer.until('the contributions', () => explorer.linked('map'), (map) => map === 'contribution');

    const width = async () => { const rect = await explorer.rect('map/3/2'); return rect && rect.right - rect.left; };
    const before = await explorer.until('the map', width);
    await explorer.wheel('map/3/2', 3);
    await explorer.until('larger cells', width, (now) => now > 1.3 * before);
    const { x, y } = await explorer.rect('map/3/2');
    await explorer.page.mouse.dblclick(x, y);
    await explorer.until('the cells as they were', width, (now) => Math.abs(now - before) < 1);
});

test('a word can be followed: hovered, chosen, and let go', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('token/3');
    await explorer.untilState('the word', ({ query }) => query === 3);
    await explorer.hover('row/0');
    const { shown } = await explorer.untilState('the strongest weight of its row', ({ shown: at }) => at?.[0] === 'weight' && at[1] === 3);
    near([(await explorer.explained(...shown)).f32], [Math.max(...tiny.attention[0][0][3])], bound, 'the weight');
    await explorer.click('token/3');
    await explorer.untilState('no word', ({ query }) => query === undefined);
});

test('greedy generation takes the tokens that PyTorch takes, until the context is full', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.greedily();
    for (let steps = 1; steps <= 2; ++steps) {
        await explorer.click('next/step');
        const { ids } = await explorer.untilRun(`step ${steps}`, ({ tokens }) => tokens === tiny.ids.length + steps);
        assert.deepEqual(ids, [...tiny.ids, ...tiny.greedy.slice(0, steps)]);
    }
    await explorer.click('next/play');
    await explorer.untilNotice(/context|18/);
    const { ids, text, tokens } = await explorer.untilRun('the full context', ({ tokens: count }) => count === tiny.context);
    assert.deepEqual(ids.slice(0, tiny.ids.length + tiny.greedy.length), [...tiny.ids, ...tiny.greedy]);
    assert.equal(await explorer.page.inputValue('#sentence'), text);
    assert.equal(tokens, tiny.context);
});

test('a link to a sentence waits for its model', { fragment: `v=1&lens=sentence&model=tiny&text=${encodeURIComponent(tiny.text)}&layer=1&head=1` },
    async (explorer) => {
        await explorer.untilNotice(/model 'tiny'/);
        await explorer.drop(tiny.folder);
        await explorer.untilRun('the sentence of the link', ({ tokens }) => tokens === tiny.ids.length);
        near(await explorer.attention(1, 1), tiny.attention[1][1], bound, 'attention');
    });

test('the weights are there as a table, with the words for its sides', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.page.click('#table');
    const rows = await explorer.page.$$eval('#table-view tbody tr', (all) => all.map((row) => [...row.querySelectorAll('td')].map((td) => Number(td.textContent))));
    near(rows, tiny.attention[0][0], bound, 'the table');
    assert.deepEqual(await explorer.page.$$eval('#table-view tbody th', (all) => all.map((th) => th.textContent)), words);
});

for (const viewport of [{ width: 1440, height: 900 }, phone.viewport]) {
    test(`the choices above the table stay where they are, whatever it shows, in ${viewport.width} points`, { context: { viewport } }, async (explorer) => {
        const { page } = explorer;
        await page.click('#table');
        const places = () => page.$$eval('#table-choice, #table-form, #table-close', (all) => all.map((each) => {
            const { x, y, width } = each.getBoundingClientRect();
            return [x, y, width];
        }));
        const before = await places();
        for (const form of ['markdown', 'shades', 'cells']) {
            await page.selectOption('#table-form', form);
            assert.deepEqual(await places(), before, form);
        }
        for (let index = 0; index < await page.$$eval('#table-choice option', (all) => all.length); ++index) {
            await page.selectOption('#table-choice', { index });
            assert.deepEqual(await places(), before, `matrix ${index}`);
        }
    });
}

test('the table is written as cells, in Markdown and as a map in shades, and copied as it is shown',
    { context: { permissions: ['clipboard-read', 'clipboard-write'] } },
    async (explorer) => {
        await explorer.openModel(tiny.folder, tiny.text);
        const { page } = explorer;
        const copied = async (form) => {
            await page.click('#table');
            await page.selectOption('#table-form', form);
            const shown = form === 'cells' ? null : await page.textContent('#table-text');
            await page.click('#table-copy');
            await explorer.untilNotice(/^The table is copied\.$/);
            await explorer.dismiss();
            const text = await page.evaluate(() => navigator.clipboard.readText());
            assert.equal(shown ?? text, text, `${form}: what is shown is what is copied`);
            return text.split('\n');
        };
        const cells = (await copied('cells')).map((line) => line.split('\t'));
        assert.deepEqual(cells[0], ['', ...words]);
        assert.deepEqual(cells.slice(1, -1).map(([word]) => word), words);
        near(cells.slice(1, -1).map(([, ...numbers]) => numbers.map(Number)), tiny.attention[0][0], bound, 'cells');

        const [title, , heading, rule, ...rows] = await copied('markdown');
        assert.equal(title, 'Weights of tiny, layer 0, head 0');
        assert.equal(heading, `| | ${words.join(' | ')} |`);
        assert.equal(rule, `| ---${' | ---:'.repeat(words.length)} |`);
        near(rows.slice(0, -1).map((row) => row.split('|').slice(2, -1).map(Number)), tiny.attention[0][0], bound, 'Markdown');

        const map = (await copied('shades')).filter((line) => line.includes('│')).slice(1).map((line) => line.split('│'));
        assert.deepEqual(map.map(([word]) => word.trim()), words);
        const weights = tiny.attention[0][0], most = Math.max(...weights.flat());
        const width = Math.min(7, Math.max(2, ...words.map((word) => word.length)));
        const level = (weight) => ' ░▒▓█'[Math.min(4, Math.floor(5 * weight / most))];
        assert.deepEqual(map.map(([, line]) => line), weights.map((row) => row.map((weight) => ` ${level(weight).repeat(width)}`).join('')));
    });

test('the table has every matrix on screen, and the one of the stage first', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.page.click('#table');
    const titles = () => explorer.page.$$eval('#table-choice option', (all) => all.map(({ textContent }) => textContent.split(' of ')[0]));
    assert.deepEqual((await titles()).slice(0, 7), ['Weights', 'Q', 'K', 'V', 'Output', 'Scores', 'Next token, at temperature 1']);
    await explorer.page.selectOption('#table-choice', { index: 4 });
    assert.match(await explorer.page.innerText('#table-title'), /^Output of tiny, layer 0, head 0$/);
    assert.equal(await explorer.page.$$eval('#table-view tbody tr', (all) => all.length), words.length);
    await explorer.press('Escape');
    await explorer.click('lens/ladder');
    await explorer.page.click('#table');
    assert.deepEqual((await titles()).map((title) => title.split('  ')[0]).slice(0, 8), ['Weights', 'Q', 'K', 'Scores', 'Scaled', 'Masked', 'V', 'Output']);
});

test('two sentences are compared, in every view, and their link brings both', async (explorer) => {
    await explorer.openModel(tiny.folder, 'the cat sat near the door');
    await explorer.click('compare');
    const second = explorer.page.locator('#second-sentence');
    await second.waitFor();
    assert.equal(await second.inputValue(), 'the cat sat near the door', 'to begin with, the same');
    await second.fill('the cat slept near the old door');
    await explorer.untilRun('the second sentence', ({ second_pieces: pieces }) => pieces?.join(' ') === 'the cat slept near the old door');

    // The last word of each is chosen and highlighted; a click in the second chooses another.
    await explorer.click('compare/second/5');
    await explorer.until('the other word', () => explorer.linked('counterpart'), (word) => word === '5');
    const { fragment } = await explorer.state();

    await explorer.hover('compare/map/second');
    const { shown } = await explorer.untilState('a cell of the second to be explained', ({ shown: cell }) => cell?.[3] === 1);
    const why = await explorer.explained(...shown);
    assert.match(why.provenance, /second sentence/);
    const same = await explorer.explained(...shown.slice(0, 3), 0);
    assert.notEqual(why.f64, same.f64, 'the first sentence has another weight there');

    for (const [view, key] of [['blink', 'blink'], ['difference', 'difference'], ['side by side', undefined]]) {
        await explorer.click(`compare/view/${view}`);
        await explorer.until(view, () => explorer.linked('compare'), (now) => now === key);
    }
    await explorer.click('compare/head/1/2');
    await explorer.untilState('the head', ({ layer, head }) => layer === 1 && head === 2);

    await explorer.click('compare/off');
    await second.waitFor({ state: 'hidden' });
    await explorer.page.click('#undo');
    await second.waitFor();
    await explorer.untilRun('both again', ({ second_pieces: pieces }) => pieces?.length === 7);

    await explorer.visit(fragment);
    await explorer.untilRun('the link', (state) => state.fragment === fragment && state.second_pieces?.length === 7);
});

test('a sentence is compared in two models that have one tokenizer; another tokenizer is refused', async (explorer) => {
    const config = JSON.parse(readFileSync(join(tiny.folder, 'config.json'), 'utf8'));
    const other = variation(tiny.folder, { 'config.json': JSON.stringify({ ...config, n_head: 1 }) }, 'one-head');
    const stranger = variation(tiny.folder, { 'tokenizer.json': tokenizer([...tiny.words].reverse()) }, 'stranger');
    const weights = [];
    await explorer.openModel(other, tiny.text);
    for (let key = 0; key <= last; ++key) {
        weights.push((await explorer.explain('weight', last, key)).f32);
    }
    await explorer.openModel(tiny.folder);
    await explorer.untilRun('the run', ({ model, tokens }) => model === 'tiny' && tokens > 0);
    await explorer.click('compare');
    await explorer.click('compare/models');
    await explorer.until('the invitation', () => explorer.rect('missing'));
    await explorer.drop(stranger);
    await explorer.untilNotice(/^stranger has other tokens than tiny/, 'error');
    await explorer.dismiss();
    await explorer.drop(other);
    await explorer.untilRun('the second model', ({ second_pieces: pieces }) => pieces?.length === tiny.ids.length);
    assert.equal((await explorer.state()).model, 'tiny');
    for (const [key, weight] of weights.entries()) {
        near([(await explorer.explain('weight', last, key, { second: 1 })).f32], [weight], 1e-7, `the weight of key ${key} in the second`);
        near([(await explorer.explain('weight', last, key)).f32], [tiny.attention[0][0][last][key]], 1e-5, `the weight of key ${key} in the first`);
    }
    assert.equal(await explorer.linked('with.model'), 'one-head');
    await explorer.write('the cat sat');
    await explorer.untilRun('another text in both', ({ tokens, second_pieces: pieces }) => tokens === 3 && pieces?.length === 3);
    await explorer.click('compare/off');
    await explorer.until('one model', () => explorer.linked('with.model'), (model) => model === undefined);
});

test('texts without a word in common are compared all the same', async (explorer) => {
    await explorer.openModel(tiny.folder, 'cat sat');
    await explorer.click('compare');
    await explorer.page.locator('#second-sentence').fill('');
    await explorer.until('the invitation', () => explorer.rect('missing'));
    await explorer.page.locator('#second-sentence').fill('near the old door');
    await explorer.untilRun('the run', ({ second_pieces: pieces }) => pieces?.length === 4);
    await explorer.click('compare/view/difference');
    await explorer.settled();
    await explorer.click('compare/first/0');
    await explorer.click('compare/second/3');
    await explorer.until('the pair', () => explorer.linked('counterpart'), (word) => word === '3');
    await explorer.until('its heads', () => explorer.rect('compare/head/0/0'));
});

test('a likely token is appended by a click, what Play generates is undone in one step, and both are told', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.greedily();
    await explorer.click(`token/${last}`);
    await explorer.untilState('the last row', ({ query }) => query === last);
    await explorer.click('next/0');
    const { ids, text } = await explorer.untilRun('the token', ({ tokens }) => tokens === tiny.ids.length + 1);
    assert.equal(ids.at(-1), tiny.greedy[0]);
    assert.equal((await explorer.state()).query, last + 1, 'the last row stays chosen');
    await explorer.click('next/play');
    await explorer.untilNotice(/context|18/);
    const full = await explorer.untilRun('the full context', ({ tokens }) => tokens === tiny.context);
    assert.equal(full.query, tiny.context - 1);
    assert.match(full.last_edit, /^“.*” added$/);
    await explorer.page.click('#undo');
    const undone = await explorer.untilRun('the text before', ({ tokens }) => tokens === tiny.ids.length + 1);
    assert.deepEqual([undone.text, undone.query, undone.last_edit], [text, last + 1, `undone: ${full.last_edit}`]);
    await explorer.page.click('#undo');
    const before = await explorer.untilRun('the text at first', ({ tokens }) => tokens === tiny.ids.length);
    assert.equal(before.text, tiny.text);
    assert.equal(before.last_edit, `undone: “${text.slice(tiny.text.length)}” added`);
    near(await explorer.attention(1, 1), tiny.attention[1][1], bound, 'attention');
});

test('a long sentence makes room for itself while it is edited, and Enter leaves it', async (explorer) => {
    await explorer.openModel(tiny.folder, 'the cat sat near the door and saw its red ball roll under a chair');
    const box = explorer.page.locator('#sentence'), stage = explorer.page.locator('#stage');
    const bottom = async (locator) => { const { y, height } = await locator.boundingBox(); return y + height; };
    const tall = async () => (await box.boundingBox()).height;
    const [one, top] = [await tall(), (await stage.boundingBox()).y];
    for (const size of [{ width: 1440, height: 900 }, { width: 390, height: 844 }]) {
        await explorer.page.setViewportSize(size);
        await explorer.page.click('#sentence');
        await explorer.press('Control+End');
        for (let line = 0; line < 6; ++line) {
            await explorer.press('Shift+Enter');
        }
        assert.ok(await tall() > one + 60, 'as tall as its lines');
        assert.ok(await bottom(box) <= (await stage.boundingBox()).y, 'it covers nothing');
        for (const id of ['model', 'undo', 'find']) {
            assert.ok(await explorer.page.locator(`#${id}`).click({ trial: true }).then(() => true), `${id} is free`);
        }
        await explorer.press('Control+A');
        await explorer.page.keyboard.insertText('the cat sat near the door');
        await explorer.press('Enter');
        assert.equal(await explorer.page.evaluate(() => document.activeElement?.id === 'sentence'), false, 'it is left');
        assert.ok(await tall() < one + 10, 'one line again');
        await explorer.untilRun('the text', ({ text, tokens }) => text === 'the cat sat near the door' && tokens === 6);
    }
    await explorer.page.setViewportSize({ width: 1440, height: 900 });
    assert.equal((await stage.boundingBox()).y, top, 'the page is as before');
});

test('the sentence box is there where a sentence is looked at', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const box = explorer.page.locator('#sentence');
    for (const subject of ['worked', 'tensors', 'training']) {
        await explorer.click(`subject/${subject}`);
        await box.waitFor({ state: 'hidden' });
        await explorer.click('subject/sentence');
        await box.waitFor();
        assert.equal(await box.inputValue(), tiny.text);
    }
    await explorer.untilRun('the sentence', ({ tokens }) => tokens === words.length);
});
