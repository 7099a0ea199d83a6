// Tests loading the page, and its message where it cannot run.
import assert from 'node:assert/strict';
import { phone, test } from './lib/suite.mjs';

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
    assert.deepEqual(fetched.filter((url) => url.endsWith('.wasm')), [`${explorer.site}explorer-${explorer.variant}.wasm`]);
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

test('a link opens with the introduction for those who have never been here', { newcomer: true }, async (explorer) => {
    await explorer.until('the introduction', () => explorer.rect('start'));
    await explorer.click('start/close');
    await explorer.until('it to be closed', async () => !await explorer.rect('start'));
    await explorer.page.goto('about:blank');
    await explorer.open(explorer.variant);
    assert.ok(!await explorer.rect('start'), 'closed, it stays away');
});

test('on a phone, the introduction stands below the first picture', {
    newcomer: true, context: phone,
}, async (explorer) => {
    const steps = [];
    for (let step = 0; step < 3; ++step) {
        await explorer.settled();
        const next = await explorer.rect('start/next');
        const picture = await explorer.page.locator('#semantics [role=grid]').first().boundingBox();
        assert.ok(next && picture && picture.y < 420 && picture.y < next.top && next.bottom < 844, JSON.stringify({ next, picture }));
        steps.push([next.x, next.y]);
        await explorer.tap('start/next');
    }
    assert.deepEqual(steps[2], steps[0], 'Next stays under the finger');
    await explorer.tap('start/close');
    await explorer.until('it to be closed', async () => !await explorer.rect('start'));
});
