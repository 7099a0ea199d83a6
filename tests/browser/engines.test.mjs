// Tests the behaviour of other browsers and systems and their settings: noise in drawings, boxes of digits, a
// drawing context that is lost at once, more contrast, the system's own colours, small windows.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { tiny } from './lib/models.mjs';
import { colours } from './lib/png.mjs';
import { phone, test } from './lib/suite.mjs';

// The picture of a text that the program receives, as rows with '#' for ink, and the distance to the next.
const drawn = (explorer, text, size = 26) => explorer.page.evaluate(([characters, points]) => {
    const width = points * (1 + 5 * [...characters].length), height = 2 * points;
    const at = explorer._malloc(4 * width * height);
    const advance = explorer.shell.drawGlyph(characters, points, at, width, height);
    const pixels = new Uint8Array(explorer.wasmMemory.buffer).slice(at, at + 4 * width * height);
    explorer._free(at);
    const rows = Array.from({ length: height }, (_, y) => Array.from({ length: width }, (__, x) => (pixels[4 * (y * width + x) + 3] > 64 ? '#' : ' ')).join(''));
    return { advance, rows, width, plain: pixels.every((value) => value === 0 || value === 255) };
}, [text, size]);
const ink = ({ rows }) => rows.join('').replaceAll(' ', '').length;
// Nothing is cut off: the last columns are empty.
const whole = ({ rows, width, advance }) => advance < width && rows.every((row) => row.slice(-8).trim() === '');

// Imitates a Firefox that resists fingerprinting.
function answerNoise() {
    const noise = (data) => crypto.getRandomValues(new Uint8Array(data.buffer, 0, Math.min(data.length, 65536)));
    const { getImageData } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.getImageData = function (...rect) {
        const image = getImageData.apply(this, rect);
        noise(image.data);
        return image;
    };
    HTMLCanvasElement.prototype.toDataURL = () => 'data:,';
    HTMLCanvasElement.prototype.toBlob = (use) => use(new Blob([crypto.getRandomValues(new Uint8Array(64))]));
}

test('where drawings are read as noise, characters are numbers, and a picture that cannot be saved is a sentence', { start: false }, async (explorer) => {
    await explorer.page.addInitScript(answerNoise);
    await explorer.open(explorer.variant);
    const han = await drawn(explorer, '猫'), two = await drawn(explorer, '猫犬'), again = await drawn(explorer, '猫');
    assert.deepEqual(han.rows, again.rows, 'it is no noise');
    assert.ok(han.plain && ink(han) > 100 && whole(han) && whole(two));
    assert.ok(two.advance > 1.9 * han.advance);
    assert.equal(ink(await drawn(explorer, '\u200d')), 0, 'nothing for what is invisible');
    for (const size of [13, 15, 30, 42]) {
        assert.ok(whole(await drawn(explorer, '\u{10ffff}\u{10ffff}\u{10ffff}', size)), `at ${size}`);
    }
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.click('map/save');
    await explorer.until('the list', () => explorer.rect('map/save/PNG 1×'));
    await explorer.settled();
    const { x, y } = await explorer.rect('map/save/PNG 1×');
    await explorer.page.mouse.click(x, y);
    await explorer.untilNotice(/resists fingerprinting.*a PNG cannot be saved.*Allow this site/, 'error');
});

test('noise in the last bit alone changes nothing', { start: false }, async (explorer) => {
    await explorer.page.addInitScript(() => {
        const { getImageData } = CanvasRenderingContext2D.prototype;
        CanvasRenderingContext2D.prototype.getImageData = function (...rect) {
            const image = getImageData.apply(this, rect);
            image.data.forEach((value, i) => { image.data[i] = value ^ (i % 3 === 0 ? 1 : 0); });
            return image;
        };
    });
    await explorer.open(explorer.variant);
    assert.ok(await explorer.page.evaluate(() => globalThis.explorer.shell.canvasReads()));
    assert.ok(!(await drawn(explorer, '猫')).plain, 'drawn by the browser');
});

test('numbers of characters that no font has are not cut', async (explorer) => {
    for (const text of ['\u{f0001}', '\u{10fffe}', '\u0378', '\u0378\u0379\u0380\u0381', '\u{4abcd}'.repeat(6), 'a\u0378b']) {
        for (const size of [13, 26, 42]) {
            const picture = await drawn(explorer, text, size);
            assert.ok(whole(picture), `${JSON.stringify(text)} at ${size}`);
            assert.ok(picture.advance > size * [...text].length, 'a number each');
        }
    }
    const known = await drawn(explorer, 'é'), han = await drawn(explorer, '猫'), invisible = await drawn(explorer, '\u200b');
    assert.ok(known.advance < 26 && ink(known) > 20);
    assert.ok(han.advance > 10 && ink(han) > 50, 'what a font of the system has is drawn with it');
    assert.deepEqual([invisible.advance, ink(invisible)], [0, 0], 'nothing for what is invisible');
});

test('boxes of digits, as Firefox draws them, are not taken for letters', { start: false }, async (explorer) => {
    await explorer.page.addInitScript(() => {
        const { fillText, measureText } = CanvasRenderingContext2D.prototype;
        const unassigned = new Set(['\u0378', '\u0590', '\u2fe3', '\ud7ff', '\ufb07', '\u0379', '\ua7ef']);
        const missing = (c) => unassigned.has(c) || c.codePointAt(0) >= 0x40000;
        const sizeOf = (context) => parseFloat(/([\d.]+)px/.exec(context.font)[1]);
        const columns = (c) => (c.codePointAt(0) < 0x10000 ? 2 : 3);
        CanvasRenderingContext2D.prototype.measureText = function (text) {
            const unit = sizeOf(this) / 8;
            const boxes = [...text].filter(missing).reduce((sum, c) => sum + (columns(c) * 4 + 3) * unit, 0);
            const width = boxes + measureText.call(this, [...text].filter((c) => !missing(c)).join('')).width;
            return /** @type {TextMetrics} */ (Object.assign(Object.create(null), { width }));
        };
        CanvasRenderingContext2D.prototype.fillText = function (text, left, base) {
            const unit = sizeOf(this) / 8;
            for (const c of text) {
                if (!missing(c)) {
                    fillText.call(this, c, left, base);
                    left += measureText.call(this, c).width;
                    continue;
                }
                const wide = columns(c) * 4 + 1;
                this.fillRect(left, base - 12 * unit, wide * unit, unit);
                this.fillRect(left, base - unit, wide * unit, unit);
                this.fillRect(left, base - 12 * unit, unit, 12 * unit);
                this.fillRect(left + (wide - 1) * unit, base - 12 * unit, unit, 12 * unit);
                [...c.codePointAt(0).toString(2).padStart(24, '0')].forEach((bit, i) => {
                    if (bit === '1') {
                        this.fillRect(left + (2 + (i % 6)) * unit * (wide / 11), base - (10 - 2 * Math.floor(i / 6)) * unit, unit, unit);
                    }
                });
                left += (wide + 2) * unit;
            }
        };
    });
    await explorer.open(explorer.variant);
    for (const character of ['\u0379', '\ua7ef', '\u{f0001}', '\u{51234}']) {
        const { advance } = await drawn(explorer, character);
        const digits = character.codePointAt(0).toString(16).length;
        assert.ok(advance > 26 * 0.3 * (2 + digits), `${character.codePointAt(0).toString(16)} advances by ${advance}`);
    }
    assert.ok((await drawn(explorer, '猫')).advance < 60, 'a letter is one still');
});

for (const delay of [null, 0, 3]) {
    test(`a drawing context that is lost ${delay === null ? 'at once' : `after ${delay} ms`} is told, and comes back`, { start: false, expected: [/CONTEXT_LOST_WEBGL|WebGL: /] }, async (explorer) => {
        await explorer.page.addInitScript((ms) => {
            const { getContext } = HTMLCanvasElement.prototype;
            Object.assign(HTMLCanvasElement.prototype, {
                /** @this {HTMLCanvasElement} */
                getContext(kind, ...rest) {
                    const context = getContext.call(this, kind, ...rest);
                    if (kind === 'webgl2' && context && this.id === 'canvas' && !globalThis.loss) {
                        globalThis.loss = /** @type {WebGL2RenderingContext} */ (context).getExtension('WEBGL_lose_context');
                        const lose = () => globalThis.loss.loseContext();
                        if (ms === null) {
                            queueMicrotask(lose);
                        } else {
                            setTimeout(lose, ms);
                        }
                    }
                    return context;
                },
            });
        }, delay);
        await explorer.page.goto(`${explorer.site}?variant=${explorer.variant}`);
        await explorer.untilNotice(/drawing context away/);
        await explorer.page.evaluate(() => globalThis.loss.restoreContext());
        await explorer.until('the notice to go', () => explorer.notices('context'), (all) => all.length === 0);
        await explorer.started();
        assert.ok(colours(await explorer.picture()) > 24);
    });
}

test('several notices in a small window can all be read', { context: { viewport: { width: 320, height: 480 }, hasTouch: true, isMobile: true } }, async (explorer) => {
    const long = (what) => `${what} could not be read: the file ends before its header does, and what follows is missing. Open it anew.`;
    await explorer.page.evaluate(([one, two, three]) => {
        globalThis.explorer.shell.notice(one, 'error');
        globalThis.explorer.shell.notice(two, 'error');
        globalThis.explorer.shell.notice(three, 'info');
    }, ['model-00001-of-00002.safetensors', 'tokenizer.json', 'config.json'].map(long));
    const within = () => explorer.page.$$eval('#notices .notice', (all) => {
        const area = document.getElementById('notices').getBoundingClientRect();
        return all.map((notice) => {
            const { top, bottom } = notice.getBoundingClientRect();
            return top >= area.top - 1 && bottom <= Math.min(area.bottom, innerHeight) + 1;
        });
    });
    assert.deepEqual((await within()).length, 3);
    assert.ok((await within())[2], 'the newest is in view');
    await explorer.page.locator('#notices').evaluate((area) => { area.scrollTop = 0; });
    assert.ok((await within())[0], 'the oldest can be scrolled to');
    const area = await explorer.page.locator('#notices').boundingBox();
    assert.ok(area && area.y + area.height <= 480, JSON.stringify(area));
    await explorer.dismiss();
    assert.deepEqual(await explorer.notices(), []);
});

const share = ({ pixels, channels }, red, green, blue) => {
    let found = 0;
    for (let at = 0; at < pixels.length; at += channels) {
        found += Number(pixels[at] === red && pixels[at + 1] === green && pixels[at + 2] === blue);
    }
    return found / (pixels.length / channels);
};

test('more contrast and the colours of the system reach the canvas', { fine: true }, async (explorer) => {
    assert.ok(share(await explorer.picture(), 0xf4, 0xf6, 0xf9) > 0.1, 'the light page');
    await explorer.page.emulateMedia({ contrast: 'more' });
    assert.ok(share(await explorer.picture(), 0xf4, 0xf6, 0xf9) < 0.001, 'a white one');
    assert.ok(share(await explorer.picture(), 0x5c, 0x65, 0x70) > 0.0005, 'its lines');
    await explorer.page.emulateMedia({ contrast: 'more', colorScheme: 'dark' });
    assert.ok(share(await explorer.picture(), 0, 0, 0) > 0.1, 'a black one');
    await explorer.page.emulateMedia({ contrast: null, colorScheme: 'light' });
    assert.ok(share(await explorer.picture(), 0xf4, 0xf6, 0xf9) > 0.1, 'as before');
    await explorer.page.emulateMedia({ forcedColors: 'active' });
    const dark = await explorer.page.evaluate(() => {
        const probe = document.body.appendChild(document.createElement('p'));
        probe.style.color = 'Canvas';
        const { color } = getComputedStyle(probe);
        probe.remove();
        return !/255, 255, 255/.test(color);
    });
    assert.ok(share(await explorer.picture(), ...(dark ? [0, 0, 0] : [255, 255, 255])) > 0.3, 'as dark as the system');
    assert.ok(share(await explorer.picture(), 0xf4, 0xf6, 0xf9) < 0.001);
    assert.equal(await explorer.page.isDisabled('#theme'), true);
});

test('what is said aloud does not stay', async (explorer) => {
    await explorer.page.evaluate(() => globalThis.explorer.shell.announce('one'));
    await explorer.until('the words', () => explorer.page.textContent('#live'), (text) => text === 'one');
    await explorer.until('the words to go', () => explorer.page.textContent('#live'), (text) => text === '');
});

test('two fingers enlarge the page', { context: phone }, async (explorer) => {
    const devtools = await explorer.page.context().newCDPSession(explorer.page);
    const touch = (type, ...points) => devtools.send('Input.dispatchTouchEvent', { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
    await touch('touchStart', [100, 30], [140, 30]);
    for (let i = 1; i <= 8; ++i) {
        await touch('touchMove', [100 - 8 * i, 30], [140 + 8 * i, 30]);
    }
    await touch('touchEnd');
    await explorer.until('larger text', () => explorer.page.evaluate(() => visualViewport.scale), (scale) => scale > 1.3);
    const viewport = /<meta name="viewport" content="([^"]*)"/.exec(readFileSync(new URL('../../index.html', import.meta.url), 'utf8'))[1];
    assert.doesNotMatch(viewport, /user-scalable|maximum-scale|minimum-scale/);
});
