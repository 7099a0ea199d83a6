// Tests models in GGUF files, dropped onto the page: ids, every head's attention and the logits equal those
// of the dequantised weights in float64 (shared/gguf), and so do the next tokens. A broken file leaves the
// open model alone.
import assert from 'node:assert/strict';
import { basename } from 'node:path';
import { gguf, tiny } from './lib/models.mjs';
import { near } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';

// Tolerance of plain float32 against float64; measured differences are 1.2e-6 and, for logits up to 25,
// 1.6e-5.
const tolerance = { attention: 1e-5, logits: 1e-4 };

async function drop(explorer, { files, name, text }) {
    await explorer.drop(...files);
    await explorer.untilState(`${name} to open`, ({ model }) => model === name);
    await explorer.write(text);
    return explorer.untilRun('the run', (state) => state.text === text && state.tokens > 0);
}

/**
 * @param {any} explorer
 * @param {any} expected
 */
async function agrees(explorer, expected) {
    const { attention, logits } = expected;
    for (const [layer, heads] of attention.entries()) {
        for (const [head, rows] of heads.entries()) {
            near(await explorer.attention(layer, head), rows, tolerance.attention, `layer ${layer}, head ${head}`);
        }
    }
    near(await explorer.logits(), logits.at(-1), tolerance.logits, 'logits');
}

for (const [expected, name] of [
    ['babyllama-tok105-q4_k_m', 'babyllama-tok105'], ['gpt2-tiny-q8_0-split', 'gpt2-tiny'],
    ['qwen2-tiny-q4_k_m', 'qwen2-tiny'], ['llama3-tiny-f16', 'llama3-tiny'],
]) {
    test(`${expected}: ids, attention, logits and the next tokens`, { needs: 'gguf' }, async (explorer) => {
        const model = { ...gguf.model(expected), name };
        const { ids, pieces } = await drop(explorer, model);
        assert.deepEqual(ids, model.ids);
        assert.equal(pieces.length, ids.length);
        assert.equal(pieces.join('').replaceAll('·', ' ').replace(/^<[^>]*>/, '').trim(), model.text);
        await agrees(explorer, model);
        await explorer.greedily();
        for (let steps = 1; steps <= 3; ++steps) {
            await explorer.click('next/step');
            const after = await explorer.untilRun(`step ${steps}`, ({ tokens }) => tokens === model.ids.length + steps);
            assert.deepEqual(after.ids, [...model.ids, ...model.greedy.slice(0, steps)]);
        }
    });
}

test('the texts of every tokenizer have the ids that llama.cpp gives', { needs: 'gguf' }, async (explorer) => {
    for (const [expected, name, folder] of [
        ['babyllama-tok105-q4_k_m', 'babyllama-tok105', 'babyllama'], ['qwen2-tiny-q4_k_m', 'qwen2-tiny', 'qwen2'],
        ['llama3-tiny-f16', 'llama3-tiny', 'llama3'],
    ]) {
        await drop(explorer, { ...gguf.model(expected), name });
        for (const { text, ids } of gguf.texts(folder).filter(({ text: each }) => each && !/[\r\n]/.test(each))) {
            await explorer.write(text);
            const state = await explorer.untilRun(text, ({ text: now, tokens }) => now === text && tokens === ids.length);
            assert.deepEqual(state.ids, ids, text);
        }
    }
});

test('files of one model may come one by one, and other files are left alone', { needs: 'gguf' }, async (explorer) => {
    const { files: [first, second] } = gguf.model('gpt2-tiny-q8_0-split');
    await explorer.drop(second);
    await explorer.untilNotice(/gpt2-tiny-q8_0-00002-of-00002\.gguf is here; still needed: gpt2-tiny-q8_0-00001-of-00002\.gguf\./);
    await explorer.drop(first, gguf.notModel);
    await explorer.untilNotice(new RegExp(`gpt2-tiny is open\\. Not needed: ${basename(gguf.notModel)}\\.`));
    await explorer.drop(first, second, gguf.model('llama3-tiny-f16').files[0]);
    await explorer.untilNotice(/two models or more \(gpt2-tiny-q8_0 and llama3-tiny-f16\)/, 'error');
});

const broken = {
    'cut-empty': /cut-empty\.gguf is empty/,
    'cut-in-an-array': /cut-in-an-array\.gguf/,
    'big-endian': /big-endian\.gguf/,
    'keys-2^60': /keys-2\^60\.gguf/,
    'architecture-mamba': /mamba/,
    'tokens-31': /31 tokens, but token_embd\.weight has 32 rows/,
    'scores-31': /tokenizer\.ggml\.scores has 31 numbers/,
    'bos-99': /tokenizer\.ggml\.bos_token_id is 99/,
    'tokenizer-unknown': /tokenizer\.ggml\.model is 'nonesuch'/,
    'no-tokens': /no-tokens\.gguf: The file has no tokenizer/,
    'no-attn-k': /attn_k/,
    'type-i8': /I8/,
};

test('a broken file is one sentence, and the model before stays', { needs: 'gguf' }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    const before = await explorer.state();
    for (const [name, says] of Object.entries(broken)) {
        await explorer.drop(gguf.broken(name));
        const notice = await explorer.untilNotice(says, 'error');
        assert.match(notice, /^[^\n]{10,300}\.$/, name);
        assert.deepEqual(await explorer.state(), before, name);
        await explorer.dismiss();
    }
    near(await explorer.attention(0, 0), tiny.attention[0][0], 1e-4, 'attention');
    await explorer.drop(gguf.broken('good'));
    await explorer.untilState('the good one to open', ({ model }) => model === 'little');
});
