// A page of a browser that WebDriver drives, with the calls of playwright-core's Page that tests/browser/lib/explorer.mjs makes.

/**
 * What a browser's driver does: it evaluates an expression, whose value comes as JSON, performs actions of WebDriver, and so on.
 *
 * @typedef {object} Session
 * @property {string} browser its name and version
 * @property {(expression: string) => Promise<string | undefined>} evaluate
 * @property {(actions: object[]) => Promise<unknown>} perform
 * @property {(url: string) => Promise<unknown>} goto
 * @property {() => Promise<string>} screenshot a PNG in base64
 * @property {() => Promise<unknown>} end
 */

// https://www.w3.org/TR/webdriver2/#keyboard-actions
/** @type {Record<string, string>} */
const keys = {
    Backspace: '\uE003', Tab: '\uE004', Enter: '\uE007', Shift: '\uE008', Control: '\uE009', Alt: '\uE00A', Escape: '\uE00C',
    End: '\uE010', Home: '\uE011', ArrowLeft: '\uE012', ArrowUp: '\uE013', ArrowRight: '\uE014', ArrowDown: '\uE015',
};
const pointer = (/** @type {object[]} */ ...actions) => [{ type: 'pointer', id: 'mouse', parameters: { pointerType: 'mouse' }, actions }];
const typed = (/** @type {object[]} */ ...actions) => [{ type: 'key', id: 'keyboard', actions }];
const rest = 30;  // ms between two events, as a person leaves

export class EnginePage {
    #session;
    #at = { x: 0, y: 0 };

    /** @param {Session} session */
    constructor(session) {
        this.#session = session;
    }

    /** Of the page's own events, the driver tells none. */
    on() {}

    /** @param {string} url */
    goto(url) { return this.#session.goto(url); }

    /**
     * @param {Function} what
     * @param {unknown} [given]
     */
    async evaluate(what, given) {
        const text = await this.#session.evaluate(`Promise.resolve((${what})(${JSON.stringify(given) ?? ''})).then((value) => JSON.stringify(value))`);
        return text === undefined || text === null ? undefined : JSON.parse(text);
    }

    /** @param {number} ms */
    waitForTimeout(ms) { return new Promise((resolve) => { setTimeout(resolve, ms); }); }

    async screenshot() { return Buffer.from(await this.#session.screenshot(), 'base64'); }

    /**
     * @param {string} selector
     * @param {Function} what
     */
    $$eval(selector, what) {
        return this.evaluate(new Function('selector', `return (${what})([...document.querySelectorAll(selector)])`), selector);
    }

    /**
     * Clicks the middle of an element of the page.
     *
     * @param {string} selector
     */
    async click(selector) {
        const [x, y] = await this.evaluate((/** @type {string} */ wanted) => {
            const { left, top, width, height } = /** @type {Element} */ (document.querySelector(wanted)).getBoundingClientRect();
            return [left + width / 2, top + height / 2];
        }, selector);
        await this.mouse.click(x, y);
    }

    mouse = {
        wheel: (/** @type {number} */ deltaX, /** @type {number} */ deltaY) => this.#session.perform([{ type: 'wheel', id: 'wheel',
            actions: [{ type: 'scroll', ...this.#at, deltaX: Math.round(deltaX), deltaY: Math.round(deltaY) }] }]),
        move: (/** @type {number} */ x, /** @type {number} */ y) => {
            this.#at = { x: Math.round(x), y: Math.round(y) };
            return this.#session.perform(pointer({ type: 'pointerMove', ...this.#at, duration: rest }));
        },
        click: async (/** @type {number} */ x, /** @type {number} */ y) => {
            await this.mouse.move(x, y);
            await this.#session.perform(pointer({ type: 'pointerMove', ...this.#at }, { type: 'pointerDown', button: 0 },
                { type: 'pause', duration: rest }, { type: 'pointerUp', button: 0 }));
        },
    };

    keyboard = {
        type: async (/** @type {string} */ text) => {
            for (const value of text) {
                await this.#session.perform(typed({ type: 'keyDown', value }, { type: 'pause', duration: rest }, { type: 'keyUp', value }));
            }
        },
        press: (/** @type {string} */ chord) => {
            const values = chord.split('+').map((key) => keys[key] ?? key);
            return this.#session.perform(typed(...values.map((value) => ({ type: 'keyDown', value })), { type: 'pause', duration: rest },
                ...[...values].reverse().map((value) => ({ type: 'keyUp', value }))));
        },
    };
}
