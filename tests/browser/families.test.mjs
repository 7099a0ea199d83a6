// Tests models of more families, dropped onto the page: the attention of every head and the logits equal
// those of other people's code in float64 (shared/families), within the tolerances given there.
import assert from 'node:assert/strict';
import { family, native } from './lib/models.mjs';
import { near } from './lib/numbers.mjs';
import { skip, test } from './lib/suite.mjs';

// Decoders that differ most from GPT-2 and Llama, and encoders.
for (const [name, config] of [
    ['gpt_neox', 'config.json'], ['gemma2', 'config-v5.json'], ['mixtral', 'config.json'],
    ['distilbert', 'config.json'], ['roberta', 'config-v5.json'],
]) {
    test(`a model of the family ${name} computes what its authors' code does`, { needs: `families/${name}` }, async (explorer) => {
        const { folder, text, ids, tolerance, attention, logits } = family(name, config);
        await explorer.openModel(folder, text);
        assert.deepEqual((await explorer.state()).ids, ids);
        for (const [layer, heads] of attention.entries()) {
            for (const [head, rows] of heads.entries()) {
                near(await explorer.attention(layer, head), rows, tolerance.attention, `layer ${layer}, head ${head}`);
            }
        }
        near(await explorer.logits(), logits.at(-1), tolerance.logits, 'logits');
    });
}

test('BERT, which was told no segments, computes what the native program does', { needs: 'families/bert' }, async (explorer) => {
    if (native.absent) {
        skip(native.absent);
    }
    const { folder, text, ids } = family('bert');
    await explorer.openModel(folder, text);
    for (const [layer, heads] of native.attention(folder, ids).entries()) {
        for (const [head, rows] of heads.entries()) {
            near(await explorer.attention(layer, head), rows, 1e-5, `layer ${layer}, head ${head}`);
        }
    }
});
