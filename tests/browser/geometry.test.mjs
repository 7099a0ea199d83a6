// Tests lens Geometry: gauges, forms, metrics and Einstein sums against the test's own computations.
import assert from 'node:assert/strict';
import { tiny } from './lib/models.mjs';
import { attention, multiply, near, transpose } from './lib/numbers.mjs';
import { test } from './lib/suite.mjs';
import { npy, written } from './lib/tensors.mjs';

// The order in which older links count them.
const numbers = ['whole', 'symmetric', 'antisymmetric', 'singular', 'left', 'right', 'inner_left', 'inner_right', 'left_token', 'right_token', 'left_word', 'right_word',
    'gauge', 'dual', 'moved_q', 'moved_k', 'moved_score', 'metric', 'inverse', 'raised', 'metric_score', 'metric_weight', 'element'];
const number = (explorer, of, row, col) => explorer.explain('number', row, numbers.indexOf(of) + numbers.length * col);
const exact = 1e-7, single = 2e-5;  // the page's q and k are f32 numbers

// Compares every number of one kind with its expected value.
async function agrees(explorer, of, expected, tolerance = exact) {
    for (const [row, line] of expected.entries()) {
        for (const [col, value] of line.entries()) {
            const { f32, f64 } = await number(explorer, of, row, col);
            near([f64], [value], tolerance * (1 + Math.abs(value)), `${of}[${row}, ${col}]`);
            near([f32], [value], single * (1 + Math.abs(value)), `${of}[${row}, ${col}] in f32`);
        }
    }
}

async function press(explorer, name) {
    await explorer.reveal(name);
    await explorer.settled();
    await explorer.click(name);
    await explorer.settled();
}

const rotation = (d, t) => Array.from({ length: d }, (_, r) => Array.from({ length: d }, (__, c) =>
    (r < 2 && c < 2 ? (r === c ? Math.cos(t) : r === 0 ? Math.sin(t) : -Math.sin(t)) : Number(r === c))));

// Replaces the contents of the field.
async function typeInto(explorer, field, text) {
    await field.focus();
    await explorer.settled();
    await explorer.press('Control+A');
    await explorer.page.keyboard.type(text);
    await explorer.settled();
}

test('Geometry: a rotation is taken and dragged: Q and K turn, and no score moves', { fragment: 'v=1&lens=geometry' }, async (explorer) => {
    const q = await explorer.matrix('q'), k = await explorer.matrix('k'), scores = await explorer.matrix('raw');
    await press(explorer, 'geometry/preset/rotation');
    const turn = async () => Number((await explorer.linked('geometry.gauge')).split(',')[1]);
    assert.equal(await turn(), 0.75);
    const check = async () => {
        const g = rotation(4, await turn());
        await agrees(explorer, 'moved_q', multiply(q, g));
        await agrees(explorer, 'moved_k', multiply(k, g));
        await agrees(explorer, 'moved_score', scores);
        await agrees(explorer, 'gauge', g);
        await agrees(explorer, 'dual', g);
    };
    await check();
    await explorer.drag('geometry/t', 20);
    await explorer.settled();
    assert.notEqual(await turn(), 0.75);
    await check();
    const { spoken, fragment } = await explorer.state();
    assert.match(spoken, /^Under this rotation, q moves by up to \d\.\d+ a component, and no score in view by more than /);
    await explorer.visit('v=1&lens=scale');
    await explorer.untilState('another lens', ({ lens }) => lens === 'scale');
    await explorer.visit(fragment);
    await explorer.untilState('the link', ({ lens }) => lens === 'geometry');
    await explorer.settled();
    const again = await explorer.state();
    assert.deepEqual([again.fragment, again.spoken], [fragment, spoken], 'the link opens it as it was');
    // A score under the gauge leads on to the transformed query, and from there to the query.
    await press(explorer, 'geometry/score/2/1');
    await explorer.untilState('the pin', ({ pin }) => pin?.[0] === 'geometry.gauged_score.2.1');
    await explorer.page.mouse.move(2, 2);
    await explorer.click('inspector/operand/0/left');
    await explorer.untilState('the moved query', ({ pin }) => pin?.[0] === 'geometry.gauged_query.2.0');
    await explorer.click('inspector/operand/0/left');
    await explorer.untilState('the query', ({ pin }) => pin?.slice(0, 3).join() === 'Q,2,0');
    await explorer.click('inspector/back');
    await explorer.untilState('the way back', ({ lens, pin }) => lens === 'geometry' && pin?.[0].startsWith('geometry.'));
});

test('Geometry: in a model, M is W_Q W_Kᵀ, its largest direction that of a power iteration, and any gauge leaves the scores', { fragment: 'v=1&lens=geometry' }, async (explorer) => {
    await explorer.openModel(tiny.folder, tiny.text);
    await explorer.dismiss();
    await explorer.click('lens/geometry');
    await explorer.settled();
    const stored = async (name) => {
        const rows = [];
        for (let r = 0; ; ++r) {
            const row = [];
            for (let c = 0; ; ++c) {
                const told = await explorer.explain(name, r, c);
                if (!told) {
                    break;
                }
                row.push(told.f64);
            }
            if (row.length === 0) {
                return rows;
            }
            rows.push(row);
        }
    };
    const w_q = await stored('w_q'), w_k = await stored('w_k'), m = multiply(w_q, transpose(w_k));
    await agrees(explorer, 'whole', m.slice(0, 6));
    await agrees(explorer, 'symmetric', m.slice(0, 3).map((row, r) => row.map((x, c) => (x + m[c][r]) / 2)));
    await agrees(explorer, 'antisymmetric', m.slice(0, 3).map((row, r) => row.map((x, c) => (x - m[c][r]) / 2)));
    let v = m[0].map((_, i) => Math.sin(i + 1)), sigma = 0;
    for (let i = 0; i < 2000; ++i) {
        const u = multiply(m, v.map((x) => [x])).flat();
        sigma = Math.hypot(...u);
        v = multiply(transpose(m), u.map((x) => [x])).flat();
        const length = Math.hypot(...v);
        v = v.map((x) => x / length);
    }
    await agrees(explorer, 'singular', [[sigma]]);
    const found = await number(explorer, 'right', 0, 0), sign = Math.sign(found.f64 * v[0]);
    await agrees(explorer, 'right', [v.map((x) => x * sign)], 1e-6);
    const words = Object.keys(await explorer.landmarks()).filter((name) => /^geometry\/word\/(left|right)\/(high|low)\/0$/.test(name));
    assert.equal(words.length, 4, 'the vocabulary along both directions, on both ends');
    await press(explorer, 'geometry/preset/mix');
    const scores = [];
    for (let i = 0; i < 3; ++i) {
        scores.push([]);
        for (let j = 0; j < 3; ++j) {
            scores[i].push((await explorer.explain('raw', i, j)).f64);
        }
    }
    for (const [i, row] of scores.entries()) {
        for (const [j, score] of row.entries()) {
            const { f64 } = await number(explorer, 'moved_score', i, j);
            near([f64], [score], 1e-7 * (1 + Math.abs(score)), `score ${i}, ${j} under an ill-conditioned gauge`);
        }
    }
});

test('Geometry: on tensors, singular values of Q Kᵀ, Minkowski’s metric and one that is typed', { fragment: 'v=1&subject=tensors&lens=geometry' }, async (explorer) => {
    const q = [[1, 0], [0, 2], [1, 1]], k = [[1, 1], [2, 0], [0, 1]];
    await explorer.drop(...written({ 'q.npy': npy([3, 2], q.flat()), 'k.npy': npy([3, 2], k.flat()) }));
    await explorer.until('the tensors', () => explorer.tensors(), ({ open, phase }) => open && phase === null);
    await explorer.click('lens/geometry');
    await explorer.settled();
    // σ² are the eigenvalues of KᵀK QᵀQ, which is 2 × 2.
    const [[a, b], [c, d]] = multiply(multiply(transpose(k), k), multiply(transpose(q), q));
    const root = Math.sqrt((a + d) ** 2 / 4 - (a * d - b * c));
    await agrees(explorer, 'singular', [[Math.sqrt((a + d) / 2 + root)], [Math.sqrt((a + d) / 2 - root)]]);
    await agrees(explorer, 'whole', multiply(q, transpose(k)));
    const under = async (g) => {
        const raised = multiply(q, g), { raw, weight } = attention({ q: raised, k });
        await agrees(explorer, 'raised', raised);
        await agrees(explorer, 'metric_score', raw);
        for (const [j, expected] of weight[2].entries()) {
            near([(await number(explorer, 'metric_weight', 2, j)).f64], [expected], exact, `weight of key ${j}`);
        }
    };
    await press(explorer, 'geometry/preset/minkowski');
    await under([[-1, 0], [0, 1]]);
    const field = explorer.page.getByRole('textbox', { name: /^Metric/ });
    const type = (text) => typeInto(explorer, field, text);
    await type('2 0.5; 0.5 1');
    await explorer.until('the metric', () => explorer.linked('geometry.metric'), (metric) => metric === '2x2:2,0.5,0.5,1');
    await under([[2, 0.5], [0.5, 1]]);
    await type('2 0.5; 0 1');
    await explorer.until('a refusal', () => explorer.rect('geometry/metric-fault'));
    assert.equal(await explorer.linked('geometry.metric'), '2x2:2,0.5,0.5,1', 'the view stays');
    await type('1 1; 1 1');
    await explorer.until('a refusal', () => explorer.rect('geometry/metric-fault'));
    await under([[2, 0.5], [0.5, 1]]);
});

test('Geometry: with the keyboard alone an einsum is typed, explained, and refused where it does not fit', { fragment: 'v=1&lens=geometry' }, async (explorer) => {
    const { page } = explorer;
    const radio = page.getByRole('radio', { name: 'einsum' });
    await radio.focus();
    await radio.press('Enter');
    await explorer.until('the part', () => explorer.linked('geometry.part'), (part) => part === 'einsum');
    await explorer.settled();
    const q = await explorer.matrix('q'), k = await explorer.matrix('k'), weight = await explorer.matrix('weight'), v = await explorer.matrix('v');
    await agrees(explorer, 'element', multiply(q, transpose(k)));
    const { spoken } = await explorer.state();
    assert.equal(spoken, 'This sum makes 9 numbers of 36 products, and it is R, the raw scores.');
    const field = page.getByRole('textbox', { name: /^Einstein sum/ });
    const type = (text) => typeInto(explorer, field, text);
    await type('ij,jd->di with A, V');
    await explorer.until('the sum', () => explorer.linked('geometry.einsum'), (text) => text === 'ij,jd->di with A, V');
    await explorer.settled();
    await agrees(explorer, 'element', transpose(multiply(weight, v)));
    const { operands, formula } = await number(explorer, 'element', 1, 2);
    assert.equal(formula, 'Σ_j A[i, j] · V[j, d]');
    near(operands.map(([left]) => left), weight[2], exact, 'its weights');
    await type('ij,jd->di with A, Z');
    await explorer.until('a refusal', () => explorer.rect('geometry/fault'));
    await page.getByText('There is no matrix “Z” here', { exact: false }).first().waitFor({ state: 'attached' });
    assert.equal(await explorer.linked('geometry.einsum'), 'ij,jd->di with A, V', 'the view stays');
    await agrees(explorer, 'element', transpose(multiply(weight, v)));
    await page.getByRole('button', { name: 'ii-> with A' }).focus();
    await page.keyboard.press('Enter');
    await explorer.until('the trace', () => explorer.linked('geometry.einsum'), (text) => text === 'ii-> with A');
    await explorer.settled();
    await agrees(explorer, 'element', [[weight[0][0] + weight[1][1] + weight[2][2]]]);
    const grid = page.getByRole('grid', { name: 'out' });
    await grid.getByRole('gridcell').first().focus();
    await page.keyboard.press('Enter');
    await explorer.untilState('the pin', ({ pin }) => pin?.[0] === 'geometry.einsum.0.0');
    assert.deepEqual(await explorer.notices('error'), []);
});
