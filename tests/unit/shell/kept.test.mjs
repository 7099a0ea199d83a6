// Tests keeping a model on a disk that fills up: the worker that writes it, over a file system of our own.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import test, { after } from 'node:test';
import { TestHub } from '../../browser/lib/hub.mjs';
import { Fetching } from '../../../web/shell/fetching.js';
import { Told } from '../../../web/shell/file_chunks.js';
import { Hub, placeOf } from '../../../web/shell/hub.js';
import { choicesOf } from '../../../web/shell/hub_choice.js';
import { Kept } from '../../../web/shell/kept.js';

// Folders and files in memory. Once they hold `most` bytes, a write keeps what fits and returns any number.
class Disk {
    most = Infinity;
    /** @type {Map<string, Buffer>} keyed by path */
    files = new Map();
    clock = 0;
    cleared = 0;  // number of times
    /** @type {Map<string, number>} */
    changed = new Map();

    get used() {
        return [...this.files.values()].reduce((sum, { length }) => sum + length, 0);
    }

    set(path, bytes) {
        this.files.set(path, bytes);
        this.changed.set(path, ++this.clock);
    }

    // Simulates a browser clearing a site's data. Old folder handles then become invalid.
    clear() {
        this.files.clear();
        ++this.cleared;
    }

    folder(path) {
        const disk = this, { cleared } = this;
        const inside = (name) => `${path}/${name}`;
        const absent = () => { throw new DOMException('it is not there', 'NotFoundError'); };
        return {
            kind: 'directory',
            async getDirectoryHandle(name, { create = false } = {}) {
                if (disk.cleared !== cleared) {
                    absent();
                }
                return create || [...disk.files.keys()].some((each) => each.startsWith(`${inside(name)}/`)) ? disk.folder(inside(name)) : absent();
            },
            async getFileHandle(name, { create = false } = {}) {
                if (!disk.files.has(inside(name))) {
                    if (!create) {
                        absent();
                    }
                    disk.set(inside(name), Buffer.alloc(0));
                }
                return disk.file(inside(name));
            },
            async removeEntry(name) {
                for (const each of [...disk.files.keys()]) {
                    if (each === inside(name) || each.startsWith(`${inside(name)}/`)) {
                        disk.files.delete(each);
                    }
                }
            },
            async* values() {
                if (disk.cleared !== cleared) {
                    absent();
                }
                const names = [...disk.files.keys()].filter((each) => each.startsWith(`${path}/`)).map((each) => each.slice(path.length + 1).split('/')[0]);
                for (const name of new Set(names)) {
                    yield disk.folder(inside(name));
                }
            },
        };
    }

    file(path) {
        const disk = this;
        return {
            async getFile() {
                return new File([new Uint8Array(disk.files.get(path))], path, { lastModified: disk.changed.get(path) });
            },
            async createSyncAccessHandle() {
                return {
                    getSize: () => disk.files.get(path).length,
                    read(buffer, { at }) {
                        return disk.files.get(path).copy(buffer, 0, at);
                    },
                    write(bytes, { at }) {
                        const before = disk.files.get(path);
                        const fits = Math.max(Math.min(bytes.length, disk.most - disk.used + before.length - at), 0);
                        const now = Buffer.concat([before, Buffer.alloc(Math.max(at + fits - before.length, 0))]);
                        now.set(bytes.subarray(0, fits), at);
                        disk.set(path, now);
                        return fits === bytes.length ? fits : 4294967291;
                    },
                    truncate(size) {
                        disk.set(path, disk.files.get(path).subarray(0, size));
                    },
                    flush() {},
                    close() {},
                };
            },
        };
    }
}

let disk = new Disk();
const worker = /** @type {any} */ ({});
Object.assign(globalThis, {
    self: worker,
    FileSystemFileHandle: class { createSyncAccessHandle() {} },
    Worker: class { postMessage(data, [port]) { worker.onmessage({ data: structuredClone(data), ports: [port] }); } },
});
Object.defineProperty(globalThis, 'navigator', { value: { storage: {
    getDirectory: async () => disk.folder(''),
    estimate: async () => ({ quota: 1e12, usage: 0 }),  // whatever is stored
    persist: async () => true,
} } });
await import('../../../web/shell/kept_worker.js');

const words = (text) => Buffer.from(text);
const repository = () => ({ 'config.json': words('{}'), 'tokenizer.json': words('{}'), 'model.safetensors': randomBytes(900000) });

const hubs = [];
after(() => hubs.forEach((hub) => hub.unplug()));

async function begun(files = repository()) {
    disk = new Disk();
    const there = await new TestHub().open();
    hubs.push(there);
    const commit = there.put('org/name', files);
    const hub = new Hub(there.address), kept = await Kept.open();
    const found = await hub.lookUp(placeOf('org/name'));
    const [choice] = await choicesOf(hub, found);
    const { files: _, ...rest } = found;
    const plan = { ...rest, asked: 'org/name', revision: '', file: '', files: choice.files };
    const fetching = new Fetching(hub, kept, plan, () => {});
    return { there, files, commit, kept, plan, fetching, weights: `/hub/${encodeURIComponent(`org/name@${commit}`)}/model.safetensors` };
}

const stands = async (fetching) => {
    while (!fetching.fault) {
        await new Promise((resolve) => { setTimeout(resolve, 5); });
    }
    return fetching.fault;
};
const hashOf = (bytes) => createHash('sha256').update(bytes).digest('hex');

for (const most of [300000, 500001, 899990]) {
    test(`on a disk that is full at ${most} bytes everything kept is right, and it goes on from there`, async () => {
        const { there, files, kept, fetching, weights } = await begun();
        disk.most = most;
        const entries = fetching.entries();
        const fault = await stands(fetching);
        assert.match(fault.message, /^This browser has no more room for org\/name: delete a kept model or free some of the disk, then go on, or open it without keeping it\.$/);
        assert.ok(fetching.full);
        const here = disk.files.get(weights);
        assert.equal(fetching.arrived, here.length + 4, 'what is not kept does not count');
        assert.ok(here.length > most - 200000, `${here.length} bytes are kept`);
        assert.ok(here.equals(files['model.safetensors'].subarray(0, here.length)), 'each at its place');
        const [model] = await kept.list();
        assert.deepEqual([model.whole, model.plan.repository], [false, 'org/name'], 'it stays in the list');
        // Still full: the same sentence, and nothing is lost.
        fetching.resume();
        await stands(fetching);
        assert.ok(disk.files.get(weights).equals(files['model.safetensors'].subarray(0, disk.files.get(weights).length)));
        assert.equal((await kept.list()).length, 1);
        const before = disk.files.get(weights).length;
        disk.most = Infinity;
        there.log.length = 0;
        fetching.resume();
        assert.equal((await entries).length, 3);
        assert.equal(hashOf(disk.files.get(weights)), hashOf(files['model.safetensors']));
        assert.deepEqual(there.log.filter(({ host }) => host === there.bytesHost).map(({ range }) => range), [`bytes=${before}-`]);
        assert.ok((await kept.list())[0].whole);
    });
}

test('where the disk is full, a model opens without being kept, and leaves nothing behind', async () => {
    const { files, kept, fetching } = await begun();
    disk.most = 400000;
    const entries = fetching.entries();
    await stands(fetching);
    await fetching.keepNothing();
    const opened = await entries;
    assert.equal(fetching.keeps, false);
    assert.deepEqual(await kept.list(), []);
    assert.equal(disk.used, 0);
    const { file } = opened.find(({ path }) => path === 'name/model.safetensors');
    const all = [];
    for await (const bytes of await file.stream()) {
        all.push(bytes);
    }
    assert.equal(hashOf(Buffer.concat(all)), hashOf(files['model.safetensors']));
});

test('a browser that does not say how much room there is has room until a write fails', async () => {
    const { kept } = await begun();
    const { storage } = navigator;
    const { estimate } = storage;
    for (const [odd, room] of /** @type {[() => Promise<any>, number][]} */ ([
        [async () => { throw new TypeError('no'); }, Infinity], [async () => ({}), Infinity], [async () => ({ quota: 10, usage: 30 }), 0], [async () => ({ quota: 30, usage: 10 }), 20],
    ])) {
        storage.estimate = odd;
        assert.equal(await kept.room(), room);
    }
    storage.estimate = estimate;
});

test('models are listed with the time since when they are whole', async () => {
    const { kept, fetching, plan } = await begun();
    await fetching.entries();
    const [{ since }] = await kept.list();
    assert.ok(since > 0);
    const later = { ...plan, commit: 'b'.repeat(40) };
    await kept.begin(later);
    const all = await kept.list();
    assert.equal(all.length, 2);
    assert.ok(all.find((each) => each.plan.commit === later.commit).since > since);
});

test('once the browser has cleared what is kept, nothing is listed, and a model is fetched and kept anew', async () => {
    const { there, files, kept, plan, fetching, weights } = await begun();
    await fetching.entries();
    assert.equal((await kept.list()).length, 1);
    disk.clear();
    assert.deepEqual(await kept.list(), []);
    await kept.remove(plan);  // it is already gone
    await assert.rejects(kept.entries(plan), new Told('org/name is no longer kept whole on this machine: fetch it again.'));
    const anew = new Fetching(new Hub(there.address), kept, plan, () => {});
    assert.equal((await anew.entries()).length, 3);
    assert.equal(hashOf(disk.files.get(weights)), hashOf(files['model.safetensors']));
});

test('what goes as soon as it is fetched is said, and fetched again', async () => {
    const { kept, plan, fetching } = await begun();
    const { finish } = kept;
    kept.finish = async (...given) => {
        await finish.apply(kept, given);
        disk.clear();
    };
    const entries = fetching.entries();
    assert.match((await stands(fetching)).message, /^org\/name is no longer kept whole on this machine: fetch it again\.$/);
    kept.finish = finish;
    fetching.resume();
    assert.equal((await entries).length, 3);
    assert.ok((await kept.list())[0].whole);
    assert.equal((await kept.entries(plan)).length, 3);
});

test('a list that the browser refuses is one sentence', async () => {
    const { kept } = await begun();
    const { storage } = navigator;
    const { getDirectory } = storage;
    storage.getDirectory = async () => { throw new DOMException('A requested file or directory could not be found.', 'NotFoundError'); };
    try {
        await assert.rejects(kept.list(), new Told('The models kept on this machine could not be listed: the browser says “A requested file or directory could not be found”.'));
    } finally {
        storage.getDirectory = getDirectory;
    }
});
