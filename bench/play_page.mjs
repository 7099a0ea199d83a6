// node play_page.mjs  Play in the page, as a person meets it: a model of GPT-2 small's shape with seeded weights, a text of 505
// tokens, headless Chromium without a GPU, 1440 × 900, two threads. Every token is seen before the next one is drawn: flow, map of the
// chosen head, bars of the next token. Puts the table into results/.
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from '../tests/browser/node_modules/playwright-core/index.mjs';
import { launchOptions } from '../tests/browser/lib/browser.mjs';
import { Explorer } from '../tests/browser/lib/explorer.mjs';
import { tokenizer } from '../tests/browser/lib/models.mjs';
import { serve } from '../tools/lib/serve.mjs';
import { here, measuredOn } from './machine.mjs';
import { keep } from './results.mjs';

const width = 768, layers = 12, vocabulary = 50257, context = 1024, tokens = 505, played = 24;
const scratch = mkdtempSync(join(tmpdir(), 'play-'));
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }));

// Uniform in −0.035 … 0.035, gains about 1 (Marsaglia's xorshift32), as in seeded_model.cpp.
let seed = 1;
function random() {
    seed ^= seed << 13;
    seed ^= seed >>> 17;
    seed ^= seed << 5;
    return ((seed >>> 0) / 2 ** 32 - 0.5) * 0.07;
}

function model() {
    const folder = join(scratch, 'small');
    mkdirSync(folder);
    writeFileSync(join(folder, 'config.json'), JSON.stringify({
        model_type: 'gpt2', vocab_size: vocabulary, n_positions: context, n_embd: width, n_layer: layers, n_head: 12,
    }));
    writeFileSync(join(folder, 'tokenizer.json'), tokenizer(Array.from({ length: vocabulary }, (_, id) => `w${id}`)));
    /** @type {[string, number[]][]} */
    const shapes = [['wte.weight', [vocabulary, width]], ['wpe.weight', [context, width]]];
    const norm = (name) => shapes.push([`${name}.weight`, [width]], [`${name}.bias`, [width]]);
    const linear = (name, inputs, outputs) => shapes.push([`${name}.weight`, [inputs, outputs]], [`${name}.bias`, [outputs]]);
    for (let layer = 0; layer < layers; ++layer) {
        norm(`h.${layer}.ln_1`);
        linear(`h.${layer}.attn.c_attn`, width, 3 * width);
        linear(`h.${layer}.attn.c_proj`, width, width);
        norm(`h.${layer}.ln_2`);
        linear(`h.${layer}.mlp.c_fc`, width, 4 * width);
        linear(`h.${layer}.mlp.c_proj`, 4 * width, width);
    }
    norm('ln_f');
    let end = 0;
    const count = (shape) => shape.reduce((a, b) => a * b);
    const header = Buffer.from(JSON.stringify(Object.fromEntries(shapes.map(([name, shape]) =>
        [name, { dtype: 'F32', shape, data_offsets: [end, end += 4 * count(shape)] }]))));
    const file = openSync(join(folder, 'model.safetensors'), 'w'), size = Buffer.alloc(8);
    size.writeBigUInt64LE(BigInt(header.length));
    writeSync(file, size);
    writeSync(file, header);
    for (const [name, shape] of shapes) {
        const about = /ln_.*weight/.test(name) ? 1 : 0;
        writeSync(file, Float32Array.from({ length: count(shape) }, () => about + random()));
    }
    closeSync(file);
    return folder;
}

const median = (all) => all.toSorted((a, b) => a - b)[all.length >> 1];

/** @param {Explorer} explorer */
async function measure(explorer) {
    await explorer.openModel(model());
    const text = (first) => [first, ...Array.from({ length: tokens - 1 }, (_, i) => `w${(7919 * i) % vocabulary}`)].join(' ');
    // Another first token, so that nothing is kept: a run of its own.
    const whole = [];
    for (const first of ['w1', 'w2', 'w3']) {
        await explorer.write(text(first));
        await explorer.untilRun('the whole run', (state) => state.text === text(first) && state.tokens === tokens);
        whole.push((await explorer.ask('subject', 'sentence')).forward_ms);
    }
    await explorer.page.evaluate(() => {
        const box = globalThis.document.getElementById('sentence'),
            { get, set } = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(box), 'value');
        const at = globalThis.appended = [];
        Object.defineProperty(box, 'value', {
            get,
            set(value) {
                at.push(performance.now());
                set.call(this, value);
            },
        });
    });
    await explorer.click('next/play');
    let at = [];
    for (const end = Date.now() + 120000; at.length <= played; at = await explorer.page.evaluate(() => globalThis.appended)) {
        await explorer.page.waitForTimeout(200);
        if (Date.now() > end) {
            throw new Error(`only ${at.length} tokens in two minutes`);
        }
    }
    await explorer.click('next/play');
    await explorer.until('the last run', () => explorer.ask('busy'), (busy) => !busy);
    const { forward_ms: step } = await explorer.ask('subject', 'sentence');
    const gaps = at.slice(1).map((now, i) => now - at[i]);
    return { whole: median(whole), step, token: median(gaps), longest: Math.max(...gaps) };
}

const server = await serve({ folder: process.env.SITE ?? here('../build/site') }), browser = await chromium.launch(launchOptions);
const page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
const explorer = new Explorer(page, server.url, 'relaxed-threads'), measured = measuredOn();
await explorer.open('relaxed-threads', '');
const { whole, step, token, longest } = await measure(explorer);
await browser.close();
await server.close();

const s = (ms) => `${(ms / 1000).toFixed(2)} s`;
const content = `| | measured | of the whole pass | wanted |
| --- | --- | --- | --- |
| forward pass of ${tokens} tokens | ${s(whole)} | 1 | |
| forward pass of one more | ${s(step)} | ${(step / whole).toFixed(3)} | |
| Play, from token to token: median of ${played} | ${s(token)} | ${(token / whole).toFixed(3)} | 0.25 s |
| the longest | ${s(longest)} | ${(longest / whole).toFixed(3)} | |

${measured}`;
console.log(content);
keep('play', content);
