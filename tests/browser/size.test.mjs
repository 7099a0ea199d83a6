// Tests text sizes, panels that fold away, the keys of the whole page, and where the focus goes.
import assert from 'node:assert/strict';
import { bundled } from './lib/bundled.mjs';
import { pinName } from './lib/explorer.mjs';
import { tiny } from './lib/models.mjs';
import { skip, test } from './lib/suite.mjs';

const scaleOf = (explorer) => explorer.page.evaluate(() => Number(document.documentElement.style.getPropertyValue('--scale')));
const focused = (explorer) => explorer.page.evaluate(() => {
    const { activeElement: active } = document;
    return active?.closest('[data-key]')?.getAttribute('data-key') ?? active?.id ?? '';
});

// The stage in points, once the program has laid it out, and the parts of the page beyond the window.
async function laidOut(explorer, scale) {
    const stage = await explorer.page.evaluate(() => {
        const { clientWidth, clientHeight } = document.getElementById('stage');
        return [clientWidth, clientHeight];
    });
    await explorer.until('the program to follow', () => explorer.landmarks(), (landmarks) => [2, 3].every((side) => {
        const ends = Object.entries(landmarks).filter(([name]) => name.startsWith('panel/')).map(([, place]) => place[side]);
        return Math.abs(Math.max(...ends) * scale - stage[side - 2]) < 2;
    }));
    const beyond = await explorer.page.evaluate(() => [...document.querySelectorAll('header button, header textarea, header h1, canvas')]
        .filter((element) => element.checkVisibility()).filter((element) => {
            const { left, top, right, bottom } = element.getBoundingClientRect();
            return left < -1 || top < -1 || right > innerWidth + 1 || bottom > innerHeight + 1;
        }).map(({ id, tagName }) => id || tagName));
    assert.deepEqual(beyond, [], `beyond the window at ${scale}`);
}

test('the page grows by keys and by its button, sharply, and is as large at the next visit', { fine: true }, async (explorer) => {
    const { page } = explorer;
    await page.locator('#stage').focus();
    for (const scale of [1.25, 1.5, 2, 1.5]) {
        await page.keyboard.press(await scaleOf(explorer) < scale ? 'Control+=' : 'Control+-');
        assert.equal(await scaleOf(explorer), scale);
        await laidOut(explorer, scale);
    }
    const pixels = await page.evaluate(() => [document.getElementById('canvas').width, document.getElementById('stage').clientWidth]);
    assert.equal(pixels[0], pixels[1], 'a pixel of the canvas is one of the screen');
    await explorer.click('x/1/0');
    await explorer.untilState('the cell under the mouse to be pinned', ({ pin }) => pinName(pin) === 'x/1/0');
    // The invisible elements are where the canvas shows their counterparts.
    const tab = await explorer.rect('subject/training');
    const box = await page.locator('[data-key="subject/training"]').boundingBox();
    assert.ok(Math.abs(tab.left - box.x) < 2 && Math.abs(tab.right - box.x - box.width) < 2, JSON.stringify({ tab, box }));

    for (const [width, height] of [[1440, 900], [1280, 720]]) {
        await page.setViewportSize({ width, height });
        for (const size of ['200', '150', '125']) {
            await page.evaluate((chosen) => localStorage.setItem('text size', chosen), size);
            await page.reload();
            await explorer.until('the page to be there', () => page.evaluate(() => Boolean(globalThis.explorer?._probe_answered?.())));
            assert.equal(await scaleOf(explorer), Number(size) / 100);
            await laidOut(explorer, Number(size) / 100);
            await page.locator('#table').click();
            const dialog = await page.locator('#table-dialog').boundingBox();
            assert.ok(dialog.x >= 0 && dialog.y >= 0 && dialog.x + dialog.width <= width && dialog.y + dialog.height <= height, JSON.stringify(dialog));
            await page.locator('#table-close').click();
        }
    }
    await page.locator('#size').click();
    assert.equal(await scaleOf(explorer), 1.5);
    await page.keyboard.press('Control+0');
    assert.equal(await scaleOf(explorer), 1);
    await laidOut(explorer, 1);
});

test('a page that has no room for a larger size keeps its own', { fine: true }, async (explorer) => {
    const { page } = explorer;
    await page.evaluate(() => localStorage.setItem('text size', '200'));
    await page.setViewportSize({ width: 500, height: 900 });
    await explorer.until('the size to follow the window', () => scaleOf(explorer), (scale) => scale === 1.5 || scale === 1);
    await page.evaluate(() => localStorage.removeItem('text size'));
});

test('a question mark lists the keys and the version, and the palette gives the focus back', { fine: true }, async (explorer) => {
    const { page } = explorer;
    await page.locator('#stage').focus();
    await page.keyboard.press('?');
    assert.ok(await page.locator('#keys-dialog').isVisible());
    assert.match(await page.locator('#keys-dialog .small').innerText(), /^Attention Explorer \d+\.\d+\.\d+( · [0-9a-f]{8,})?$/);
    await page.keyboard.press('Escape');
    await page.locator('#find').focus();
    await page.keyboard.press('Enter');
    await explorer.until('the palette', () => focused(explorer), (key) => key === 'palette');
    await page.keyboard.press('Escape');
    await explorer.until('the focus to be where it was', () => focused(explorer), (key) => key === 'find');
});

test('Tab leads from a cell to its explanation and Escape back, Home and End go along a row', { fine: true }, async (explorer) => {
    const { page } = explorer;
    await explorer.click('weight/1/1');
    await page.locator('[data-key="weight"] [data-row="1"][data-col="1"]').focus();
    await page.keyboard.press('Tab');
    await explorer.until('the explanation to have the focus', () => focused(explorer), (key) => key.startsWith('inspector/'));
    await page.keyboard.press('Escape');
    const column = () => page.evaluate(() => document.activeElement?.getAttribute('data-col'));
    assert.equal(await column(), '1');
    await page.keyboard.press('End');
    assert.equal(await column(), '2');
    await page.keyboard.press('Home');
    assert.equal(await column(), '0');
    await page.locator('[data-key="lens/overview"]').focus();
    // Each group of lenses is a list of its own.
    await page.keyboard.press('End');
    assert.equal(await focused(explorer), 'lens/translation');
});

test('after Enter in the sentence box the focus is on the stage', { fine: true }, async (explorer) => {
    const { page } = explorer;
    await explorer.click('subject/sentence');
    await page.evaluate(() => document.getElementById('sentence').removeAttribute('disabled'));
    await page.locator('#sentence').focus();
    await page.keyboard.press('Enter');
    assert.equal(await focused(explorer), 'stage');
});

test('Escape leaves the sentence box and then unpins, and unpins at once from a button of the page', { fine: true }, async (explorer) => {
    const { page } = explorer;
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.dismiss();
    const { fragment } = await explorer.state();
    for (const place of ['#sentence', '#table']) {
        await explorer.visit(`${fragment}&pin=weight.3.1`);
        await explorer.untilState('a pin', ({ pin }) => pin);
        await page.locator(place).focus();
        if (place === '#sentence') {
            await page.keyboard.press('Escape');
            assert.equal(await focused(explorer), 'stage');
            await explorer.answered();
            assert.ok((await explorer.state()).pin);
        }
        await page.keyboard.press('Escape');
        await explorer.untilState('no pin', ({ pin }) => !pin);
    }
});

test('the button that trains and pauses keeps the focus, and so does a cell whose explanation Escape closes', { fine: true }, async (explorer) => {
    const { page } = explorer;
    await explorer.click('weight/1/1');
    await page.locator('[data-key="weight"] [data-row="1"][data-col="1"]').focus();
    await page.keyboard.press('Escape');
    await explorer.untilState('the explanation to be closed', ({ pin }) => !pin);
    assert.equal(await focused(explorer), 'weight');
    await explorer.click('subject/training');
    const go = page.locator('[data-key="training/go"]');
    await go.focus();
    await page.keyboard.press('Enter');
    await explorer.until('the run', () => go.getAttribute('aria-label'), (name) => name === 'Pause');
    assert.equal(await focused(explorer), 'training/go');
    await page.keyboard.press('Enter');
    await explorer.until('the pause', () => go.getAttribute('aria-label'), (name) => name !== 'Pause');
    assert.equal(await focused(explorer), 'training/go');
});

test('Pause stands where Play was pressed, however far the text has grown', { fine: true, fragment: '' }, async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    const { page } = explorer;
    await explorer.openModel(bundled.folder, bundled.texts.tired);
    const { x, y } = await explorer.reveal('next/play');
    await page.mouse.click(x, y);
    const tokens = async () => (await explorer.state()).tokens;
    const before = await tokens();
    await explorer.until('the text to grow by some lines', tokens, (now) => now > before + 24, 60_000);
    await page.mouse.click(x, y);
    await explorer.until('the pause', async () => (await page.locator('[data-key="next/play"]').getAttribute('aria-label')), (name) => name === 'Play');
    const { left, top, right, bottom } = await explorer.rect('next/play');
    assert.ok(left < x && x < right && top < y && y < bottom, JSON.stringify({ left, top, right, bottom, x, y }));
});

test('the rail stays where it is when a second text opens', { fragment: '' }, async (explorer) => {
    if (bundled.absent) {
        skip(bundled.absent);
    }
    await explorer.openModel(bundled.folder, bundled.texts.tired);
    const before = await explorer.rect('lens/curves');
    await explorer.click('lens/compare');
    await explorer.until('the second text', () => explorer.page.locator('#second-sentence').isVisible());
    await explorer.settled();
    assert.deepEqual(await explorer.rect('lens/curves'), before);
    const box = await explorer.page.locator('#second-sentence').boundingBox(), canvas = await explorer.page.locator('#canvas').boundingBox();
    assert.ok((await explorer.rect('panel/tabs')).top + canvas.y >= box.y + box.height, 'the tabs make room for it');
});
