// Uses the page as a person does, with a mouse, a keyboard and files, and reads it through the Probe.
import { worked } from './bundled.mjs';
import { bring, openRows } from './hidden.mjs';
import { colours, decode } from './png.mjs';

// The keys of stages by their names in landmarks.
const stages = Object.fromEntries(
    ['X', 'W_Q', 'W_K', 'W_V', 'Q', 'K', 'V', 'raw', 'scaled', 'capped', 'masked', 'weight', 'contribution', 'projected', 'output', 'number']
        .map((key) => [key.toLowerCase(), key]));

/** @import { CDPSession, Page } from 'playwright-core' */

const patience = 20000;  // ms within which anything must have happened
const impatience = 1500;  // ms after which something is looked for behind More
const least_colours = 24;

export class Explorer {
    /** @type {string[]} No test may cause errors, refusals of the policy, or requests to other hosts. */
    problems = [];
    /** @type {CDPSession | undefined} */
    #devtools;

    /**
     * @param {Page} page
     * @param {string} site
     * @param {string} variant the build of the program to test
     */
    constructor(page, site, variant) {
        this.page = page;
        this.site = site;
        this.variant = variant;
        const report = (text) => this.problems.push(text);
        page.on('console', (message) => {
            // The second is the browser's own message about composing pages without a GPU.
            if ((message.type() === 'error' || message.type() === 'warning') && !/GPU stall due to ReadPixels/.test(message.text())) {
                report(`console ${message.type()}: ${message.text()}`);
            }
        });
        page.on('pageerror', (error) => report(`page error: ${error.message}`));
        page.on('crash', () => report('the page crashed'));
        page.on('request', (request) => {
            if (!request.url().startsWith(site) && !/^(blob|data):/.test(request.url())) {
                report(`a request to another place: ${request.url()}`);
            }
        });
    }

    // Loads the page, with the worked example unless another fragment is given, and waits for its first
    // picture and for the whole program.
    async open(variant, fragment = worked) {
        await this.page.goto(`${this.site}?variant=${variant}${fragment && `#${fragment}`}`);
        await this.started();
    }

    async started() {
        const failure = await this.until('the first picture', () => this.page.evaluate(() => {
            const { hidden, innerText } = document.getElementById('failure');
            return hidden ? globalThis.explorer?.isWhole && explorer._probe_frame_count() > 0 && 'none' : innerText;
        }));
        if (failure !== 'none') {
            throw new Error(`the page failed: ${failure}`);
        }
    }

    // ---- Reading ------------------------------------------------------------------------------------------

    async ask(question, ...values) {
        return (await this.#answers([question, ...values]))[0];
    }

    // The answers to several questions, [name, value…] each, at the same moment. They come as texts, which is
    // cheapest.
    async #answers(...questions) {
        const answers = await this.page.evaluate((asked) => asked.map(([name, ...values]) => {
            const texts = [];
            const given = values.map((value) => {
                if (typeof value !== 'string') {
                    return value;
                }
                const room = explorer.lengthBytesUTF8(value) + 1;
                texts.push(explorer._malloc(room));
                explorer.stringToUTF8(value, texts.at(-1), room);
                return texts.at(-1);
            });
            const answer = explorer[`_probe_${name}`](...given);
            const value = ['frame_count', 'busy', 'answered'].includes(name) ? String(answer) : explorer.UTF8ToString(answer);
            texts.forEach((text) => explorer._free(text));
            return value;
        }), questions);
        return answers.map((text) => JSON.parse(text));
    }

    // The page's state, and the details of the sentence and its model that tests need all the time.
    async state() {
        const [state, { model, text, tokens, ids, pieces, words, second_pieces: second, written, encoder_ids, encoder_pieces }] = await this.#answers(['state'], ['subject', 'sentence']);
        return { ...state, model, text, tokens, ids, pieces, words, second_pieces: second, written, encoder_ids, encoder_pieces };
    }
    frames() { return this.ask('frame_count'); }
    landmarks() { return this.ask('landmarks'); }
    attention(layer, head) { return this.ask('attention', layer, head); }
    logits() { return this.ask('logits', 'sentence'); }
    training() { return this.ask('subject', 'training'); }
    tensors() { return this.ask('subject', 'tensors'); }
    // Explains a cell named as in the state: the key of its stage and its indices, or its name in links.
    explained(name, row, column, second = 0, words = 0) {
        return this.ask('explain', row === undefined ? name : `${name}.${row}.${column}${second ? '.second' : words ? '.words' : ''}`);
    }
    explain(name, row, column, { second = 0, words = 0 } = {}) { return this.explained(stages[name], row, column, second, words); }

    // The rows are doubles; "-inf" and the like become the numbers they stand for.
    async matrix(name) {
        const rows = (await this.ask('subject', 'worked'))[stages[name]];
        return rows.map((row) => row.map((cell) => (typeof cell === 'string' ? Number(cell.replace('inf', 'Infinity')) : cell)));
    }

    // Resolves to the link's value for one key, or undefined.
    async linked(key) {
        return new URLSearchParams((await this.ask('state')).fragment).get(key) ?? undefined;
    }

    notices(kind = '') {
        return this.page.$$eval(`#notices .notice${kind && `.${kind}`} p`, (all) => all.map((p) => p.textContent));
    }

    /**
     * Resolves to the value of `ask()` once it satisfies `holds`.
     *
     * @template Value
     * @param {string} what
     * @param {() => Value | Promise<Value>} ask
     * @param {(value: Value) => unknown} [holds]
     * @param {number} [within] ms
     * @returns {Promise<Value>}
     */
    async until(what, ask, holds = Boolean, within = patience) {
        for (let end = Date.now() + within, wait = 10; ; wait = Math.min(2 * wait, 100)) {
            const value = await ask();
            if (holds(value)) {
                return value;
            }
            if (Date.now() > end) {
                throw new Error(`waited in vain for ${what}; it is ${JSON.stringify(value)?.slice(0, 400)}`);
            }
            await new Promise((resume) => { setTimeout(resume, wait); });
        }
    }

    // Waits until the page has no work left, which takes minutes where other pages measure or train beside it.
    async idle() {
        await this.until('the work to be done', () => this.ask('busy'), (busy) => !busy, 180_000);
        await this.settled();
    }

    untilState(what, holds) { return this.until(what, () => this.state(), holds); }

    // Waits until a notice says it, and resolves to that notice.
    async untilNotice(says, kind = '') {
        const found = await this.until(`a notice that says ${says}`, () => this.notices(kind), (all) => all.some((text) => says.test(text)));
        return found.find((text) => says.test(text));
    }

    // Dismisses all standing notices.
    async dismiss() {
        const buttons = this.page.locator('#notices .notice button');
        while (await buttons.count() > 0) {
            // A notice may disappear by itself meanwhile.
            await buttons.last().click({ timeout: 1000 }).catch(() => {});
        }
    }

    // Waits until the page sleeps, as it does when nothing has happened for some time and there is no work,
    // and returns how many frames there were. Awake, the page draws a frame each time the browser asks for
    // one; asleep, it was asked this many times in vain.
    settled(asked = 6) {
        return this.page.evaluate(async (times) => {
            for (let frames = -1, still = 0; ;) {
                const count = explorer._probe_frame_count();
                still = count !== frames || explorer._probe_busy() ? 0 : still + 1;
                if (still === times) {
                    return count;
                }
                frames = count;
                await new Promise(requestAnimationFrame);
            }
        }, asked);
    }

    // ---- Acting -------------------------------------------------------------------------------------------

    get #canvas() { return this.page.locator('#canvas'); }

    // Landmarks in pixels of the window, {left, top, right, bottom, x, y} each; undefined for one that is not
    // on the canvas. If the first is awaited, it is returned once the page has processed earlier input and
    // has that landmark, or null at the end. The page itself waits, because repeated questions would cost it
    // more than everything else in a click.
    async #rectsOf(names, ms) {
        const all = await this.page.evaluate(async ([wanted, patient]) => {
            const end = performance.now() + patient;
            for (;;) {
                const known = explorer._probe_answered() || patient === 0 ? JSON.parse(explorer.UTF8ToString(explorer._probe_landmarks())) : {};
                if (known[wanted[0]] || performance.now() >= end) {
                    const { x, y } = document.getElementById('canvas').getBoundingClientRect();
                    const scale = Number(getComputedStyle(document.documentElement).getPropertyValue('--scale'));
                    return wanted.map((name) => known[name]?.map((at, i) => at * scale + (i % 2 ? y : x)));
                }
                await new Promise(requestAnimationFrame);
            }
        }, [names, ms]);
        return all.map((rect) => {
            if (rect) {
                const [left, top, right, bottom] = rect;
                return { left, top, right, bottom, x: (left + right) / 2, y: (top + bottom) / 2 };
            }
            return undefined;
        });
    }
    rects(...names) { return this.#rectsOf(names, 0); }
    async rect(name) { return (await this.rects(name))[0]; }

    // Resolves once the page has processed earlier input.
    answered() { return this.until('an answer to what was done', () => this.ask('answered')); }

    // Returns landmarks once the first of them exists and stays in place, because earlier input may move it.
    async #foundOf(...names) {
        const rects = await this.#rectsOf(names, patience);
        if (!rects[0]) {
            throw new Error(`waited in vain for the landmark ${names[0]}`);
        }
        return rects;
    }
    async found(name) { return (await this.#foundOf(name))[0]; }

    // Returns the landmark once it exists and, by turning the wheel at the edge of its panel, is in view.
    async reveal(name) {
        await bring(this, name, () => this.#rectsOf([name], impatience));
        const panel = /^lesson\//.test(name) ? 'panel/lesson' : /^learn\//.test(name) ? 'panel/rail' : 'panel/lens';
        let [rect, lens, tabs] = await this.#foundOf(name, panel, 'panel/tabs');
        const popup = await this.rect('panel/head');
        const above = /^(preset|adjust|change|tensors|training)(\/|$)/.test(name) && rect.bottom <= tabs?.bottom;
        if (above || popup || /^preset\//.test(name) || /^(subject|lens|lens-menu|guide|settings|head-name|head-choice|palette|panel|inspector)(\/|$)/.test(name)) {
            return rect;
        }
        for (let given = 1; ;) {  // points that the panel scrolls per point of the wheel, from the last turn
            const hidden = rect.bottom > lens.bottom ? Math.min(rect.bottom - lens.bottom + 8, rect.top - lens.top)
                : rect.top < lens.top ? rect.top - lens.top - 8 : 0;
            if (Math.abs(hidden) < 1) {
                return rect;
            }
            await this.page.mouse.move(lens.right - 4, lens.y);
            const turned = Math.sign(hidden) * Math.min(Math.max(Math.abs(hidden), 20), 300) / given, before = rect.top;
            await this.page.mouse.wheel(0, turned);
            [rect, lens] = await this.until(`${name} to scroll into view`, () => this.rects(name, panel), ([{ top }]) => top !== before);
            given = Math.min(Math.max((before - rect.top) / turned, 0.2), 2);
        }
    }

    async hover(name) {
        const { x, y } = await this.reveal(name);
        await this.page.mouse.move(x, y);
    }

    async click(name, options) {
        let at = await this.reveal(name);
        for (let moved = true; moved;) {  // content that appears or grows may move it
            await this.page.mouse.move(at.x, at.y);
            const now = await this.reveal(name);
            moved = now.x !== at.x || now.y !== at.y;
            at = now;
        }
        await this.page.mouse.click(at.x, at.y, options);
    }

    // Chooses an item of a menu called Save, and resolves to the download. The page asks more about a figure.
    async saved(menu, item) {
        await this.click(menu);
        await this.until('what can be saved', () => this.rect(`${menu}/${item}`));
        await this.settled();  // a list finds its place in its first frames
        const { x, y } = await this.rect(`${menu}/${item}`);  // a list lies above scrolling content
        const download = this.page.waitForEvent('download');
        await this.page.mouse.click(x, y);
        if (item === 'SVG') {
            await this.page.click('#figure-save');
        }
        return download;
    }

    async tap(name) {
        const { x, y } = await this.found(name);
        await this.page.touchscreen.tap(x, y);
    }

    // Drags to the right by `distance`, in some steps, from the middle of the landmark or from a fraction of
    // its width.
    async drag(name, distance, share = 0.5) {
        const { left, right, y } = await this.reveal(name);
        const x = left + (right - left) * share;
        await this.page.mouse.move(x, y);
        await this.page.mouse.down();
        await this.page.mouse.move(x + distance, y, { steps: 8 });
        await this.page.mouse.up();
    }

    // Drags from one point of the window to another; the dragged item has arrived there before the button is
    // released.
    async dragBetween(from, to, steps) {
        const { mouse } = this.page;
        await mouse.move(from.x, from.y);
        await mouse.down();
        await mouse.move(to.x, to.y, { steps });
        await this.settled();
        await mouse.up();
    }

    // Turns the wheel upwards with Ctrl held, which the item under it then takes; a notch is one turn.
    async wheel(name, notches = 1) {
        await this.hover(name);
        await this.page.keyboard.down('Control');
        await this.page.mouse.wheel(0, -100 * notches);
        await this.page.keyboard.up('Control');
    }

    // Focuses the element of this role and name, as Tab does, once it is enabled.
    async focus(role, name) {
        const element = this.page.getByRole(role, { name, exact: true }).first();
        await openRows(this, element, impatience);
        await this.until(`${name} to be usable`, () => element.isEnabled());
        await element.focus();
        await this.settled();
    }

    async enter(role, name) {
        await this.focus(role, name);
        await this.press('Enter');
    }

    // The elements follow the program's keyboard after some time.
    untilFocused(element) {
        return this.until('the field to have the focus', () => element.evaluate((field) => field === document.activeElement));
    }

    press(...keys) {
        return keys.reduce((before, key) => before.then(() => this.page.keyboard.press(key)), Promise.resolve());
    }

    // Types into a cell: click, text, Enter.
    async type(cell, text) {
        await this.click(cell);
        await this.untilState(`${cell} to be pinned`, ({ pin }) => pinName(pin) === cell);
        await this.page.keyboard.type(text);
        await this.press('Enter');
    }

    // Chooses one of the tutorials' examples; `key` is its name in links.
    async choose(letter, key) {
        await this.click('preset');
        await this.until('the list of examples', () => this.rect(`preset/${letter}`));
        await this.settled();  // a list finds its place in its first frames
        await this.click(`preset/${letter}`);
        await this.until(`example ${letter}`, () => this.linked('ex'), (ex) => ex === key);
        await this.until('the list to close', () => this.rect(`preset/${letter}`), (shown) => !shown);
    }

    // Opens an edited address. The page may still be about to write the same address, and typing that again
    // is not a change.
    async visit(fragment) {
        await this.answered();
        await this.until('another address', () => this.page.evaluate(() => location.hash.slice(1)), (now) => now !== fragment);
        await this.page.evaluate((to) => { location.hash = to; }, fragment);
    }

    // Writes into the sentence box.
    async write(text) {
        const box = this.page.locator('#sentence');
        await box.click();
        await this.press('Control+A');
        await this.page.keyboard.insertText(text);
        await this.press('Enter');
    }

    // Playwright lacks some ways to move the mouse and the fingers.
    async devtools() { return this.#devtools ??= await this.page.context().newCDPSession(this.page); }

    // Drops files or folders onto the middle of the page, as from a file manager.
    async drop(...paths) {
        const devtools = await this.devtools();
        const { width, height } = this.page.viewportSize();
        for (const type of /** @type {const} */ (['dragEnter', 'dragOver', 'drop'])) {
            await devtools.send('Input.dispatchDragEvent',
                { type, x: width / 2, y: height / 2, data: { items: [], files: paths, dragOperationsMask: 1 } });
        }
    }

    // Drops a model's folder, and writes the text if there is one; its run is then complete.
    async openModel(folder, text) {
        await this.drop(folder);
        const name = folder.split('/').at(-1);
        await this.untilState(`${name} to open`, ({ model }) => model === name);
        if (text !== undefined) {
            await this.write(text);
            await this.untilRun(`the run of ${JSON.stringify(text.slice(0, 40))}`, (state) => state.text === text && state.tokens > 0);
        }
    }

    // Makes generation choose the most likely token.
    async greedily() {
        await this.dismiss();  // a notice may cover the slider
        const { left, right } = await this.reveal('next/temperature');
        await this.drag('next/temperature', (left - right) / 2 - 4);
        await this.until('temperature 0', () => this.linked('sampling'), (sampling) => sampling?.startsWith('0,'));
    }

    async untilRun(what, holds) {
        await this.untilState(what, holds);
        await this.until(`${what} to be complete`, () => this.ask('busy'), (busy) => !busy);
        return this.state();
    }

    // ---- The picture --------------------------------------------------------------------------------------

    // Makes the page draw what it shows, if it has drawn nothing on the canvas so far.
    async draw() {
        const late = await this.page.evaluate(() => {
            const first = globalThis.drawing === false;
            if (first) {
                globalThis.drawing = true;
                document.getElementById('canvas').style.opacity = '';
                explorer._probe_draw_again();
            }
            return first;
        });
        if (late) await this.settled();
    }

    // Makes the page draw everything, with the mouse outside.
    async pose() {
        await this.page.mouse.move(0, 0);
        await this.draw();
        await this.settled();
    }

    // Takes a picture of the canvas.
    async picture() {
        await this.pose();
        return decode(await this.#canvas.screenshot());
    }

    // Every test ends with this; a quarter of the canvas is enough.
    async finish() {
        const lost = await this.page.evaluate(() => document.getElementById('canvas').getContext('webgl2')?.isContextLost() ?? true);
        if (lost) throw new Error('the WebGL context is dead');
        await this.draw();
        const upper = await this.page.evaluate(() => {
            const { x, y, width, height } = document.getElementById('canvas').getBoundingClientRect();
            return { x, y, width: width / 2, height: height / 2 };
        });
        const count = colours(decode(await this.page.screenshot({ clip: upper })));
        if (count < least_colours) throw new Error(`the canvas shows ${count} colours: the picture is flat`);
    }
}

// The landmark of a pinned cell, "x/1/2".
export function pinName(pin) {
    return pin && `${pin[0].toLowerCase()}/${pin[1]}/${pin[2]}`;
}
