// Tests checkpoints as published by their authors: the page, the native program and an independent one agree.
import assert from 'node:assert/strict';
import { native, published } from './lib/models.mjs';
import { near } from './lib/numbers.mjs';
import { skip, test } from './lib/suite.mjs';

const bound = 1e-4;

async function eachHead(explorer, attention, what) {
    for (const [layer, heads] of attention.entries()) {
        for (const [head, rows] of heads.entries()) {
            near(await explorer.attention(layer, head), rows, bound, `${what}, layer ${layer}, head ${head}`);
        }
    }
}

for (const name of ['gpt-nano-sort', 'babyllama-tok105']) {
    test(`${name}: ids, attention and logits of an independent float64 run`, { needs: 'models' }, async (explorer) => {
        const model = published(name);
        await explorer.openModel(model.folder);
        for (const { text, ids, attention, logits_last: logits } of model.texts) {
            await explorer.write(text);
            const state = await explorer.untilRun('the run', ({ tokens, text: now }) => now === text && tokens === ids.length);
            assert.deepEqual(state.ids, ids);
            await eachHead(explorer, attention, text);
            near(await explorer.logits(), logits, 1e-4, 'logits');
        }
    });

    test(`${name}: attention of the native program`, { needs: 'models' }, async (explorer) => {
        if (native.absent) {
            skip(native.absent);
        }
        const model = published(name);
        const { text, ids } = model.texts[0];
        await explorer.openModel(model.folder, text);
        await eachHead(explorer, native.attention(model.folder, ids), text);
    });
}
