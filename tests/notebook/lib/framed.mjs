// Drives the explorer in a frame as the browser tests drive it in a page.
import { Explorer } from '../../browser/lib/explorer.mjs';

/** @import { ElementHandle, Page } from '../../browser/node_modules/playwright-core' */

/**
 * The parts of a page that Explorer uses, for a frame of it. Points count from the frame's corner.
 *
 * @param {Page} page
 * @param {ElementHandle} iframe
 */
async function asPage(page, iframe) {
    const frame = await iframe.contentFrame();
    const left = async (x) => (await iframe.boundingBox()).x + x;
    const top = async (y) => (await iframe.boundingBox()).y + y;
    const { mouse } = page;
    return {
        on() {},
        keyboard: page.keyboard,
        evaluate: (ask, argument) => frame.evaluate(ask, argument),
        $$eval: (selector, ask) => frame.$$eval(selector, ask),
        locator: (selector) => frame.locator(selector),
        mouse: {
            move: async (x, y) => mouse.move(await left(x), await top(y)),
            click: async (x, y) => mouse.click(await left(x), await top(y)),
            wheel: (across, down) => mouse.wheel(across, down),
            down: () => mouse.down(),
            up: () => mouse.up(),
        },
    };
}

/**
 * Resolves to the explorer in a frame, once its first picture is there.
 *
 * @param {Page} page
 * @param {import('../../browser/node_modules/playwright-core').Locator} locator of the frame
 */
export async function framed(page, locator) {
    await locator.scrollIntoViewIfNeeded();
    const explorer = new Explorer(/** @type {any} */ (await asPage(page, await locator.elementHandle())), '', 'simd');
    await explorer.started();
    return explorer;
}
