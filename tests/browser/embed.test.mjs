// Tests the explorer in a page of another origin: a lens alone, what readers can change, the messages, the wheel, sleep, and the dialog
// that writes such a frame.
import assert from 'node:assert/strict';
import { inCourse } from './lib/course.mjs';
import { tiny } from './lib/models.mjs';
import { near } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';
import { npy } from './lib/tensors.mjs';

const granted = (origin) => `origin=${encodeURIComponent(origin)}`;
const example = 'v=1&lens=ladder';

// What the page's site and browser are, from the page that each test has.
const parts = (explorer) => ({ browser: explorer.page.context().browser(), site: explorer.site });

test('a course page shows a lens alone, with explanations and threads, and hears what is chosen', { start: false, limit: 180_000 }, async (visit) => {
    await inCourse({ ...parts(visit), frame: (origin) => `?embed&${granted(origin)}#${example}` }, async ({ page, explorer, messages }) => {
        const [rail, tabs, status, lens] = await explorer.rects('panel/rail', 'panel/tabs', 'panel/status', 'panel/lens');
        assert.deepEqual([rail, tabs, status], [undefined, undefined, undefined]);
        assert.ok(lens.right > 980 && lens.bottom > 800, JSON.stringify(lens));
        assert.equal(await explorer.page.locator('#undo').isVisible(), false);
        assert.equal(await explorer.page.evaluate(() => crossOriginIsolated), true);

        const [ready] = await messages('ready');
        assert.equal(ready.version, 1);
        assert.equal(`${ready.from}/`, visit.site);
        await explorer.click('w_q/1/1');
        await explorer.until('the explanation', () => explorer.rect('panel/inspector'));
        const chosen = await explorer.until('the selection', async () => (await messages('selection')).at(-1), ({ cell }) => cell);
        assert.deepEqual([chosen.subject, chosen.lens, chosen.cell, chosen.value], ['worked', 'ladder', 'W_Q.1.1', 1]);
        await explorer.type('w_q/1/1', '2.5');
        await explorer.until('the new number', async () => (await messages('selection')).at(-1), ({ value }) => value === 2.5);
        assert.match((await explorer.until('its link', async () => (await messages('state')).at(-1), ({ link }) => /W_Q/.test(link))).link, /^v=1&.*W_Q=/);

        // A frame leaves no steps for Back, and follows its size.
        assert.equal(await page.evaluate(() => history.length), 2);
        await page.evaluate(() => { document.querySelector('iframe').style.width = '360px'; });
        await explorer.until('the lens to be narrow', () => explorer.rect('panel/lens'), ({ right }) => right <= 360);
    });
});

test('in a course page the wheel belongs to the course', { start: false, limit: 180_000 }, async (visit) => {
    await inCourse({ ...parts(visit), frame: () => `?embed#${example}`, height: 400 }, async ({ page, explorer }) => {
        await explorer.click('w_q/0/0');
        await explorer.page.mouse.move(300, 300);
        await page.mouse.wheel(0, 120);
        await explorer.until('the course to scroll', () => page.evaluate(() => scrollY), (y) => y === 120);
        await page.evaluate(() => scrollTo(0, 0));
        const { y } = await explorer.rect('w_q/0/0');
        await explorer.page.mouse.move(100, 70);  // over the headline, which zooms nothing
        await page.keyboard.down('Control');
        await page.mouse.wheel(0, 60);
        await page.keyboard.up('Control');
        await explorer.until('the lens to scroll', () => explorer.rect('w_q/0/0'), (rect) => !rect || rect.y < y);
        assert.equal(await page.evaluate(() => scrollY), 0);
    });
});

test('a finger scrolls the lens, and at its end the course', { start: false, limit: 180_000 }, async (visit) => {
    const context = { hasTouch: true, isMobile: true, viewport: { width: 1100, height: 900 } };
    await inCourse({ ...parts(visit), frame: () => `?embed#${example}`, height: 400, context }, async ({ page, explorer }) => {
        const devtools = await page.context().newCDPSession(page);
        const touch = (/** @type {any} */ type, ...touchPoints) => devtools.send('Input.dispatchTouchEvent', { type, touchPoints });
        const swipe = async () => {
            await touch('touchStart', { x: 500, y: 300 });
            for (let y = 290; y >= 100; y -= 10) {
                await touch('touchMove', { x: 500, y });
            }
            await touch('touchEnd');
            await explorer.settled();
        };
        const scrolled = () => page.evaluate(() => Math.round(scrollY));
        const { y } = await explorer.rect('w_q/0/0');
        await swipe();
        assert.ok((await explorer.rect('w_q/0/0')).y < y);
        assert.equal(await scrolled(), 0);
        for (let swipes = 0; await scrolled() === 0 && swipes < 20; ++swipes) {
            await swipe();
        }
        assert.ok(await scrolled() > 0);
    });
});

test('a frame lets its readers change what the teacher names', { start: false, limit: 180_000 }, async (visit) => {
    const only = 'only=W_K,nonsense';
    await inCourse({ ...parts(visit), frame: (origin) => `?embed&${only}&${granted(origin)}#${example}` }, async ({ explorer, messages, send }) => {
        await explorer.untilNotice(/^The frame's address names 'nonsense' as what can be changed, but links have no such name\.$/);
        await explorer.type('w_q/0/0', '5');
        await explorer.untilNotice(/^W_Q is locked: this view lets you change only W_K\.$/);
        assert.equal((await explorer.matrix('w_q'))[0][0], 1);
        assert.ok((await messages('notice')).some(({ kind, text }) => kind === 'info' && /^W_Q is locked/.test(text)));
        await explorer.type('w_k/0/0', '5');
        await explorer.until('the edit', async () => (await explorer.matrix('w_k'))[0][0], (number) => number === 5);
        // The course itself may show anything.
        assert.equal((await send({ type: 'state', link: 'https://example.org/#v=1&lens=softmax' })).type, 'done');
        await explorer.untilState('the lens', ({ lens }) => lens === 'softmax');
    });
    await inCourse({ ...parts(visit), frame: () => `?embed&only#${example}` }, async ({ explorer }) => {
        await explorer.type('w_k/0/0', '5');
        await explorer.untilNotice(/^W_K is locked: nothing can be changed in this view\.$/);
    });
});

test('a course page opens tensors and a model by messages, and hears why not', { start: false, limit: 180_000 }, async (visit) => {
    await inCourse({ ...parts(visit), frame: (origin) => `?embed&${granted(origin)}#${example}` }, async ({ page, explorer, send }) => {
        const numbers = [0.9, 0.1, 0, 0.2, 0.5, 0.3, 0.3, 0.3, 0.4];
        const bytes = [...npy([3, 3], numbers)];
        const open = (files) => page.evaluate((given) => /** @type {any} */ (window).send({ type: 'open', files: given.map(({ path, bytes: all }) => ({ path, bytes: new Uint8Array(all) })) }), files);
        assert.equal((await open([{ path: 'weights.npy', bytes }])).type, 'done');
        await explorer.untilState('the tensors', ({ subject }) => subject === 'tensors');
        await explorer.idle();
        near((await explorer.attention(0, 0)).flat(), numbers, 1e-6, 'the weights');

        const refused = await open([{ path: 'weights.xyz', bytes: [1, 2, 3] }]);
        assert.equal(refused.type, 'failed');
        assert.match(refused.text, /weights\.xyz/);
        const broken = await open([{ path: 'broken.npy', bytes: [1, 2, 3] }]);
        assert.equal(broken.type, 'failed');
        assert.match(broken.text, /broken\.npy/);
        assert.match((await send({ type: 'open', files: [{ path: 'a' }] })).text, /^“open” takes files/);
        assert.match((await send({ type: 'state', link: 7 })).text, /^“state” takes a link/);
        assert.match((await send({ type: 'dance' })).text, /^“dance” is none of the messages/);
    });
});

test('a page that was not granted neither hears nor commands', { start: false, limit: 180_000 }, async (visit) => {
    await inCourse({ ...parts(visit), frame: () => `?embed&origin=https://course.example#${example}` }, async ({ page, explorer, messages }) => {
        await page.evaluate(() => frames[0].postMessage({ explorer: 1, id: 1, type: 'state', link: 'v=1&lens=softmax' }, '*'));
        await explorer.click('w_q/1/1');
        await explorer.until('the explanation', () => explorer.rect('panel/inspector'));
        await explorer.settled();
        assert.equal((await explorer.state()).lens, 'ladder');
        assert.deepEqual(await messages(), []);
    });
});

test('a frame out of sight gives its context back, and goes on when it is pressed', { start: false, limit: 180_000 }, async (visit) => {
    await inCourse({ ...parts(visit), frame: (origin) => `?embed&${granted(origin)}#${example}` }, async ({ page, explorer, send }) => {
        await explorer.type('w_q/0/0', '3');
        await page.evaluate(() => scrollTo(0, 2000));
        const asleep = () => explorer.page.evaluate(() => /** @type {HTMLCanvasElement} */ (document.getElementById('canvas')).getContext('webgl2')?.isContextLost());
        await explorer.until('it to sleep', asleep);
        await page.evaluate(() => scrollTo(0, 0));
        await explorer.page.getByRole('button', { name: 'Press to go on' }).click();
        await explorer.until('it to wake', async () => !await asleep());
        await explorer.until('its picture', () => explorer.page.locator('.asleep').count(), (count) => count === 0);
        assert.deepEqual(await explorer.notices(), []);
        await explorer.type('w_q/0/1', '4');
        const row = async () => (await explorer.matrix('w_q'))[0].slice(0, 2);
        assert.deepEqual(await explorer.until('the edit', row, ([, second]) => second === 4), [3, 4]);
        // A message wakes it, too.
        await page.evaluate(() => scrollTo(0, 2000));
        await explorer.until('it to sleep', asleep);
        await send({ type: 'state', link: example });
        await explorer.until('it to wake', async () => !await asleep());
    });
});

test('Embed writes a frame for what is on screen', { fragment: 'v=1&lens=softmax', context: { permissions: ['clipboard-read', 'clipboard-write'] }, limit: 180_000 }, async (explorer) => {
    const { page } = explorer;
    await page.click('#embed');
    await page.selectOption('#embed-only', 'names');
    await page.check('#embed-names input[value="softmax.t"]');
    await page.check('#embed-names input[value="W_K"]');
    await page.fill('#embed-height', '500');
    await page.fill('#embed-origin', 'nonsense://');
    assert.equal(await page.textContent('#embed-fault'), 'An address begins like https://course.example.');
    await page.fill('#embed-origin', 'https://course.example/lecture/4.html');
    assert.equal(await page.locator('#embed-fault').isVisible(), false);
    await page.click('#embed-copy');
    const code = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(code, /^<iframe src="http[^"]+\?embed&amp;only=softmax\.t,W_K&amp;origin=https%3A%2F%2Fcourse\.example#v=1&amp;lens=softmax" title="Attention Explorer" width="100%" height="500"/);
    await inCourse({ ...parts(explorer), frame: () => code }, async ({ explorer: framed }) => {
        assert.equal((await framed.state()).lens, 'softmax');
        assert.equal(await framed.page.evaluate(() => innerHeight), 500);
    });
    // What is the user's own is not in it.
    await explorer.openModel(tiny.folder, tiny.text);
    await page.click('#embed');
    assert.match(await page.textContent('#embed-says') ?? '', /^Not in it: .+\. Your page has to send that/);
});
