// A page of another origin with the explorer in a frame, as a teacher makes one.
import { createServer } from 'node:http';
import { Explorer } from './explorer.mjs';

/** @import { Browser, Page } from 'playwright-core' */

/**
 * The page as it is seen from within its frame: what is asked is asked there, and places are the frame's.
 *
 * @param {Page} page
 * @param {import('playwright-core').Frame} frame
 * @returns {Page}
 */
function within(page, frame) {
    const corner = async () => {
        const { x, y } = /** @type {{x: number, y: number}} */ (await (await frame.frameElement()).boundingBox());
        return { x: x + 1, y: y + 1 };  // inside its border
    };
    const at = async (/** @type {number} */ x, /** @type {number} */ y) => {
        const origin = await corner();
        return /** @type {[number, number]} */ ([origin.x + x, origin.y + y]);
    };
    const { mouse } = page;
    const placed = {
        move: async (x, y, options) => mouse.move(...await at(x, y), options),
        click: async (x, y, options) => mouse.click(...await at(x, y), options),
        dblclick: async (x, y, options) => mouse.dblclick(...await at(x, y), options),
        down: (options) => mouse.down(options),
        up: (options) => mouse.up(options),
        wheel: (x, y) => mouse.wheel(x, y),
    };
    return new Proxy(page, {
        get(target, name) {
            if (name === 'mouse') {
                return placed;
            }
            const of = ['evaluate', 'locator', '$', '$$', '$eval', '$$eval', 'click', 'getByRole'].includes(String(name)) ? frame : target;
            const value = of[name];
            return typeof value === 'function' ? value.bind(of) : value;
        },
    });
}

/**
 * Opens a course page with a frame and uses it.
 *
 * @param {{browser: Browser, site: string, frame: (origin: string) => string, height?: number, context?: object}} how `frame` writes the
 *     frame's address after the site's, for a course of this origin, or the frame as HTML
 * @param {(parts: {page: Page, explorer: Explorer, messages: (type?: string) => Promise<any[]>, send: (message: object) => Promise<any>}) =>
 *     Promise<void>} use
 */
export async function inCourse({ browser, site, frame, height = 820, context = {} }, use) {
    let origin = '';
    const server = createServer((request, response) => {
        const given = frame(origin);
        const element = given.startsWith('<') ? given : `<iframe src="${site}${given.replaceAll('&', '&amp;')}" width="1000" height="${height}" style="border:1px solid"></iframe>`;
        response.setHeader('Content-Type', 'text/html');
        response.end(`<!doctype html><link rel="icon" href="data:,"><style>body { margin: 20px; }</style>${element}<p style="height:3000px">The rest of the course</p>
            <script>
                window.got = [];
                let asked = 0;
                addEventListener('message', ({ data, origin }) => got.push({ ...data, from: origin }));
                window.send = (message) => new Promise((resolve) => {
                    const id = ++asked;
                    addEventListener('message', function hear({ data }) {
                        if (data.id === id && /done|failed/.test(data.type)) {
                            removeEventListener('message', hear);
                            resolve(data);
                        }
                    });
                    frames[0].postMessage({ explorer: 1, id, ...message }, '*');
                });
            </script>`);
    });
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(undefined)); });
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    origin = `http://127.0.0.1:${port}`;
    const visits = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...context });
    try {
        const page = await visits.newPage();
        const explorer = new Explorer(page, 'http://127.0.0.1', '');
        await page.goto(origin);
        const inner = await explorer.until('the frame', () => page.frames()[1], (each) => each?.url().startsWith(site));
        await inner.waitForLoadState();
        explorer.page = within(page, inner);
        await explorer.started();
        await use({
            page,
            explorer,
            messages: (type) => page.evaluate((wanted) => /** @type {any} */ (window).got.filter((each) => !wanted || each.type === wanted), type),
            send: (message) => page.evaluate((given) => /** @type {any} */ (window).send(given), message),
        });
        // Browsers mention fields that would take the focus of a page that is not their own.
        const problems = explorer.problems.filter((text) => !/Blocked autofocusing/.test(text));
        if (problems.length) {
            throw new Error(problems.join('; '));
        }
    } finally {
        await visits.close();
        server.closeAllConnections();
        await new Promise((resolve) => { server.close(resolve); });
    }
}
