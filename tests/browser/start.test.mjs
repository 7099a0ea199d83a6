// Tests loading the page, and its message where it cannot run.
import assert from 'node:assert/strict';
import { atStep, heading, lessonCalled } from './lib/lessons.mjs';
import { phone, test } from './lib/suite.mjs';

const first = lessonCalled('first-steps');

test('it loads, draws and waits', { each: true }, async (explorer) => {
    const { subject, lens, fragment } = await explorer.state();
    assert.deepEqual([subject, lens, fragment], ['worked', 'ladder', '']);
    assert.deepEqual(await explorer.notices(), []);
    assert.match(await explorer.page.title(), /Attention Explorer/);
});

test('asked for a build, it takes that one', { each: true, start: false }, async (explorer) => {
    const fetched = [];
    explorer.page.on('request', (request) => fetched.push(request.url()));
    await explorer.open(explorer.variant);
    assert.deepEqual(fetched.filter((url) => url.endsWith('.wasm')), ['', '.rest'].map((part) => `${explorer.site}explorer-${explorer.variant}${part}.wasm`));
});

// The bare address opens with the first part of the program, and web/opening.txt says what is in it. Once it lacks something, the page
// waits for the rest: then tools/opening lists anew what the opening runs.
test('the bare address opens without the rest of the program', { each: true, start: false }, async (explorer) => {
    /** @type {string[]} */
    const asked = [];
    await explorer.page.exposeFunction('waitsForRest', (where) => asked.push(`waited in ${where}`));
    await explorer.page.addInitScript(() => {
        const { open } = XMLHttpRequest.prototype;
        Object.assign(XMLHttpRequest.prototype, {
            /** @this {XMLHttpRequest} */
            open(...given) {
                globalThis.waitsForRest(new Error('rest').stack);
                return Reflect.apply(open, this, given);
            },
        });
    });
    await explorer.page.route(/\.rest\.wasm$/, async (route) => {
        asked.push('asked for it');
        await new Promise((resolve) => { setTimeout(resolve, 1500); });
        await route.continue();
    });
    await explorer.page.goto(`${explorer.site}?variant=${explorer.variant}`);
    await explorer.until('the first picture', () => explorer.page.evaluate(() => globalThis.explorer?._probe_frame_count() > 0));
    asked.push('has its first picture');
    await explorer.page.mouse.move(620, 470, { steps: 8 });
    await explorer.started();
    await explorer.settled();
    assert.deepEqual(asked, ['has its first picture', 'asked for it']);
});

// A file that is asked for again seems not to have come, so that the worked example would replace a model that is open.
test('a file of the model that the page opens with is fetched once', { start: false }, async (explorer) => {
    /** @type {string[]} */
    const asked = [];
    explorer.page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await explorer.page.goto(`${explorer.site}?variant=${explorer.variant}`);
    await explorer.started();
    await explorer.until('the model’s map', async () => 'map/0/0' in await explorer.landmarks());
    const files = asked.filter((path) => path.includes('/models/'));
    assert.ok(files.some((path) => path.endsWith('scores.json')));
    assert.deepEqual(files, [...new Set(files)]);
});

test('what needs the rest of the program before it is here waits for it', {
    start: false, expected: [/Synchronous XMLHttpRequest/],
}, async (explorer) => {
    await explorer.page.route(/\.rest\.wasm$/, async (route) => {
        await new Promise((resolve) => { setTimeout(resolve, 300); });
        await route.continue();
    });
    await explorer.page.goto(`${explorer.site}?variant=${explorer.variant}`);
    await explorer.until('the first picture', () => explorer.page.evaluate(() => globalThis.explorer?._probe_frame_count() > 0));
    await explorer.page.evaluate(() => { location.hash = 'v=1&lens=properties'; });
    await explorer.until('the lens', async () => (await explorer.state()).lens, (lens) => lens === 'properties');
    await explorer.started();
    await explorer.settled();
    assert.deepEqual(await explorer.notices(), []);
});

test('a rest that does not arrive is a sentence', { start: false, expected: [/status of 503/] }, async (explorer) => {
    await explorer.page.route(/\.rest\.wasm$/, (route) => route.fulfill({ status: 503 }));
    assert.match(await failure(explorer), /rest\.wasm could not be fetched: the server answered 503/);
});

async function failure(explorer) {
    await explorer.page.goto(`${explorer.site}?variant=${explorer.variant}`);
    await explorer.page.locator('#failure').waitFor();
    return explorer.page.innerText('#failure');
}

test('without WebGL2 it says so', { start: false }, async (explorer) => {
    await explorer.page.addInitScript(() => {
        const { getContext } = HTMLCanvasElement.prototype;
        Object.assign(HTMLCanvasElement.prototype, {
            /** @this {HTMLCanvasElement} */
            getContext(kind, ...rest) {
                return kind.startsWith('webgl') ? null : getContext.call(this, kind, ...rest);
            },
        });
    });
    assert.match(await failure(explorer), /WebGL2/);
});

test('without SIMD it says so', { start: false }, async (explorer) => {
    await explorer.page.addInitScript(() => { WebAssembly.validate = () => false; });
    assert.match(await failure(explorer), /SIMD/);
});

test('a program that does not arrive is a sentence', { start: false, expected: [/status of 503/] }, async (explorer) => {
    await explorer.page.route(/\.wasm$/, (route) => route.fulfill({ status: 503 }));
    assert.match(await failure(explorer), /could not be fetched: the server answered 503/);
});

test('a link opens with the first lesson for those who have never been here', { newcomer: true }, async (explorer) => {
    await explorer.until('the first lesson', () => heading(explorer), (title) => title === first.steps[0].title);
    await explorer.click('lesson/close');
    await explorer.until('it to be closed', async () => !await explorer.rect('panel/lesson'));
    await explorer.page.goto('about:blank');
    await explorer.open(explorer.variant);
    await explorer.settled();
    assert.ok(!await explorer.rect('panel/lesson'), 'closed, it stays away');
});

test('on a phone, the first lesson stands below the first picture', {
    newcomer: true, context: phone,
}, async (explorer) => {
    const nexts = [];
    for (const step of first.steps) {
        await atStep(explorer, step);
        const next = await explorer.rect('lesson/next');
        const picture = await explorer.page.locator('#semantics [role=grid]').first().boundingBox();
        assert.ok(next && picture && picture.y < 420 && picture.y < next.top && next.bottom < 844, JSON.stringify({ next, picture }));
        nexts.push(next);
        await explorer.page.waitForTimeout(600);  // a double tap is one step
        await explorer.tap('lesson/next');
    }
    assert.ok(nexts.every(({ left, top }) => left === nexts[0].left && top === nexts[0].top), 'Next stays under the finger');
    await explorer.until('it to be closed', async () => !await explorer.rect('panel/lesson'));
});
