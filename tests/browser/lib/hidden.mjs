// Opens what hides a control: More of a row of settings, or the popup of the chosen head.

/** @import { Locator } from 'playwright-core' */
/** @import { Explorer } from './explorer.mjs' */

/**
 * Brings a landmark onto the page with the mouse, and closes the head's popup for what lies outside it.
 * @param {Explorer} explorer
 * @param {string} name
 * @param {() => Promise<any[]>} look waits a little for the landmark
 */
export async function bring(explorer, name, look) {
    const within = (rect, panel) => rect && panel && rect.x > panel.left && rect.x < panel.right && rect.y > panel.top && rect.y < panel.bottom;
    const [[there], popup] = [await look(), await explorer.rect('panel/head')];
    if (popup && !within(there, popup)) {
        await explorer.press('Escape');
        await explorer.until('the popup to close', () => explorer.rect('panel/head'), (rect) => !rect);
    }
    const ways = there ? [] : Object.keys(await explorer.landmarks()).filter((each) => each.startsWith('more/'));
    const press = async (way) => {
        const at = await explorer.rect(way);
        if (at) {
            await explorer.page.mouse.click(at.x, at.y);
            await explorer.settled();
        }
        return explorer.rect(name);
    };
    for (const way of ways) {
        if (await press(way) || await press(way)) {
            return;
        }
    }
    if (!there && await explorer.rect('head-name') && !await press('head-name')) {
        await explorer.press('Escape');
    }
}

/**
 * Opens rows by keyboard until the element is there.
 * @param {Explorer} explorer
 * @param {Locator} element
 * @param {number} ms to wait before anything is opened
 */
export async function openRows(explorer, element, ms) {
    const appears = async (patience) => {
        for (let left = patience; left > 0 && !await element.count(); left -= 100) {
            await explorer.page.waitForTimeout(100);
        }
        return await element.count() > 0;
    };
    if (await appears(ms)) {
        return;
    }
    // The rows by their landmarks, because a row that opens moves the others' elements.
    for (const row of Object.keys(await explorer.landmarks()).filter((name) => name.startsWith('more/'))) {
        const more = explorer.page.locator(`[data-key="${row}"]`).first();
        if (await more.getAttribute('aria-expanded', { timeout: 2000 }).catch(() => 'true') === 'true') {
            continue;
        }
        await more.press('Enter', { timeout: 5000 });
        if (await appears(1500)) {
            return;
        }
    }
}
