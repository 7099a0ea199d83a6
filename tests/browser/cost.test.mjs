// Tests lens Cost in the browser: it measures, its fits follow from the times that it shows, and its counts
// are those of the shapes.
import assert from 'node:assert/strict';
import { near as allNear } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';

const near = (actual, expected, tolerance, what) => allNear([actual], [expected], tolerance, what);

async function told(explorer, cell) {
    return explorer.until(cell, () => explorer.explained(`cost.${cell}`), (why) => Boolean(why));
}

test('Cost: exponents follow from the times, all forms are measured on asking, and links keep the settings', { fragment: 'v=1&subject=worked&lens=cost', limit: 400_000 }, async (explorer) => {
    await explorer.untilState('the first fit', ({ spoken }) => spoken.startsWith('Here attention takes n^'));
    await explorer.idle();
    await explorer.click('cost/measure');
    await explorer.idle();
    const sizes = [64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048], points = [];
    for (const n of sizes) {
        const why = await explorer.explained(`cost.time.fused.simd.${n}`);
        if (why) {
            points.push([Math.log(n), Math.log(why.f64)]);
        }
    }
    assert.ok(points.length >= 6, `${points.length} sizes are measured`);
    const { f64: exponent, operands } = await told(explorer, 'over_n.fused.simd.exponent');
    const fitted = points.slice(-operands.length), mean = (i) => fitted.reduce((sum, point) => sum + point[i], 0) / fitted.length;
    const [x, y] = [mean(0), mean(1)];
    const slope = fitted.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0) / fitted.reduce((sum, point) => sum + (point[0] - x) ** 2, 0);
    near(exponent, slope, 1e-9, 'the exponent');
    for (const form of ['naive', 'fused']) {
        await told(explorer, `over_n.${form}.scalar.exponent`);
        await told(explorer, `over_d.${form}.simd.error`);
    }

    const before = await explorer.state();
    await explorer.click('cost/try/llama3_8b');
    await explorer.untilState('the models', ({ spoken }) => spoken.startsWith('Llama 3 8B reads 1,024 tokens'));
    near((await told(explorer, 'model.typed.weights')).f64, 8_030_261_248 - 65 * 4096, 0, 'the weights of Llama 3 8B');
    const { fragment } = await explorer.state();
    await explorer.press('Control+z');
    await explorer.untilState('the times again', (now) => now.fragment === before.fragment);
    assert.ok((await explorer.state()).spoken.startsWith('Here attention takes n^'), 'times stay');
    // A link takes the page to another address.
    await explorer.visit(fragment);
    await explorer.settled();
    assert.equal((await explorer.state()).fragment, fragment);
});

test('Cost: the roofline of this browser, and what a token would take at best', { fragment: 'v=1&subject=worked&lens=cost&cost.part=roofline' }, async (explorer) => {
    await explorer.untilState('the roofline', ({ spoken }) => spoken.includes('memory decides'));
    await explorer.idle();
    const [peak, bandwidth, ridge] = await Promise.all(['peak', 'bandwidth', 'ridge'].map(async (which) => (await told(explorer, `roof.${which}`)).f64));
    near(ridge, peak / bandwidth, 1e-9 * ridge, 'the ridge');
    const { f64: share } = await told(explorer, 'reached.prefill_mlp.share');
    assert.ok(share > 0 && share < 1.5, `the MLP reaches ${share} of the roof`);
    await explorer.visit('v=1&subject=worked&lens=cost&cost.part=models');
    await explorer.settled();
    const { f64: ms } = await told(explorer, 'model.gpt2.writing_time'), { f64: operations } = await told(explorer, 'model.gpt2.writing'),
        { f64: bytes } = await told(explorer, 'model.gpt2.writing_bytes');
    near(ms, 1000 * Math.max(operations / peak, bytes / bandwidth), 1e-6 * ms, 'a token of GPT-2');
});
