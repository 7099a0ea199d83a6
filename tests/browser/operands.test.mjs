// Tests the inspector's operands, which are links, and its copies.
import assert from 'node:assert/strict';
import { test } from './lib/suite.mjs';

const clipboard = { context: { permissions: ['clipboard-read', 'clipboard-write'] } };

test('an operand leads to its cell and Back returns; the calculation is copied in three languages', clipboard, async (explorer) => {
    await explorer.click('raw/0/1');
    await explorer.untilState('the score', ({ pin }) => pin?.[0] === 'raw');
    await explorer.click('inspector/operand/1/right');
    await explorer.untilState('the component of K', ({ pin }) => pin?.[0] === 'K' && pin[1] === 1 && pin[2] === 1);
    await explorer.click('inspector/back');
    await explorer.untilState('the score again', ({ pin }) => pin?.[0] === 'raw');
    const { f64, copies } = await explorer.explain('raw', 0, 1);
    for (const [index, item] of ['LaTeX', 'NumPy', 'C++'].entries()) {
        await explorer.click('inspector/copy');
        await explorer.until('the list', () => explorer.rect(`inspector/copy/${item}`));
        await explorer.settled();
        // A list lies above scrolling content.
        const { x, y } = await explorer.rect(`inspector/copy/${item}`);
        await explorer.page.mouse.click(x, y);
        const text = await explorer.until('the copy', async () => {
            const copied = await explorer.page.evaluate(() => navigator.clipboard.readText());
            return copied === copies[index] && copied;
        });
        assert.ok(text.includes(String(f64).slice(0, 8)), text);
    }
});
