// Tests the canvas in its window: idle, sizes, densities, phones, themes, and a lost drawing context.
import assert from 'node:assert/strict';
import { pinName } from './lib/explorer.mjs';
import { tiny } from './lib/models.mjs';
import { difference } from './lib/png.mjs';
import { phone, test } from './lib/suite.mjs';

const canvasSize = (explorer) => explorer.page.evaluate(() => {
    const canvas = document.getElementById('canvas'), stage = document.getElementById('stage');
    return { pixels: [canvas.width, canvas.height], shown: [canvas.clientWidth, canvas.clientHeight], stage: [stage.clientWidth, stage.clientHeight] };
});

// The canvas covers the stage with `density` pixels per point, and the program knows.
async function fills(explorer, density) {
    const { stage } = await explorer.until('the canvas to fill the stage', () => canvasSize(explorer), ({ pixels, shown, stage: room }) =>
        pixels.every((n, i) => n === Math.round(room[i] * density)) && shown.every((n, i) => n === room[i]));
    await explorer.until('the panels to follow', () => explorer.landmarks(), ({ 'panel/status': status }) =>
        Math.abs(status[2] - stage[0]) < 1 && Math.abs(status[3] - stage[1]) < 1);
    return stage;
}

async function drawsNothing(explorer) {
    const before = await explorer.settled(60);  // late arrivals at the start have come
    await explorer.page.evaluate(() => {
        const { requestAnimationFrame: asks } = globalThis;
        globalThis.asked = 0;
        globalThis.requestAnimationFrame = (callback) => {
            ++globalThis.asked;
            return asks(callback);
        };
    });
    await explorer.page.waitForTimeout(2000);
    assert.equal(await explorer.frames(), before, 'frames drawn while nothing happened');
    assert.equal(await explorer.page.evaluate(() => globalThis.asked), 0, 'frames asked for while nothing happened');
    await explorer.page.mouse.move(700, 400);
    await explorer.until('the mouse to wake it', () => explorer.frames(), (frames) => frames > before);
}

test('while nothing happens, no frame is drawn', async (explorer) => {
    await drawsNothing(explorer);
});

test('with a model open and a sentence shown, no frame is drawn either', async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await drawsNothing(explorer);
});

test('in a window that leaves the canvas no height, no frame is drawn either', async (explorer) => {
    for (const size of [{ width: 1440, height: 50 }, { width: 320, height: 40 }]) {
        await explorer.page.setViewportSize(size);
        const before = await explorer.settled(30);
        await explorer.page.waitForTimeout(1000);
        assert.equal(await explorer.frames(), before, `frames drawn while nothing happened at ${size.width} × ${size.height}`);
    }
    await explorer.page.setViewportSize({ width: 1440, height: 900 });
    await fills(explorer, 0.5);
});

test('where nothing has changed, frames are not drawn', { start: false }, async (explorer) => {
    await explorer.page.addInitScript(() => {
        const { drawElements } = WebGL2RenderingContext.prototype;
        globalThis.draws = 0;
        WebGL2RenderingContext.prototype.drawElements = function (...of) {
            ++globalThis.draws;
            drawElements.apply(this, of);
        };
    });
    await explorer.open(explorer.variant);
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.hover('map/3/1');
    await explorer.settled(60);
    // Remaining news of the last work, such as freed memory, is shown with the next frame.
    await explorer.press('Shift');
    const frames = await explorer.settled(), draws = () => explorer.page.evaluate(() => globalThis.draws), before = await draws();
    assert.ok(before > 0);
    await explorer.press('Shift');  // makes the page look, and find nothing
    assert.ok(await explorer.settled() > frames, 'the key wakes it');
    assert.equal(await draws(), before);
});

test('the picture follows the window', { fine: true }, async (explorer) => {
    for (const [width, height] of [[1000, 620], [700, 900], [1720, 1050], [1440, 900]]) {
        await explorer.page.setViewportSize({ width, height });
        await fills(explorer, 1);
    }
    await explorer.type('x/0/0', '0.5');
    await explorer.until('the edit', () => explorer.matrix('x'), (rows) => rows[0][0] === 0.5);
});

test('two pixels to a point: a canvas of twice the size, and clicks that meet', { context: { deviceScaleFactor: 2 } }, async (explorer) => {
    const [width, height] = await fills(explorer, 2);
    const { width: seenWidth, height: seenHeight } = await explorer.picture();
    assert.deepEqual([seenWidth, seenHeight], [2 * width, 2 * height]);
    await explorer.click('x/2/3');
    await explorer.untilState('the cell to be pinned', ({ pin }) => pinName(pin) === 'x/2/3');
});

test('a window moved to another screen changes its density', { fine: true }, async (explorer) => {
    await fills(explorer, 1);
    const devtools = await explorer.page.context().newCDPSession(explorer.page);
    const { width, height } = explorer.page.viewportSize();
    for (const deviceScaleFactor of [2, 1.5, 1]) {
        await devtools.send('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor, mobile: false });
        // Unlike a real change of screen, the emulation notifies nobody.
        await explorer.page.mouse.move(700, 400 + deviceScaleFactor);
        await fills(explorer, deviceScaleFactor);
    }
    await explorer.click('x/1/0');
    await explorer.untilState('the cell to be pinned', ({ pin }) => pinName(pin) === 'x/1/0');
});

async function swipe(explorer, from, to) {
    const devtools = await explorer.devtools();
    const touch = (type, ...touchPoints) => devtools.send('Input.dispatchTouchEvent', { type, touchPoints });
    await touch('touchStart', from);
    for (let step = 1; step <= 8; ++step) {
        await touch('touchMove', { x: from.x + (to.x - from.x) * step / 8, y: from.y + (to.y - from.y) * step / 8 });
    }
    await touch('touchEnd');
}

test('on a phone it fits, scrolls under a finger, and a tap explains a cell', { context: { ...phone, deviceScaleFactor: 3 } }, async (explorer) => {
    await fills(explorer, 3);
    const overflow = await explorer.page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `the page is ${overflow} points wider than the screen`);
    const lens = await explorer.rect('panel/lens');
    assert.ok(lens.right - lens.left >= 389, 'the lens is as wide as the screen');
    for (let cell = await explorer.rect('w_k/1/1'); cell.bottom > lens.bottom - 100; cell = await explorer.rect('w_k/1/1')) {
        const edge = { x: lens.right - 40, y: lens.bottom - 20 };  // beside draggable items
        await swipe(explorer, edge, { x: edge.x, y: edge.y - 200 });
        await explorer.until('the finger to scroll', () => explorer.rect('w_k/1/1'), ({ top }) => top < cell.top - 100);
        await explorer.settled();
    }
    await explorer.tap('w_k/1/1');
    await explorer.untilState('the cell to be pinned', ({ pin }) => pinName(pin) === 'w_k/1/1');
    const sheet = await explorer.until('the explanation', () => explorer.rect('panel/inspector'));
    assert.ok(sheet.bottom <= 844 && sheet.right - sheet.left >= 389);
    await explorer.until('the cell in view above it', () => explorer.rect('w_k/1/1'), ({ top, bottom }) => top >= lens.top && bottom <= sheet.top);
    await explorer.tap('subject/sentence');
    await explorer.untilState('the other subject', ({ subject }) => subject === 'sentence');
});

test('on a phone, a tapped input is changed in a field that brings the keyboard, and the sheet closes', { context: phone }, async (explorer) => {
    const { page } = explorer;
    const field = page.locator('[data-field="number"]');
    assert.equal(await field.isVisible(), false);
    await explorer.tap('x/0/1');
    await field.waitFor();
    assert.equal(await field.getAttribute('inputmode'), 'decimal');
    const box = await field.boundingBox();
    await page.touchscreen.tap(box.x + 40, box.y + 20);
    await page.keyboard.type('0.75');
    await page.keyboard.press('Enter');
    await explorer.until('the number', () => explorer.matrix('x'), (rows) => rows[0][1] === 0.75);
    await field.fill('1,5');
    await explorer.tap('lens-menu');  // leaving the field is Done
    await explorer.until('the other number', () => explorer.matrix('x'), (rows) => rows[0][1] === 1.5);
    await page.touchscreen.tap(380, 300);  // closes the menu
    await field.waitFor();
    await field.fill('many');
    await page.keyboard.press('Enter');
    assert.match(await explorer.untilNotice(/not a number/, 'error'), /^'many' is not a number; the cell keeps its value\.$/);
    assert.equal(await field.inputValue(), '1.5');
    const notice = await page.locator('.notice.error').boundingBox(), explained = await explorer.rect('panel/inspector');
    assert.ok(notice.x + notice.width <= 390 && notice.y + notice.height <= explained.top, 'the notice fits above the sheet');
    await explorer.dismiss();
    await explorer.settled();
    const sheet = await explorer.rect('panel/inspector');
    await swipe(explorer, { x: 200, y: sheet.top + 60 }, { x: 204, y: sheet.top + 200 });
    await explorer.untilState('no pin', ({ pin }) => !pin);
    await field.waitFor({ state: 'hidden' });
});

test('on a phone, the palette is typed into with the phone’s keyboard', { context: phone }, async (explorer) => {
    await explorer.page.tap('#find');
    assert.equal(await explorer.page.evaluate(() => document.activeElement?.id), 'field');
    await explorer.page.keyboard.type('overview');
    await explorer.until('what was found', () => explorer.landmarks(), (all) => all['palette/0'] && !all['palette/9']);
    await explorer.page.keyboard.press('Enter');
    await explorer.untilState('the lens', ({ lens }) => lens === 'overview');
    await explorer.page.locator('#field').waitFor({ state: 'hidden' });
});

// Types into the fields of lenses, and compares with what the link then says.
const fields = {
    'masks/text': ['lens=masks', 'window(1,0)', 'masks.mask', 'window(1,0)'],
    'geometry/text': ['lens=geometry&geometry.part=einsum', 'ij->i with A', 'geometry.einsum', 'ij->i with A'],
    'geometry/metric': ['lens=geometry&geometry.part=metric', '2 0 0 0; 0 1 0 0; 0 0 1 0; 0 0 0 1', 'geometry.metric', '4x4:2,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1'],
    'memory/beta-typed': ['lens=memory', '2,5', 'memory.beta', '2.5'],
    'order/shift': ['lens=order', '77', 'order.shift', '77'],
    'inverse/typed/0': ['lens=inverse&query=2&key=0', '0.625', 'inverse.wish', '2.0:0.625'],
};

for (const [key, [fragment, text, named, linked]] of Object.entries(fields)) {
    test(`on a phone, ${key} is typed into with the phone’s keyboard`, { context: phone, fragment: `v=1&${fragment}` }, async (explorer) => {
        const { page } = explorer;
        if (['masks/text', 'memory/beta-typed', 'order/shift'].includes(key)) {
            await explorer.tap('settings');
        }
        await explorer.found(key);
        const field = page.locator(`[data-field="${key}"]`), lens = await explorer.rect('panel/lens');
        for (let swipes = 0; !await field.isVisible(); ++swipes) {
            assert.ok(swipes < 40, 'a finger brings it into view');
            const edge = { x: lens.right - 13, y: lens.y };
            await swipe(explorer, edge, { x: edge.x, y: edge.y - 150 });
            await explorer.settled();
        }
        const box = await field.boundingBox();
        assert.ok(box.y >= lens.top && box.y + box.height <= lens.bottom && box.x + box.width <= 390, 'it is in the lens');
        await page.touchscreen.tap(box.x + 10, box.y + box.height / 2);
        assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('data-field')), key);
        await field.fill(text);
        await page.keyboard.press('Enter');
        await explorer.until('the link', () => explorer.linked(named), (now) => now === linked);
        assert.notEqual(await page.evaluate(() => document.activeElement?.getAttribute('data-field')), key, 'the keyboard goes');
        await explorer.tap('lens-menu');
        await field.waitFor({ state: 'hidden' });
        assert.deepEqual(await explorer.notices('error'), []);
    });
}

const brightness = ({ pixels }) => pixels.reduce((sum, x) => sum + x, 0) / pixels.length;

test('it is dark where the system is, and light when asked', { context: { colorScheme: 'dark' } }, async (explorer) => {
    assert.ok(brightness(await explorer.picture()) < 80);
    await explorer.page.click('#theme');
    assert.ok(brightness(await explorer.picture()) > 170);
    await explorer.page.emulateMedia({ colorScheme: 'light' });
    await explorer.page.click('#theme');
    assert.ok(brightness(await explorer.picture()) < 80);
});

// Takes the drawing context away and restores it: the same picture, to the pixel, and a page that continues.
async function survives(explorer) {
    await explorer.page.mouse.move(600, 600);
    const before = await explorer.picture();
    await explorer.page.evaluate(() => {
        globalThis.loss = document.getElementById('canvas').getContext('webgl2').getExtension('WEBGL_lose_context');
        globalThis.loss.loseContext();
    });
    await explorer.untilNotice(/drawing context away/);
    await explorer.page.mouse.move(610, 600);
    await explorer.page.mouse.move(600, 600);
    await explorer.page.evaluate(() => globalThis.loss.restoreContext());
    await explorer.until('the notice to go', () => explorer.notices('context'), (all) => all.length === 0);
    const after = await explorer.picture();
    const [, rows] = (await explorer.landmarks())['panel/status'];  // shows how much memory is in use
    assert.equal(difference(before, after, rows), 0, 'pixels that differ');
}

test('a lost drawing context comes back with the same picture', { fine: true }, async (explorer) => {
    await explorer.type('x/0/0', '0.5');
    await explorer.until('the edit', () => explorer.matrix('x'), (rows) => rows[0][0] === 0.5);
    await survives(explorer);
    await survives(explorer);
    await explorer.press('Control+Z');
    await explorer.until('undo', () => explorer.matrix('x'), (rows) => rows[0][0] === 1);
});

test('with the maps of a model as well', { fine: true }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.until('the notice to pass', () => explorer.notices(), (all) => all.length === 0);
    await survives(explorer);
});
