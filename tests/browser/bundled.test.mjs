// Tests that the page opens with its bundled model: a sentence, the head that resolves its pronoun, and its
// counterfactual.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { bundled, site } from './lib/bundled.mjs';
import { atStep, lessonCalled } from './lib/lessons.mjs';
import { tiny } from './lib/models.mjs';
import { near } from './lib/numbers.mjs';
import { phone, skip, test } from './lib/suite.mjs';

const { name, texts } = bundled;

// A test on the bare address, skipped if the model is absent.
function bare(what, options, body) {
    test(what, { fragment: '', ...options }, async (explorer) => {
        if (bundled.absent) {
            skip(bundled.absent);
        }
        await body(explorer);
    });
}

const opened = (explorer, text = texts.tired) => explorer.untilRun(`${JSON.stringify(text)} in ${name}`,
    ({ model, text: now, tokens, query }) => model === name && now === text && tokens > 0 && query === tokens - 1);

const hash = (explorer) => explorer.page.evaluate(() => location.hash);

// Layers of heads of rows.
async function weights(explorer) {
    const { n_layer: layers, n_head: heads } = JSON.parse(readFileSync(`${bundled.folder}/config.json`, 'utf8'));
    const numbers = (count) => Array.from({ length: count }, (_, i) => i);
    return Promise.all(numbers(layers).map((layer) => Promise.all(numbers(heads).map((head) => explorer.attention(layer, head)))));
}

bare('the bare address opens with the model, its best head and the last word', { each: true }, async (explorer) => {
    const { subject, lens, layer, head, pieces, query } = await opened(explorer);
    assert.deepEqual([subject, lens], ['sentence', 'overview']);
    assert.deepEqual({ layer, head }, bundled.best);
    assert.match(pieces[query], /It$/);
    assert.equal(await explorer.page.inputValue('#sentence'), texts.tired);
    assert.equal(await explorer.page.innerText('#model-name'), name);
    assert.deepEqual(await explorer.notices(), []);
    assert.deepEqual([await hash(explorer), await explorer.page.isDisabled('#undo')], ['', true]);
    const rows = await explorer.attention(layer, head);
    near(rows.map((row) => row.reduce((a, b) => a + b)), rows.map(() => 1), 1e-5, 'sums of rows');
});

bare('heads are named by what was measured of them, and found by it, the next best too', {}, async (explorer) => {
    await opened(explorer);
    const { heads } = JSON.parse(readFileSync(`${bundled.folder}/scores.json`, 'utf8'));
    const best = (score) => [...heads].sort((a, b) => b[score] - a[score]).map(({ layer, head }) => `${layer}.${head}`);
    const chosen = (what, wanted) => explorer.untilState(what, ({ layer, head }) => `${layer}.${head}` === wanted);
    await explorer.until('the name of the head', () => explorer.rect('heads/told'));
    for (const wanted of best('induction_stripe').slice(0, 2)) {
        await explorer.press('Control+K');
        await explorer.until('the palette', () => explorer.rect('palette'));
        await explorer.page.keyboard.type('find a head that induction');
        await explorer.settled();
        await explorer.press('Enter');
        await chosen(`head ${wanted}`, wanted);
    }
    for (const wanted of [...best('pronoun_right').slice(0, 2), best('pronoun_right')[2]]) {
        await explorer.click('heads/find');
        await explorer.until('the list', () => explorer.rect('heads/find/resolves pronouns'));
        await explorer.click('heads/find/resolves pronouns');
        await chosen(`head ${wanted}`, wanted);
    }
    assert.deepEqual(await explorer.notices(), []);
});

bare('a click flips the adjective: what follows it sees it, what stands before cannot', {}, async (explorer) => {
    const { layer, head, pieces } = await opened(explorer);
    const before = await weights(explorer);
    await explorer.click('twin');
    const twin = await opened(explorer, texts.wide);
    assert.deepEqual([twin.layer, twin.head], [layer, head]);
    assert.equal(await explorer.page.inputValue('#sentence'), texts.wide);
    const after = await weights(explorer);
    assert.notDeepEqual(after[layer][head].at(-1), before[layer][head].at(-1), 'the row of the last It');
    const it = pieces.findIndex((piece) => /^\W?it$/.test(piece));
    const seen = (maps) => maps.map((heads) => heads.map((rows) => rows[it].slice(0, it + 1)));
    assert.deepEqual(seen(after), seen(before), 'the rows of the first it, to the bit');

    await explorer.click('twin');
    await opened(explorer);
    assert.deepEqual(await weights(explorer), before);
    await explorer.write('The cat sat.');
    await explorer.untilRun('another sentence', ({ text, tokens }) => text === 'The cat sat.' && tokens > 0);
    await explorer.until('the twin to go', async () => await explorer.rect('twin') === undefined);
});

bare('the first sentence says what is seen, and the twin changes it', {}, async (explorer) => {
    const { layer, head } = await opened(explorer);
    const share = async (word, pieces) => {
        const row = (await explorer.attention(layer, head)).at(-1);
        return Math.round(100 * row[pieces.findIndex((piece) => piece.endsWith(word))]);
    };
    const { spoken, pieces } = await explorer.untilState('the sentence', (state) => state.spoken);
    assert.equal(spoken, `Reading “It”, this head looks at “animal” (${await share('animal', pieces)} %).`);
    await explorer.click('twin');
    const twin = await opened(explorer, texts.wide);
    const after = await explorer.untilState('another sentence', (state) => state.spoken !== spoken);
    assert.equal(after.spoken, `Reading “It”, this head looks at “street” (${await share('street', twin.pieces)} %).`);
});

bare('newcomers get the first lesson, which steps aside for ever when finished', { newcomer: true }, async (explorer) => {
    const { steps } = lessonCalled('first-steps');
    const pause = () => explorer.page.waitForTimeout(600);  // a double click is one step
    await opened(explorer);
    await atStep(explorer, steps[0]);
    await explorer.click('lesson/next');
    await atStep(explorer, steps[1]);
    await explorer.click('lesson/back');
    await atStep(explorer, steps[0]);
    for (const step of steps.slice(1)) {
        await pause();
        await explorer.click('lesson/next');
        await atStep(explorer, step);
    }
    await explorer.until('the third step to be the last', () => explorer.page.locator('[data-key="lesson/next"]').getAttribute('aria-label'), (label) => label === 'Finish');
    await pause();
    await explorer.click('lesson/next');
    await explorer.until('the lesson to go', async () => !await explorer.rect('panel/lesson'));
    await explorer.page.reload();
    await explorer.started();
    await opened(explorer);
    assert.equal(await explorer.rect('panel/lesson'), undefined);
});

bare('the twin is a step of undo and of the address', {}, async (explorer) => {
    await opened(explorer);
    await explorer.click('twin');
    await opened(explorer, texts.wide);
    await explorer.until('its address', () => hash(explorer), (now) => new URLSearchParams(now.slice(1)).get('text') === texts.wide);
    await explorer.press('Control+Z');
    await opened(explorer);
    await explorer.until('the bare address', () => hash(explorer), (now) => now === '');
});

bare('the worked example and back: the bare address is the model again', {}, async (explorer) => {
    const start = await opened(explorer);
    await explorer.click('subject/worked');
    await explorer.untilState('the worked example', ({ subject }) => subject === 'worked');
    await explorer.page.goBack();
    await explorer.untilState('what the page opened with', ({ fragment }) => fragment === start.fragment);
    assert.equal(await hash(explorer), '');
});

bare('a link goes before', { fragment: 'v=1&ex=three-tokens' }, async (explorer) => {
    const { subject, model } = await explorer.state();
    assert.deepEqual([subject, model, await explorer.linked('ex')], ['worked', '', 'three-tokens']);
});

const linked = `v=1&lens=sentence&model=${name}&text=The%20king%20had%20a%20daughter.&layer=1&head=6&query=2`;
bare('a link to the model, a text and a head opens them without a drop', { fragment: linked }, async (explorer) => {
    const { text, layer, head, query } = await explorer.untilRun('the run', ({ tokens }) => tokens > 3);
    assert.deepEqual([text, layer, head, query], ['The king had a daughter.', 1, 6, 2]);
    assert.deepEqual([await explorer.notices(), await hash(explorer)], [[], `#${linked}`]);
});

async function choose(explorer) {
    await explorer.page.click('#model');
    await explorer.page.click(`#bundled button:has-text("${name}")`);
}

bare('a dropped model replaces it, and the menu brings it back', {}, async (explorer) => {
    const start = await opened(explorer);
    await explorer.openModel(tiny.folder, tiny.text);
    near(await explorer.attention(0, 0), tiny.attention[0][0], 1e-4, 'attention');
    await choose(explorer);
    const { text } = await explorer.untilRun('the model', ({ model }) => model === name);
    assert.equal(text, tiny.text, 'a text of a person stays');
    await explorer.write('');
    await explorer.openModel(tiny.folder);
    await choose(explorer);
    assert.equal((await opened(explorer)).fragment, start.fragment);
});

bare('back to the bare address brings it back too', {}, async (explorer) => {
    const start = await opened(explorer);
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.page.goBack();  // back to before its text
    await explorer.page.goBack();
    assert.equal((await opened(explorer)).fragment, start.fragment);
});

const whole = (file) => readFileSync(`${site}/${file}`);
const weightsFile = `models/${name}/model.safetensors`;
const manifest = () => JSON.parse(String(whole('manifest.json')));
const without = (pattern) => Object.fromEntries(Object.entries(manifest()).filter(([path]) => !pattern.test(path)));
const cut = () => whole(weightsFile).subarray(0, 1000000);
const sites = {
    'weights that break off': [{ [weightsFile]: cut }, /^storyteller.*model\.safetensors did not arrive whole\.$/],
    'weights that are too short': [{ [weightsFile]: cut, 'manifest.json': () => JSON.stringify({ ...manifest(), [weightsFile]: 1000000 }) }, /model\.safetensors/],
    'a tokenizer that is none': [{ [`models/${name}/tokenizer.json`]: () => '{"model": 7}' }, /^storyteller.*tokenizer\.json/],
    'scores that are none': [{ [`models/${name}/scores.json`]: () => '{"heads": []}' }, /scores\.json/],
    'no weights': [{ 'manifest.json': () => JSON.stringify(without(/safetensors$/)) }, null],
    'no model': [{ 'manifest.json': () => JSON.stringify(without(/^models\//)) }, null],
};
for (const [what, [changes, says]] of Object.entries(sites)) {
    test(`a site with ${what} opens with the worked example`, { start: false }, async (explorer) => {
        if (bundled.absent) {
            skip(bundled.absent);
        }
        for (const [file, body] of Object.entries(changes)) {
            await explorer.page.route(`**/${file}`, (route) => route.fulfill({ body: body() }));
        }
        await explorer.open(explorer.variant, '');
        if (says) {
            const sentence = await explorer.untilNotice(says, 'error');
            assert.match(sentence, /^[^\n]{10,250}\.$/);
        }
        await explorer.untilState('the worked example', ({ subject }) => subject === 'worked');
        await explorer.settled();
        assert.equal((await explorer.notices()).length, says ? 1 : 0);
        const { fragment, model, text } = await explorer.state();
        assert.deepEqual([fragment, model, text, await hash(explorer)], ['', '', '', '']);
        await explorer.finish();
    });
}

// Opens the bare address and keeps the model's weights back until the function that it resolves to is called.
async function delayed(explorer) {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    let arrive;
    const arrived = new Promise((resolve) => { arrive = resolve; });
    await explorer.page.route(`**/${weightsFile}`, async (route) => {
        await arrived;
        await route.continue().catch(() => {});
    });
    await explorer.open(explorer.variant, '');
    return arrive;
}

test('while the weights are on their way the worked example is there, then the sentence', { start: false }, async (explorer) => {
    const arrive = await delayed(explorer);
    await explorer.untilState('the worked example', ({ subject, lens }) => subject === 'worked' && lens === 'ladder');
    assert.ok(await explorer.rect('panel/lens'));
    assert.deepEqual([await hash(explorer), await explorer.page.isDisabled('#undo')], ['', true]);
    arrive();
    await opened(explorer);
    assert.deepEqual([await hash(explorer), await explorer.page.isDisabled('#undo')], ['', true]);
});

test('the example stays once it has been changed', { start: false }, async (explorer) => {
    const arrive = await delayed(explorer);
    await explorer.untilState('the worked example', ({ subject }) => subject === 'worked');
    await explorer.settled();
    await explorer.click('lens/cache');
    await explorer.untilState('lens Cache', ({ lens }) => lens === 'cache');
    arrive();
    await explorer.untilNotice(/^The model is open: choose Sentence/, 'info');
    assert.equal((await explorer.state()).subject, 'worked');
});

test('while the weights are on their way, a dropped model goes before', { start: false }, async (explorer) => {
    const arrive = await delayed(explorer);
    await explorer.click('subject/sentence');
    await explorer.until('the words that it waits', () => explorer.rect('sentence/waiting'));
    assert.equal(await explorer.page.inputValue('#sentence'), texts.tired);
    await explorer.drop(tiny.folder);
    arrive();
    await explorer.untilState('the dropped one', ({ model }) => model === 'tiny');
    await explorer.write(tiny.text);
    await explorer.untilRun('its run', ({ tokens }) => tokens === tiny.ids.length);
    near(await explorer.attention(1, 2), tiny.attention[1][2], 1e-4, 'attention');
});

bare('on a phone it fits, and a tap flips the adjective', { context: { ...phone, deviceScaleFactor: 3 } }, async (explorer) => {
    await opened(explorer);
    const overflow = await explorer.page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `the page is ${overflow} points wider than the screen`);
    await explorer.tap('settings');
    const [twin, lens] = [await explorer.found('twin'), await explorer.rect('panel/lens')];
    assert.ok(twin.left >= lens.left && twin.right <= lens.right && twin.bottom <= lens.bottom, JSON.stringify(twin));
    await explorer.tap('twin');
    await opened(explorer, texts.wide);
});
