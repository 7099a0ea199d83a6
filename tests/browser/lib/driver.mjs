// Drives the page at random, through real events: clicks, drags, the wheel, keys, texts, files, sizes, themes
// and the browser's history. Its choices follow from a seed; the places of things then depend on how far the
// page has come.
import { tiny } from './models.mjs';
import { npy, npz, written } from './tensors.mjs';

/** @import { Explorer } from './explorer.mjs' */

const ends_within = 120000;  // ms that work may take without making progress
const sleeps_within = 15000;
const due_within = 1000;
const remembered = 40;  // number of actions reported when something is wrong
const of_the_hub = /^a request to another place: https:\/\/huggingface\.co\/|status of 404/;

// Mulberry32.
function generator(seed) {
    let state = seed | 0;
    return () => {
        state = (state + 0x6d2b79f5) | 0;
        let bits = Math.imul(state ^ (state >>> 15), 1 | state);
        bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
        return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
    };
}

const numbers = (count, seed) => Array.from({ length: count }, (_, i) => Math.sin(seed + 7 * i) * 2);
const rows = (count, length) => Array.from({ length: count * length }, () => 1 / length);

// Files that a user may drop: some open, some are broken.
function drops() {
    const vectors = (seed) => npy([2, 6, 4], numbers(48, seed));
    const one = (name, contents) => written({ [name]: contents });
    return {
        'a model': [tiny.folder],
        'finished weights': one('weights.npy', npy([2, 2, 5, 5], rows(20, 5))),
        'queries and keys': written({ 'q.npy': vectors(1), 'k.npy': vectors(2) }),
        'queries, keys and values': one('qkv.npz', npz({ 'q.npy': vectors(1), 'k.npy': vectors(2), 'v.npy': vectors(3) })),
        'weights that are no numbers': one('nan.npy', npy([1, 1, 3, 3], Array(9).fill(NaN))),
        'a table': one('weights.csv', '0.5,0.5\n0.25,0.75\n'),
        'half a file': one('half.npy', npy([2, 2, 5, 5], rows(20, 5)).subarray(0, 90)),
        'an empty file': one('empty.safetensors', ''),
        'no safetensors': one('model.safetensors', 'this is no model'),
        'a broken config': one('config.json', '{"model_type": "gpt2", '),
        'a picture': one('picture.png', '\x89PNG'),
        'a text': one('notes.txt', 'nothing in here'),
    };
}

const keys = ['Tab', 'Tab', 'Shift+Tab', 'ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight', 'Enter', 'Enter', 'Escape', ' ', 'Home', 'End',
    'PageDown', 'PageUp', 'b', 'F2', 'Delete', 'Backspace', 'Control+Z', 'Control+Shift+Z', 'Control+C', 'Control+V', 'Control+K'];
const sizes = [[1440, 900], [1440, 900], [1920, 1080], [1024, 700], [820, 600], [390, 844], [320, 480], [844, 390], [1440, 50]];
const texts = ['', 'a', 'The cat sat on the mat.', "The animal didn't cross the street because it was too wide. It", 'the cat sat on a mat and saw its red ball',
    'äöü 猫 🐈 \u200d x', 'one two three four five six seven eight nine ten eleven twelve thirteen', 'a a a a a a', 'The old man asked the bank for a loan.'];
const typed = ['0.5', '-3', '1e9', 'x', 'nan', '7', 'masks', 'head 1.2', 'undo', 'help', 'train', 'ij->ji with A'];
const buttons = ['#undo', '#redo', '#link', '#table', '#find', '#theme', '#model'];
const lenses = ['overview', 'ladder', 'compare', 'curves', 'translation', 'scale', 'masks', 'softmax', 'gradient', 'inverse', 'order', 'tiles',
    'geometry', 'memory', 'sources', 'paths', 'layers', 'knockout', 'steer', 'examples', 'heads', 'circuits', 'cache', 'cost', 'properties'];
const subjects = ['worked', 'sentence', 'tensors', 'training'];

export class Driver {
    /** @type {string[]} */
    done = [];

    /**
     * @param {Explorer} explorer
     * @param {number} seed
     */
    constructor(explorer, seed) {
        this.explorer = explorer;
        this.page = explorer.page;
        this.random = generator(seed);
        this.drops = drops();
        // A dialog of the browser's own would wait for a user.
        this.page.on('filechooser', () => {});
    }

    below(count) { return Math.floor(this.random() * count); }
    one(list) { return list[this.below(list.length)]; }

    // Chooses a point of something visible, and its name.
    async place() {
        const { 'panel/lens': lens, ...all } = await this.explorer.landmarks();
        const canvas = await this.page.evaluate(() => {
            const { x, y, width, height } = document.getElementById('canvas').getBoundingClientRect();
            return { x, y, width, height };
        });
        const around = /^(subject|lens|lens-menu|palette|panel|inspector|sheet|lesson|learn)(\/|$)/;
        const seen = Object.entries(all).filter(([name, [left, top, right, bottom]]) => {
            const [x, y] = [(left + right) / 2, (top + bottom) / 2];
            const inside = around.test(name) || !lens || (x > lens[0] && x < lens[2] && y > lens[1] && y < lens[3]);
            return inside && x > 0 && y > 0 && x < canvas.width && y < canvas.height;
        });
        // Things of a kind, such as the cells of a matrix, count as one.
        if (seen.length === 0) {
            return { name: 'nothing', x: 5, y: 5 };
        }
        const kind = (name) => name.split('/')[0], drawn = this.one([...new Set(seen.map(([name]) => kind(name)))]);
        const [name, [left, top, right, bottom]] = this.one(seen.filter((each) => kind(each[0]) === drawn));
        const within = (from, to) => from + (to - from) * (this.random() < 0.7 ? 0.5 : this.random());
        return { name, x: canvas.x + within(left, right), y: canvas.y + within(top, bottom) };
    }

    /**
     * How often each action is drawn, and what it does; the returned text goes into the report.
     *
     * @type {[number, () => Promise<string>][]}
     */
    actions = [
        [30, async () => {
            const { name, x, y } = await this.place();
            const clickCount = this.one([1, 1, 1, 1, 2, 3]);
            await this.page.mouse.click(x, y, { clickCount });
            return `click ${clickCount > 1 ? `${clickCount} times ` : ''}${name}`;
        }],
        [10, async () => {
            const { name, x, y } = await this.place();
            await this.page.mouse.move(x, y);
            return `hover over ${name}`;
        }],
        [10, async () => {
            const { name, x, y } = await this.place(), { mouse } = this.page;
            const [across, down] = [this.below(400) - 200, this.below(300) - 150];
            await mouse.move(x, y);
            await mouse.down();
            await mouse.move(x + across, y + down, { steps: 1 + this.below(6) });
            await mouse.up();
            return `drag ${name} by ${across}, ${down}`;
        }],
        [10, async () => {
            const { name, x, y } = await this.place(), turned = this.below(1200) - 600, held = this.random() < 0.3;
            await this.page.mouse.move(x, y);
            await (held && this.page.keyboard.down('Control'));
            await this.page.mouse.wheel(0, turned);
            await (held && this.page.keyboard.up('Control'));
            return `wheel ${held ? 'with Control ' : ''}${turned} over ${name}`;
        }],
        [14, async () => {
            const key = this.one(keys);
            await this.page.keyboard.press(key);
            return `press ${key}`;
        }],
        [5, async () => {
            const text = this.one(typed);
            await this.page.keyboard.type(text);
            return `type ${text}`;
        }],
        [5, async () => {
            const text = this.one(texts);
            const box = this.page.locator(this.one(['#sentence', '#second-sentence']));
            if (!await box.isVisible() || !await box.isEnabled()) {
                return 'no box to write into';
            }
            // The previous action may still be switching to another subject, which has no box.
            const wrote = await box.fill(text, { timeout: 2000 }).then(() => true, () => false);
            if (!wrote && await box.isVisible()) {
                throw new Error('The sentence box takes no text.');
            }
            await (wrote && box.press('Enter', { timeout: 2000 }).catch(() => {}));
            return wrote ? `write ${JSON.stringify(text)}` : 'the box has gone';
        }],
        [8, async () => {
            const button = this.one(buttons);
            // It may be disabled, or under a dialog.
            await this.page.click(button, { timeout: 1000 }).catch(() => {});
            if (this.random() < 0.8) {
                await this.page.keyboard.press('Escape');
            }
            return `click ${button}`;
        }],
        [5, async () => {
            const what = this.one(Object.keys(this.drops));
            await this.explorer.drop(...this.drops[what]);
            return `drop ${what}`;
        }],
        [3, async () => {
            const [width, height] = this.one(sizes);
            await this.page.setViewportSize({ width, height });
            return `a window of ${width} × ${height}`;
        }],
        [1, async () => {
            const colorScheme = this.one(/** @type {const} */ (['light', 'dark']));
            await this.page.emulateMedia({ colorScheme });
            return `a ${colorScheme} screen`;
        }],
        [4, async () => {
            const way = this.one([-1, 1]);
            const went = await this.page.evaluate((steps) => {
                const { currentEntry, canGoForward } = globalThis.navigation;
                const may = steps > 0 ? canGoForward : currentEntry.index > globalThis.firstEntry;
                if (may) {
                    history.go(steps);
                }
                return may;
            }, way);
            return `${went ? 'go' : 'nowhere to go'} ${way > 0 ? 'forward' : 'back'}`;
        }],
        [5, async () => {
            const fragment = `v=1&subject=${this.one(subjects)}&lens=${this.one(lenses)}`;
            await this.page.evaluate((to) => { location.hash = to; }, fragment);
            return `follow #${fragment}`;
        }],
    ];

    async act() {
        let drawn = this.random() * this.actions.reduce((sum, [share]) => sum + share, 0);
        const [, action] = this.actions.find(([share]) => (drawn -= share) < 0) ?? this.actions[0];
        this.done.push(await action());
    }

    // A model requested by name is looked up at the hub, which is not available here.
    async withoutHub() {
        await this.page.route(/^https:\/\/([\w-]+\.)*(huggingface\.co|hf\.co)\//, (route) => route.fulfill({ status: 404, body: '{}' }));
    }

    // Nothing that the page reports is acceptable, except for the consequences of that.
    async checkSound() {
        const failure = await this.page.evaluate(() => {
            const { hidden, innerText } = document.getElementById('failure');
            return hidden ? '' : innerText;
        });
        if (failure) {
            throw new Error(`the page stopped: ${failure}`);
        }
        const own = this.explorer.problems.filter((text) => !of_the_hub.test(text));
        this.explorer.problems.splice(0, Infinity, ...own);
        if (own.length) {
            throw new Error('the page reported something');
        }
    }

    // Work must end. A training or a growing text has made progress; then there may be more to do.
    async checkWorkEnds() {
        const far = async () => {
            const [{ fragment, subject, lens }, training, sentence] = await Promise.all([
                this.explorer.ask('state'), this.explorer.training(), this.explorer.ask('subject', 'sentence')]);
            return { here: JSON.stringify([training?.taken, sentence.tokens, sentence.model]), where: `${subject} through ${lens}, #${fragment}` };
        };
        let { here } = await far();
        for (let end = Date.now() + ends_within; await this.explorer.ask('busy'); await this.page.waitForTimeout(200)) {
            const now = await far();
            if (now.here !== here) {
                end = Date.now() + ends_within;
                here = now.here;
            }
            if (Date.now() > end) {
                throw new Error(`work does not end after ${ends_within / 1000} s: ${now.where}`);
            }
            await this.checkSound();
        }
    }

    // The page sleeps, and its picture stays the same when it is drawn once more.
    async checkRests() {
        const asleep = () => this.page.evaluate(async (patience) => {
            const end = performance.now() + patience;
            for (let frames = -1, still = 0; performance.now() < end;) {
                const count = explorer._probe_frame_count();
                still = count === frames ? still + 1 : 0;
                if (still === 6) {
                    return true;
                }
                frames = count;
                await new Promise(requestAnimationFrame);
            }
            return false;
        }, sleeps_within);
        const where = async () => JSON.stringify(await this.explorer.ask('state'));
        if (!await asleep()) {
            // Delayed work, such as the end of a pause in typing, may have begun.
            if (await this.explorer.ask('busy')) {
                return;
            }
            throw new Error(`the page does not sleep: ${await where()}`);
        }
        const { fragment } = await this.explorer.ask('state');
        const moves = async () => {
            const before = await this.explorer.landmarks();
            await this.page.evaluate(() => explorer._probe_draw_again());
            // An automatic walk, such as tile by tile, may have continued.
            if (!await asleep() || await this.explorer.ask('busy') || (await this.explorer.ask('state')).fragment !== fragment) {
                return [];
            }
            const after = await this.explorer.landmarks();
            return Object.keys({ ...before, ...after }).filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
        };
        let moved = fragment.includes('compare=blink') ? [] : await moves();
        if (moved.length) {
            // A frame may have been due, such as that with the last number of a run in double.
            await new Promise((resume) => { setTimeout(resume, due_within); });
            moved = await moves();
        }
        if (moved.length) {
            throw new Error(`the layout moves at rest: ${moved.slice(0, 8).join(', ')}; ${await where()}`);
        }
    }

    /** @param {number} seconds */
    async drive(seconds) {
        await this.withoutHub();
        await this.page.evaluate(() => { globalThis.firstEntry = globalThis.navigation.currentEntry.index; });
        try {
            for (const end = Date.now() + 1000 * seconds; Date.now() < end;) {
                for (let more = 1 + this.below(6); more > 0; --more) {
                    await this.act();
                    await this.checkSound();
                }
                await this.checkWorkEnds();
                await this.checkRests();
            }
        } catch (/** @type {any} */ error) {
            error.message += `\nafter ${this.done.length} actions, the last: ${this.done.slice(-remembered).join('; ')}`;
            throw error;
        }
        return this.done.length;
    }
}
