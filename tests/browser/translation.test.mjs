// Tests encoder–decoders on the page: T5s from other people's code dropped onto it, and the bundled
// translator.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { site } from './lib/bundled.mjs';
import { family } from './lib/models.mjs';
import { near } from './lib/numbers.mjs';
import { skip, test } from './lib/suite.mjs';

// The French sentence of the grammar.
const sentence = 'The cat sat on the mat.', french = 'Le chat s\'est assis sur le tapis.';

for (const [name, config] of [['t5', 'config.json'], ['t5', 'config-v5.json'], ['t5_v1_1', 'config.json']]) {
    test(`${name} with ${config}, dropped onto the page, has the three kinds of attention that its authors' code has`, { needs: `families/${name}` }, async (explorer) => {
        const model = family(name, config);
        const { folder, text, written, ids, tolerance, attention, logits } = model;
        await explorer.openModel(folder, text);
        assert.equal((await explorer.state()).pieces.length, 1, 'the start token alone');
        const second = explorer.page.locator('#second-sentence');
        await second.fill(written);
        const state = await explorer.untilRun('what is written', ({ written: now, tokens }) => now === written && tokens === model.decoder_ids.length);
        assert.deepEqual(state.ids, model.decoder_ids);
        assert.deepEqual(state.encoder_ids, ids);
        for (const [layer, heads] of attention.entries()) {
            for (const [head, rows] of heads.entries()) {
                near(await explorer.attention(layer, head), rows, tolerance.attention, `attention ${layer}, head ${head}`);
            }
        }
        near(await explorer.logits(), logits.at(-1), tolerance.logits, 'logits');

        // The palette has the heads of all kinds.
        await explorer.press('Control+K');
        await explorer.until('the palette', () => explorer.rect('palette'));
        await explorer.page.keyboard.type('head C1.1');
        await explorer.settled();
        await explorer.press('Enter');
        await explorer.untilState('the cross head', ({ layer, head }) => layer === attention.length - 1 && head === 1);
        await explorer.click('lens/translation');
        await explorer.until('the three maps', () => explorer.rect('translation/map/cross'));
        await explorer.hover('translation/map/cross');
        const { shown } = await explorer.untilState('a cell to be explained', ({ shown: cell }) => cell?.[0] === 'weight');
        const why = await explorer.explained(...shown.slice(0, 3), 0, 0);
        near([why.f32], [attention.at(-1)[1][shown[1]][shown[2]]], tolerance.attention, 'the cell');
        const { fragment } = await explorer.state();
        await second.fill('');
        await explorer.untilRun('the start token', ({ tokens }) => tokens === 1);
        await explorer.visit(fragment);
        await explorer.untilRun('the link', ({ written: now, tokens }) => now === written && tokens === model.decoder_ids.length);
    });
}

test('the translator opens from the menu, shows who looks at whom, and writes the French of the grammar', async (explorer) => {
    if (!existsSync(`${site}/models/translator/model.safetensors`)) {
        skip('there is no translator in models/');
    }
    await explorer.page.click('#model');
    await explorer.page.click('text=Bundled: translator');
    await explorer.untilRun('the translator', ({ model, text, written, layer }) => model === 'translator' && text === sentence && written === french && layer === 5);
    await explorer.click('lens/translation');
    await explorer.until('the lines', () => explorer.rect('translation/lines'));
    const { heads } = JSON.parse(readFileSync(`${site}/models/translator/scores.json`, 'utf8'));
    const best = heads.reduce((a, b) => (b.aligned > a.aligned ? b : a));
    const { layer, head } = await explorer.state();
    assert.deepEqual([layer - 4, head], [best.layer, best.head], 'the head that its card calls the best');

    // Follows the suggestion in the first sentence: hover over a word, and click to keep its arcs.
    const { pieces, encoder_pieces: read } = await explorer.state();
    const row = (await explorer.attention(layer, head))[1];
    const most = row.indexOf(Math.max(...row));
    assert.deepEqual([pieces[2], read[most]], ['·chat', '·cat']);
    await explorer.hover('translation/written/1');
    await explorer.untilState('its weight', ({ shown }) => shown?.[0] === 'weight' && shown[1] === 1 && shown[2] === most);
    await explorer.click('translation/written/1');
    await explorer.untilState('the word', ({ query, pin, spoken }) => query === 1 && pin?.[2] === most
        && spoken === `Writing “chat”, cross 1 · head 2 looks at “cat” (${Math.round(100 * row[most])} %).`);

    // Starts from nothing, word by word; the text that Play writes is one undo step.
    const second = explorer.page.locator('#second-sentence');
    assert.equal(await second.inputValue(), french);
    await second.fill('');
    await explorer.untilRun('the start token', ({ tokens }) => tokens === 1);
    for (const text of ['Le', 'Le chat']) {
        await explorer.reveal('next/step');
        await explorer.click('next/step');
        await explorer.untilRun(text, ({ written, tokens }) => written === text && tokens === 1 + text.split(' ').length);
    }
    await explorer.reveal('translation/play');
    await explorer.click('translation/play');
    await explorer.untilRun('the French', ({ written, tokens }) => written === french && tokens === pieces.length);
    assert.equal(await second.inputValue(), french);
    await explorer.page.click('#undo');
    await explorer.until('what was there', () => second.inputValue(), (now) => now === 'Le chat');
    await explorer.page.click('#redo');
    await explorer.untilRun('the French again', ({ written, tokens }) => written === french && tokens === pieces.length);
    await explorer.click('translation/written/1');
    await explorer.untilState('the word again', ({ query }) => query === 1);

    // The link restores model, texts, lens and head.
    const { fragment } = await explorer.state();
    await explorer.click('lens/overview');
    await explorer.visit(fragment);
    const linked = await explorer.untilRun('the link', ({ lens, written, tokens }) => lens === 'translation' && written === french && tokens > 1);
    assert.deepEqual([linked.model, linked.text, linked.layer, linked.head, linked.query], ['translator', sentence, layer, head, 1]);
});

test('the translator, dropped as a folder like anyone\'s T5, writes the same French', async (explorer) => {
    const folder = fileURLToPath(new URL('../../models/translator', import.meta.url));
    if (!existsSync(`${folder}/model.safetensors`)) {
        skip('there is no translator in models/');
    }
    await explorer.openModel(folder, sentence);
    const second = explorer.page.locator('#second-sentence');
    await second.fill('');
    await explorer.untilRun('the start token', ({ tokens }) => tokens === 1);
    await explorer.click('lens/translation');
    await explorer.until('the lines', () => explorer.rect('translation/lines'));
    await explorer.reveal('translation/play');
    await explorer.click('translation/play');
    await explorer.untilRun('the French', ({ written }) => written === french);
    const { encoder_pieces: read, model } = await explorer.state();
    assert.deepEqual([model, read.slice(0, 2)], ['translator', ['·The', '·cat']]);
});

test('a subject without an encoder–decoder leads to the translator, and the keyboard is enough', async (explorer) => {
    if (!existsSync(`${site}/models/translator/model.safetensors`)) {
        skip('there is no translator in models/');
    }
    await explorer.click('lens/translation');
    await explorer.until('what is missing', () => explorer.rect('missing/offer'));
    await explorer.click('missing/offer');
    await explorer.untilRun('the translator', ({ model, lens, tokens }) => model === 'translator' && lens === 'translation' && tokens > 1);
    const word = explorer.page.getByRole('button', { name: /^“chat” is written looking most at “cat”/ });
    await word.focus();
    await explorer.press('Enter');
    await explorer.untilState('the word', ({ query }) => query === 1);
    await explorer.page.getByRole('button', { name: 'Adjectives that swap sides' }).press('Enter');
    await explorer.untilRun('the preset', ({ text, written }) => text.startsWith('This fat white giraffe') && written.startsWith('Cette grosse girafe blanche'));
});

test('two texts and what is written of each are compared, in boxes of their own, and the link brings all four', async (explorer) => {
    if (!existsSync(`${site}/models/translator/model.safetensors`)) {
        skip('there is no translator in models/');
    }
    await explorer.page.click('#model');
    await explorer.page.click('text=Bundled: translator');
    await explorer.untilRun('the translator', ({ model, written }) => model === 'translator' && written === french);
    await explorer.click('lens/compare');
    const [third, fourth] = ['#third-sentence', '#fourth-sentence'].map((id) => explorer.page.locator(id));
    await fourth.waitFor();
    assert.deepEqual([await third.inputValue(), await fourth.inputValue()], [sentence, french], 'to begin with, the same');
    await third.fill('The dog sat on the mat.');
    await fourth.fill('Le chien s\'est');
    const { pieces, fragment } = await explorer.untilRun('the second run', ({ second_pieces: second }) => second?.[2] === '·chien' && second.length < 8);
    assert.equal(pieces[2], '·chat');
    // A cell of the second map, whose words differ from its columns.
    await explorer.hover('compare/map/second');
    const { shown } = await explorer.untilState('a cell of the second to be explained', ({ shown: cell }) => cell?.[3] === 1);
    const why = await explorer.explained(...shown);
    assert.match(why.provenance, /cross 1, head 2, second sentence/);
    await explorer.click('lens/overview');
    await third.waitFor({ state: 'hidden' });
    await explorer.visit(fragment);
    await explorer.untilRun('the link', (state) => state.fragment === fragment && state.second_pieces?.[2] === '·chien');
    assert.equal(await fourth.inputValue(), 'Le chien s\'est');
    await explorer.reveal('compare/off');
    await explorer.click('compare/off');
    await third.waitFor({ state: 'hidden' });
});
