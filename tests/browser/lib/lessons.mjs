// Reads the lessons of the checkout, and goes through them as a person does: with a mouse, a finger or a
// keyboard.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { finger } from './fingers.mjs';

/** @import { Explorer } from './explorer.mjs' */

/**
 * @typedef {{choices: string[], answer: string}} Ask without choices, a number is asked
 * @typedef {{title: string, asks: Ask[], checks: number, solved: boolean}} Step
 * @typedef {{name: string, needs: string, steps: Step[]}} Lesson
 * @typedef {{press: (key: string) => Promise<void>, type: (key: string, text: string) => Promise<void>, show?: () => Promise<void>}} Hand
 *     presses a button, types into a field, and brings the lesson back into view
 */

const folder = fileURLToPath(new URL('../../../lessons/', import.meta.url));
const slow = 300_000;  // ms that a training or a translation may take
const double_click = 350;  // ms
const elements_follow = 300;  // ms within which the elements say what the canvas shows

/**
 * @param {string} text
 * @returns {Omit<Lesson, 'name'>}
 */
function read(text) {
    /** @type {Step[]} */
    const steps = [];
    let fence = '';
    for (const line of text.split('\n')) {
        const step = steps.at(-1);
        if (line.startsWith('```')) {
            fence = fence ? '' : line.slice(3).trim();
            if (fence === 'ask') {
                step.asks.push({ choices: [], answer: '' });
            }
            if (fence === 'solution') {
                step.solved = true;
            }
        } else if (!fence && line.startsWith('## ')) {
            steps.push({ title: line.slice(3).trim(), asks: [], checks: 0, solved: false });
        } else if (fence === 'ask' && line.startsWith('( ) ')) {
            step.asks.at(-1).choices.push(line.slice(4).trim());
        } else if (fence === 'ask' && line.startsWith('answer:')) {
            step.asks.at(-1).answer = line.slice(7).split('±')[0].trim();
        } else if (fence === 'check' && line.trim()) {
            ++step.checks;
        }
    }
    return { needs: /^needs: (.*)$/m.exec(text)?.[1] ?? 'example', steps };
}

/** @type {Lesson[]} */
export const lessons = readdirSync(folder).filter((file) => /^[a-z0-9-]+\.md$/.test(file)).sort()
    .map((file) => ({ name: file.slice(0, -3), ...read(readFileSync(folder + file, 'utf8')) }));

/** @param {string} name */
export const lessonCalled = (name) => lessons.find((each) => each.name === name);

// ---- What the panel says ----------------------------------------------------------------------------------

const panel = '[data-key="panel/lesson"]';

/** @param {Explorer} explorer */
export const heading = (explorer) => explorer.page.$$eval(`${panel} [role=heading]`, (all) => all[0]?.textContent ?? '');

/** @param {Explorer} explorer */
export const panelText = (explorer) => explorer.page.$$eval(panel, (all) => all[0]?.textContent ?? '');

/**
 * What is said to the answers, in the order of the questions that have one.
 * @param {Explorer} explorer
 */
const said = (explorer) => explorer.page.$$eval(`${panel} [role=status]`, (all) => all.map((each) => each.textContent));

/**
 * Whether a button is there and may be pressed.
 * @param {Explorer} explorer
 * @param {string} key
 */
export const usable = (explorer, key) => explorer.page.$$eval(`[data-key="${key}"]`, (all) => all.some((each) => each.getAttribute('aria-disabled') !== 'true'));

// ---- Hands ------------------------------------------------------------------------------------------------

/**
 * How far the content of a step has to move, in points, until a button or a field is in view; 0 if it is.
 * @param {Explorer} explorer
 * @param {string} key
 */
async function hidden(explorer, key) {
    await explorer.settled();
    const [at, sheet, buttons] = await Promise.all([explorer.found(key), explorer.found('panel/lesson'), explorer.rect('lesson/back')]);
    // The content ends above the row of buttons, which stays in place.
    const stays = /^lesson\/(back|next|skip|close|fold)$/.test(key);
    const bottom = stays || !buttons ? sheet.bottom : Math.min(buttons.top, sheet.bottom);
    return { at, sheet, by: at.top < sheet.top ? at.top - sheet.top : Math.max(at.bottom - bottom, 0) };
}

/**
 * Clicks, and turns the wheel over the panel until the button is in view.
 * @param {Explorer} explorer
 * @returns {Hand}
 */
export function mouse(explorer) {
    const click = async (key) => {
        for (let turns = 0; turns < 30; ++turns) {
            const { sheet, by } = await hidden(explorer, key);
            if (by === 0) {
                return explorer.click(key);
            }
            await explorer.page.mouse.move(sheet.left + 30, sheet.top + 120);
            await explorer.page.mouse.wheel(0, by < 0 ? -60 : 60);
        }
        throw new Error(`30 turns of the wheel do not bring ${key} into view`);
    };
    return {
        press: click,
        async type(key, text) {
            await click(key);
            await explorer.page.keyboard.type(text);
        },
    };
}

/**
 * Taps, and swipes over the sheet until the button is in view.
 * @param {Explorer} explorer
 * @returns {Hand}
 */
export function fingers(explorer) {
    const tap = async (key) => {
        for (let swipes = 0; swipes < 30; ++swipes) {
            const { at, sheet, by } = await hidden(explorer, key);
            if (by === 0) {
                return explorer.page.touchscreen.tap(at.x, at.y);
            }
            const x = sheet.left + 20, down = by < 0 ? 90 : -90;
            await finger(explorer, { x, y: sheet.y - down / 2 }, { x, y: sheet.y + down / 2 });
        }
        throw new Error(`30 swipes do not bring ${key} into view`);
    };
    return {
        press: tap,
        // The explanation of a pinned number takes the lesson's place.
        async show() {
            await explorer.settled();
            if (await explorer.rect('sheet/close')) {
                await explorer.tap('sheet/close');
                await explorer.until('the lesson', () => explorer.rect('panel/lesson'));
            }
        },
        async type(key, text) {
            await tap(key);
            await explorer.until('the field', () => explorer.page.evaluate((field) => document.activeElement?.getAttribute('data-field') === field, key));
            await explorer.settled();
            await explorer.page.keyboard.type(text);
        },
    };
}

/**
 * Goes from one element to the next by Tab.
 * @param {Explorer} explorer
 * @returns {Hand}
 */
export function keyboard(explorer) {
    const focused = () => explorer.page.evaluate(() => /** @type {HTMLElement | null} */ (document.activeElement)?.dataset.key ?? '');
    const go = async (key) => {
        await explorer.until(`${key} to be usable`, () => usable(explorer, key));
        // Choices of a question are one stop for Tab, and reached from each other by arrows.
        const group = /^lesson\/ask\/\d+\/(?=\d+$)/.exec(key)?.[0];
        for (let keys = 0; await focused() !== key; ++keys) {
            const at = await focused();
            assert.ok(keys < 200, `200 times Tab do not lead to ${key}, but to ${at}`);
            await explorer.press(group && at.startsWith(group) ? 'ArrowDown' : 'Tab');
            await explorer.settled();
        }
        await explorer.settled();
    };
    return {
        async press(key) {
            await go(key);
            await explorer.press('Enter');
        },
        async type(key, text) {
            await go(key);
            await explorer.page.keyboard.type(text);
        },
    };
}

// ---- Numbers that are asked -------------------------------------------------------------------------------

const stages = { weight: 'weight', score: 'raw', scaled: 'scaled', out: 'output', q: 'Q', k: 'K', v: 'V', x: 'X' };

/**
 * Computes a question's answer from what the inspector explains; undefined if that does not tell.
 * @param {Explorer} explorer
 * @param {string} expression
 * @returns {Promise<number | undefined>}
 */
export async function computed(explorer, expression) {
    const tokens = expression.match(/"[^"]*"|[a-z_]+(?:\.[a-z_]+)*|\d+(?:\.\d+)?|\S/gi) ?? [];
    const { subject, pieces } = await explorer.state();
    const headers = (role) => explorer.page.$$eval('[role=grid][aria-label^="Weights"]', (all, of) => [...all[0]?.querySelectorAll(`[role=${of}]`) ?? []].map((each) => each.textContent), role);
    const text = (pieces ?? []).map((piece) => piece.replace(/^[\u0120\u2581·]/, ''));
    const queries = subject === 'sentence' ? text : await headers('rowheader'), keys = subject === 'sentence' ? text : await headers('columnheader');
    const place = (token, words) => (token.startsWith('"') ? words.lastIndexOf(token.slice(1, -1)) : Number(token));
    const told = async (...path) => {
        const why = await explorer.explained(path.join('.'));
        return why ? Number(why.f64 ?? why.f32) : NaN;
    };
    const count = async (stage, along) => {
        for (let i = 0; ; ++i) {
            if (Number.isNaN(await told(stage, ...along === 0 ? [i, 0] : [0, i]))) {
                return i || NaN;
            }
        }
    };
    const value = async (name, given) => {
        if (name === 'n') return count('Q', 0);
        if (name === 'd') return count('Q', 1);
        if (name.includes('.')) return told(name, ...given.map((each) => each.replaceAll('"', '')));
        if (stages[name] && given.length === 2) return told(stages[name], place(given[0], queries), place(given[1], keys));
        return NaN;
    };
    let at = 0;
    const primary = async () => {
        const token = tokens[at++];
        if (token === '(') {
            const inside = await sum();
            ++at;
            return inside;
        }
        if (/^\d/.test(token)) return Number(token);
        const given = [];
        if (tokens[at] === '(') {
            for (++at; tokens[at - 1] !== ')'; at += 2) {
                given.push(tokens[at]);
            }
        }
        return value(token, given);
    };
    const product = async () => {
        let result = await primary();
        while (['*', '/'].includes(tokens[at])) {
            result = tokens[at++] === '*' ? result * await primary() : result / await primary();
        }
        return result;
    };
    async function sum() {
        let result = await product();
        while (['+', '-'].includes(tokens[at])) {
            result = tokens[at++] === '+' ? result + await product() : result - await product();
        }
        return result;
    }
    const result = await sum();
    return Number.isFinite(result) && at === tokens.length ? result : undefined;
}

// ---- Going through a lesson -------------------------------------------------------------------------------

/**
 * Answers a question; false if its number is not known.
 * @param {Explorer} explorer
 * @param {Hand} hand
 * @param {Ask} ask
 * @param {number} number
 * @param {number} before how many questions of the step have an answer
 */
async function answer(explorer, hand, { choices, answer: expression }, number, before) {
    const key = `lesson/ask/${number}`;
    // While a model has yet to read the text, the answer waits.
    const saying = (what) => explorer.until(what, async () => (await said(explorer))[before], (text) => /^(Right|Not so)\./.test(text ?? ''), slow);
    if (choices.length === 0) {
        const result = await computed(explorer, expression);
        if (result === undefined) {
            return false;
        }
        await hand.type(`${key}/number`, String(Number(result.toPrecision(9))));
        await hand.press(`${key}/answer`);
        assert.equal(await saying(`what is said to ${result}`), 'Right.', `${expression} is ${result}`);
        return true;
    }
    for (let choice = 0; choice < choices.length; ++choice) {
        await hand.press(`${key}/${choice}`);
        await explorer.answered();
        await new Promise((resume) => { setTimeout(resume, elements_follow); });
        const text = await saying(`what is said to ${choices[choice]}`);
        if (text === 'Right.') {
            return true;
        }
        assert.equal(text, 'Not so. Look again at the numbers.');
    }
    throw new Error(`no choice of ${choices.join(', ')} is right`);
}

/**
 * Waits until the panel is at a step and the page has computed it.
 * @param {Explorer} explorer
 * @param {Step} step
 */
export async function atStep(explorer, step) {
    await explorer.until(`the step “${step.title}”`, () => heading(explorer), (title) => title === step.title, slow);
    await explorer.idle();
}

/**
 * Takes a whole lesson, whose first step is open, and finishes it. Returns the titles of steps that had to be
 * skipped, since a number that they ask for is not known here.
 * @param {Explorer} explorer
 * @param {Lesson} lesson
 * @param {Hand} hand
 */
export async function take(explorer, { steps }, hand) {
    const skipped = [];
    for (const [i, step] of steps.entries()) {
        await atStep(explorer, step);
        const where = `step ${i + 1}, “${step.title}”`, last = i + 1 === steps.length;
        const asksSomething = step.checks + step.asks.length > 0;
        const goes = () => usable(explorer, 'lesson/next');
        assert.equal(await goes(), !asksSomething, `${where}: Next is ${asksSomething ? 'not ' : ''}usable at once`);
        if (step.solved) {
            await hand.press('lesson/solution');
            await explorer.idle();
            await hand.show?.();
        }
        let answered = 0;
        for (const [number, ask] of step.asks.entries()) {
            answered += Number(await answer(explorer, hand, ask, number, answered));
        }
        await new Promise((resume) => { setTimeout(resume, double_click); });
        if (answered < step.asks.length) {
            skipped.push(step.title);
            await hand.press(last ? 'lesson/close' : 'lesson/skip');
        } else {
            await explorer.until(`${where}: Next to be usable; it says ${await panelText(explorer)}`, goes, Boolean, 30_000);
            await hand.press('lesson/next');
        }
    }
    await explorer.until('the lesson to be closed', async () => !await explorer.rect('panel/lesson'));
    return skipped;
}
