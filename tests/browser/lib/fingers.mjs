// Moves a finger over the page.

/** @import { Explorer } from './explorer.mjs' */

/**
 * Moves a finger from one point to another in some steps, and rests there if nothing should glide afterwards.
 *
 * @param {Explorer} explorer
 * @param {{x: number, y: number}} from
 * @param {{x: number, y: number}} to
 */
export async function finger(explorer, from, to, { steps = 3, rest = 70 } = {}) {
    const devtools = await explorer.devtools();
    const touch = (type, ...touchPoints) => devtools.send('Input.dispatchTouchEvent', { type, touchPoints });
    await touch('touchStart', from);
    for (let step = 1; step <= steps; ++step) {
        await touch('touchMove', { x: from.x + (to.x - from.x) * step / steps, y: from.y + (to.y - from.y) * step / steps });
    }
    await new Promise((resume) => { setTimeout(resume, rest); });
    await touch('touchEnd');
    await explorer.answered();
}
