// Tests addresses of the hub, its listings, and that all bytes arrive however often the connection breaks.
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import test, { after, describe } from 'node:test';
import { TestHub } from '../../browser/lib/hub.mjs';
import { Valve, arriving } from '../../../web/shell/download.js';
import { Cancelled } from '../../../web/shell/file_chunks.js';
import { Hub, HubError, hubAddress, linkOf, nameOf, placeOf, placeOfLink, shownNameOf, typedNameOf } from '../../../web/shell/hub.js';
import { choicesOf, onlyRounded, sizeOf, tooLarge } from '../../../web/shell/hub_choice.js';
import { firstModels, howFar } from '../../../web/shell/hub_parts.js';
import { checkOf, sha1, sha256 } from '../../../web/shell/sha.js';

// Marsaglia's xorshift of 32 bits: the same numbers in every run.
function numbers(seed) {
    let x = seed;
    return (below) => {
        x ^= x << 13;
        x ^= x >>> 17;
        x ^= x << 5;
        return (x >>> 0) % below;
    };
}

test('names and pasted addresses mean a repository, a revision and perhaps a .gguf file', () => {
    const place = (repository, revision = '', file = '') => ({ repository, revision, file });
    const commit = '607a30d783dfa663caf39e06633721c8d4cfcd7e';
    const meant = {
        'openai-community/gpt2': place('openai-community/gpt2'),
        '  openai-community/gpt2 ': place('openai-community/gpt2'),
        gpt2: place('gpt2'),
        'EleutherAI/pythia-70m@step1000': place('EleutherAI/pythia-70m', 'step1000'),
        'a/b@main': place('a/b'),
        'a/b@refs/pr/3': place('a/b', 'refs/pr/3'),
        'a/b.c@v1.0/q4/x-Q4_K_M.gguf': place('a/b.c', 'v1.0', 'q4/x-Q4_K_M.gguf'),
        'https://huggingface.co/openai-community/gpt2': place('openai-community/gpt2'),
        'https://huggingface.co/gpt2': place('gpt2'),
        'huggingface.co/openai-community/gpt2/': place('openai-community/gpt2'),
        'https://hf.co/openai-community/gpt2?library=transformers': place('openai-community/gpt2'),
        [`https://huggingface.co/openai-community/gpt2/tree/${commit}`]: place('openai-community/gpt2', commit),
        'https://huggingface.co/EleutherAI/pythia-70m/tree/step1000': place('EleutherAI/pythia-70m', 'step1000'),
        'https://huggingface.co/a/b/tree/refs%2Fpr%2F3': place('a/b', 'refs/pr/3'),
        'https://huggingface.co/a/b/blob/main/config.json': place('a/b'),
        'https://huggingface.co/a/b/blob/main/q4/x.gguf': place('a/b', '', 'q4/x.gguf'),
        'https://huggingface.co/a/b/resolve/v2/model.safetensors?download=true': place('a/b', 'v2'),
        'https://huggingface.co/a/b/discussions/1': place('a/b'),
    };
    for (const [text, wanted] of Object.entries(meant)) {
        assert.deepEqual(placeOf(text), wanted, text);
        assert.deepEqual(placeOfLink(linkOf(wanted)), wanted, linkOf(wanted));
    }
    assert.equal(linkOf(place('a/b', 'refs/pr/3')), 'hub:a/b@refs%2Fpr%2F3');
    assert.equal(nameOf(place('a/b', commit, 'x.gguf')), `a/b@${commit}/x.gguf`);
    assert.equal(shownNameOf(place('a/b', commit)), 'a/b');
    assert.equal(shownNameOf(place('a/b', 'step1000')), 'a/b@step1000');
});

test('what is no name of a model is refused in one sentence', () => {
    for (const text of ['', 'a b', 'a/b/c', '../x', 'a/..', 'a/b@', 'a/b@x/../../y.gguf', 'https://huggingface.co/', 'https://huggingface.co/datasets/a/b',
        'https://example.org/a/b', 'ftp://huggingface.co/a/b', 'javascript:alert(1)', 'https://huggingface.co.example.org/a/b', 'https://huggingface.co@example.org/a/b']) {
        assert.throws(() => placeOf(text), /^Error: [^\n]{10,200}\.$/, text);
    }
    for (const link of ['gpt2', 'hub:', 'hub:a/../b', 'hub:a/b/c', 'hub:https://example.org/a']) {
        assert.equal(placeOfLink(link), null, link);
    }
});

test('the policy of the page names the hub and the hosts that it sends files from', async () => {
    const { readFileSync } = await import('node:fs');
    const html = readFileSync(new URL('../../../index.html', import.meta.url), 'utf8');
    assert.equal(/connect-src ([^;]*);/.exec(html)[1], `'self' ${hubAddress} https://*.hf.co`);
});

test('SHA-256 and SHA-1 of pieces of any length are those of node', () => {
    const below = numbers(7);
    for (let length = 0; length < 300; ++length) {
        const bytes = randomBytes(length), cut = below(length + 1);
        for (const [ours, kind] of /** @type {const} */ ([[sha256, 'sha256'], [sha1, 'sha1']])) {
            const digest = ours().update(bytes.subarray(0, cut)).update(bytes.subarray(cut)).digest();
            assert.equal(digest, createHash(kind).update(bytes).digest('hex'), `${kind} of ${length} bytes, cut at ${cut}`);
        }
    }
    const long = randomBytes(3e6), one = sha256();
    const expected = createHash('sha256');
    for (let at = 0; at < long.length;) {
        const size = below(70000);
        one.update(long.subarray(at, at + size));
        expected.update(long.subarray(at, at + size));
        at += size;
    }
    assert.equal(one.digest(), expected.digest('hex'));
});

test('a length of more than 2^32 bits is padded as it should be', () => {
    const piece = new Uint8Array(2 ** 26), count = 9;  // 576 MB
    const ours = sha1(), expected = createHash('sha1');
    for (let i = 0; i < count; ++i) {
        ours.update(piece);
        expected.update(piece);
    }
    assert.equal(ours.digest(), expected.digest('hex'));
});

test('a small file is checked by Git\'s hash', () => {
    // git hash-object of "hello\n"
    const check = checkOf({ size: 6, sha256: '', sha1: 'ce013625030ba8dba906f756967f9e9ca394464a' });
    check.update(Buffer.from('hello\n'));
    assert.ok(check.holds());
});

const text = (words) => Buffer.from(words);
const gpt2 = (more = {}) => ({
    '.gitattributes': text('x'), 'README.md': text('# x'), 'config.json': text('{"model_type":"gpt2"}'), 'merges.txt': text('a b'), 'model.safetensors': randomBytes(100000),
    'onnx/model.safetensors': text('no'), 'pytorch_model.bin': text('no'), 'tokenizer.json': text('{}'), 'tokenizer_config.json': text('{}'), 'vocab.json': text('{}'), ...more,
});

/** @type {TestHub[]} */
const hubs = [];
after(() => hubs.forEach((hub) => hub.unplug()));

async function hubWith(files, more) {
    const there = await new TestHub().open();
    hubs.push(there);
    const commit = there.put('org/name', files, more);
    return { there, commit, hub: new Hub(there.address) };
}

test('a repository is listed page by page, and what belongs to the model is chosen', async () => {
    const { there, commit, hub } = await hubWith(gpt2(), { info: { cardData: { license: 'apache-2.0' } } });
    const repository = await hub.lookUp(placeOf('org/name'));
    assert.deepEqual([repository.commit, repository.licence, repository.gated, repository.files.length], [commit, 'apache-2.0', false, 10]);
    assert.ok(there.log.filter(({ path }) => path.includes('/tree/')).length > 2, 'in pages');
    const [choice, ...others] = await choicesOf(hub, repository);
    assert.deepEqual(choice.files.map(({ path }) => path), ['config.json', 'tokenizer.json', 'tokenizer_config.json', 'model.safetensors']);
    assert.deepEqual(others, []);
    assert.ok(there.log.every(({ host }) => host !== there.bytesHost), 'no byte of the weights');
    assert.deepEqual([...new Set(there.log.map(({ cookie, referrer }) => cookie + referrer))], ['']);
});

test('licences are told as the repository names them', async () => {
    for (const [info, licence] of /** @type {const} */ ([[{}, 'mit'], [{ tags: [] }, ''], [{ cardData: { license: ['mit', 'bsd'] } }, 'mit, bsd'], [{ cardData: { license: 'other', license_name: 'gemma' } }, 'gemma']])) {
        const { hub } = await hubWith(gpt2(), { info });
        assert.equal((await hub.lookUp(placeOf('org/name'))).licence, licence);
    }
});

test('shards come with their index; of .gguf files a person chooses one, with all of its parts', async () => {
    const shard = (i) => `model-0000${i}-of-00002.safetensors`;
    const { hub } = await hubWith({
        'config.json': text('{}'), 'vocab.txt': text('a'), 'model.safetensors.index.json': text(JSON.stringify({ weight_map: { a: shard(1), b: shard(2), c: shard(1) } })),
        [shard(1)]: randomBytes(10), [shard(2)]: randomBytes(20), 'q/x-00002-of-00002.gguf': randomBytes(7), 'q/x-00001-of-00002.gguf': randomBytes(9),
        'y.Q8_0.gguf': randomBytes(30), 'y.Q4_0.gguf': randomBytes(15), 'z-00001-of-00003.gguf': randomBytes(1), 'mmproj-y.gguf': randomBytes(2),
    });
    const choices = await choicesOf(hub, await hub.lookUp(placeOf('org/name')));
    assert.deepEqual(choices.map(({ file, files }) => [file, ...files.map(({ path }) => path)]), [
        ['', 'config.json', 'vocab.txt', 'model.safetensors.index.json', shard(1), shard(2)],
        ['y.Q4_0.gguf', 'y.Q4_0.gguf'], ['q/x-00001-of-00002.gguf', 'q/x-00001-of-00002.gguf', 'q/x-00002-of-00002.gguf'], ['y.Q8_0.gguf', 'y.Q8_0.gguf'],
    ]);
    assert.equal(sizeOf(choices[2].files), 16);
    assert.equal(tooLarge(choices[0]), null);
    const [choice] = choices;
    const ofSize = (size) => ({ ...choice, weights: [{ ...choice.weights[0], size }], files: [{ ...choice.weights[0], size }] });
    assert.deepEqual([1e9, 5e9, 12e9].map((size) => onlyRounded(ofSize(size))), [false, true, false]);
    assert.equal(tooLarge(ofSize(5e9)), null);
    assert.match(tooLarge(ofSize(12e9)), /12 GB; a browser tab can hold/);
});

test('a repository without weights that open here says what it lacks', async () => {
    const without = (...names) => Object.fromEntries(Object.entries(gpt2()).filter(([name]) => !names.includes(name)));
    const refused = async (files, says) => {
        const { hub } = await hubWith(files);
        await assert.rejects(async () => choicesOf(hub, await hub.lookUp(placeOf('org/name'))), says);
    };
    await refused(without('model.safetensors', 'onnx/model.safetensors'), /^Error: org\/name has its weights as pytorch_model\.bin alone, .*\.$/);
    await refused(without('model.safetensors', 'onnx/model.safetensors', 'pytorch_model.bin'), /^Error: org\/name holds no weights that open here, .*\.$/);
    await refused(without('config.json'), /no config\.json/);
    await refused(without('tokenizer.json', 'vocab.json'), /no tokenizer\.json/);
    await refused({ ...without('model.safetensors'), 'model.safetensors.index.json': text('{"weight_map":{"a":"m.safetensors"}}') }, /names m\.safetensors, which the repository does not have/);
});

test('refusals of the hub are one sentence each', async () => {
    const { there, hub } = await hubWith(gpt2());
    const says = (place, pattern) => assert.rejects(hub.lookUp(placeOf(place)), (error) => error instanceof HubError && pattern.test(error.message) && /^[^\n]{20,200}\.$/.test(error.message));
    await says('org/name@nowhere', /org\/name has no revision nowhere/);
    await says('org/other', /shows no model org\/other to everybody/);
    there.fault = () => ({ status: 404, headers: { 'X-Error-Code': 'RepoNotFound' } });
    await says('org/name', /^There is no model org\/name at 127/);
    there.fault = () => ({ status: 429, headers: { 'Retry-After': '180' } });
    await says('org/name', /asked too often: try again in 3 minutes\.$/);
    there.fault = () => ({ status: 429 });
    await says('org/name', /try again in a few minutes\.$/);
    there.fault = () => ({ status: 503 });
    await says('org/name', /answered 503 for org\/name: try again later\.$/);
    await assert.rejects(new Hub('http://127.0.0.1:9').lookUp(placeOf('org/name')), /127\.0\.0\.1:9 could not be reached: check the connection/);
});

test('a listing that goes on elsewhere is not followed', async () => {
    const { there, hub } = await hubWith(gpt2());
    const { address } = there;
    there.address = `http://${there.bytesHost}`;  // the Link header then names it
    await assert.rejects(hub.lookUp(placeOf('org/name')), /sends its listing on to another place/);
    there.address = address;
});

async function weightsOf(hub) {
    const repository = await hub.lookUp(placeOf('org/name'));
    return { repository, file: repository.files.find(({ path }) => path === 'model.safetensors') };
}

async function gathered(bytes) {
    const all = [];
    for await (const chunk of bytes) {
        all.push(Buffer.from(chunk));
    }
    return Buffer.concat(all);
}

const calmly = () => ({ valve: new Valve(), onWait: () => {} });

// They spend most of their time waiting.
describe('bytes arrive', { concurrency: true }, () => {
    test('cut at ten bytes, it goes on where it was and arrives as it is', async () => {
        const files = gpt2(), below = numbers(2026);
        const { there, hub } = await hubWith(files);
        const { repository, file } = await weightsOf(hub);
        const cuts = Array.from({ length: 10 }, () => below(file.size)).sort((a, b) => a - b);
        const left = [...cuts];
        there.fault = ({ kind, from }) => (kind === 'bytes' && left.length ? { cut: left.shift() - from } : undefined);
        const bytes = await gathered(arriving(hub, repository, file, calmly()));
        assert.ok(bytes.equals(files['model.safetensors']));
        const asked = there.log.filter(({ host }) => host === there.bytesHost).map(({ range }) => Number(/\d+/.exec(range)?.[0] ?? 0));
        assert.equal(asked.length, 11);
        assert.deepEqual(asked, [...asked].sort((a, b) => a - b));
        assert.ok(asked.slice(1).every((from, i) => from <= cuts[i]), 'it asks for nothing twice that has arrived, and skips nothing');
    });

    test('a server without ranges sends all of it anew, of which the rest is taken', async () => {
        const files = gpt2();
        const { there, hub } = await hubWith(files);
        const { repository, file } = await weightsOf(hub);
        const bytes = await gathered(arriving(hub, repository, file, { ...calmly(), from: 70000 }));
        assert.ok(bytes.equals(files['model.safetensors'].subarray(70000)));
        there.fault = ({ kind }) => (kind === 'bytes' ? { whole: true } : undefined);
        assert.ok(bytes.equals(await gathered(arriving(hub, repository, file, { ...calmly(), from: 70000 }))));
    });

    test('429 and 5xx are waited for, as long as the hub says', async () => {
        const files = gpt2();
        const { there, hub } = await hubWith(files);
        const { repository, file } = await weightsOf(hub);
        const faults = [{ status: 429, headers: { 'Retry-After': '1' } }, { status: 503 }, { status: 500 }];
        there.fault = ({ kind }) => (kind === 'bytes' ? faults.shift() : undefined);
        const waits = [];
        const bytes = await gathered(arriving(hub, repository, file, { valve: new Valve(), onWait: (reason, wait) => waits.push(wait) }));
        assert.ok(bytes.equals(files['model.safetensors']));
        assert.deepEqual(waits, [1000, 1000, 2000], 'as the hub says, then twice as long from failure to failure');
        there.fault = () => ({ status: 429, headers: { 'Retry-After': '3600' } });
        await assert.rejects(gathered(arriving(hub, repository, file, calmly())), /try again in 60 minutes/);
    });

    test('sizes other than listed end it', async () => {
        const files = gpt2();
        const { there, hub } = await hubWith(files);
        const { repository, file } = await weightsOf(hub);
        const other = (bytes) => { there.fault = ({ kind }) => (kind === 'bytes' ? { bytes } : undefined); };
        other(Buffer.concat([files['model.safetensors'], text('more')]));
        await assert.rejects(gathered(arriving(hub, repository, file, calmly())), /model\.safetensors is longer than 127/);
        await assert.rejects(gathered(arriving(hub, repository, file, { ...calmly(), from: 10 })), /another size than 127/);
        other(files['model.safetensors'].subarray(0, 500));
        await assert.rejects(gathered(arriving(hub, repository, file, calmly())), /model\.safetensors of org\/name is shorter than 127/);
    });

    test('a file that is gone, and one that may not be read, are said', async () => {
        const { there, hub } = await hubWith(gpt2(), { token: 'hf_secret' });
        const { repository, file } = await weightsOf(hub);
        await assert.rejects(gathered(arriving(hub, repository, file, calmly())), (/** @type {any} */ error) => error.token && /^org\/name is gated: accept the terms/.test(error.message));
        there.fault = () => ({ status: 404, headers: { 'X-Error-Code': 'EntryNotFound' } });
        await assert.rejects(gathered(arriving(hub, repository, file, calmly())), /model\.safetensors of org\/name is no longer at/);
    });

    test('paused it stands still, goes on where it was, and ended it is over', async () => {
        const files = gpt2();
        const { there, hub } = await hubWith(files);
        const { repository, file } = await weightsOf(hub);
        there.fault = ({ kind, from }) => (kind === 'bytes' && from === 0 ? { hold: 40000 } : undefined);
        const valve = new Valve(), all = [];
        for await (const chunk of arriving(hub, repository, file, { valve, onWait: () => assert.fail('a pause is no failure') })) {
            all.push(Buffer.from(chunk));
            if (Buffer.concat(all).length === 40000) {
                valve.pause();
                setTimeout(() => valve.resume(), 50);
            }
        }
        assert.ok(Buffer.concat(all).equals(files['model.safetensors']));
        const ended = new Valve();
        setTimeout(() => ended.end(), 50);
        await assert.rejects(gathered(arriving(hub, repository, file, { valve: ended, onWait: () => {} })), Cancelled);
    });
});

test('how far it is, in bytes, speed and time', () => {
    assert.equal(howFar({ arrived: 120e6, total: 551e6, speed: 0, left: Infinity }), '120 MB of 551 MB');
    assert.equal(howFar({ arrived: 120e6, total: 551e6, speed: 12e6, left: 35.9 }), '120 MB of 551 MB · 12 MB/s · 36 s left');
    assert.equal(howFar({ arrived: 1e6, total: 1.5e9, speed: 1e6, left: 1499 }), '1.0 MB of 1.5 GB · 1.0 MB/s · 25 min left');
    assert.equal(howFar({ arrived: 1e6, total: 1.5e9, speed: 1e5, left: 14990 }), '1.0 MB of 1.5 GB · 100 kB/s · 5 h left');
});

test('the models to begin with are named as the hub names them, the smallest first', () => {
    for (const { name } of firstModels) {
        assert.deepEqual(placeOf(name), { repository: name, revision: '', file: '' });
    }
    assert.deepEqual(firstModels.map(({ size }) => size), firstModels.map(({ size }) => size).sort((a, b) => a - b));
});

test('a revision is typed and shown as it is, with its slashes', () => {
    for (const typed of ['a/b@refs/pr/1', 'a/b@refs/convert/parquet', 'a/b@feature/long/name', 'a/b@refs/pr/1/q4/x.gguf', 'a/b@v1', 'gpt2@refs/pr/12']) {
        const place = placeOf(typed);
        assert.equal(typedNameOf(place), typed);
        assert.equal(shownNameOf(place), typed);
        assert.deepEqual(placeOfLink(linkOf(place)), place);
    }
    assert.deepEqual(placeOf('a/b@refs/pr/1'), { repository: 'a/b', revision: 'refs/pr/1', file: '' });
    assert.deepEqual(placeOf('a/b@feature/long/name'), { repository: 'a/b', revision: 'feature/long/name', file: '' });
    assert.throws(() => placeOf('a/b@feature/../x'), /is no name of a model/);
});

// A server that gives this answer to every look-up, from the n-th request on.
async function answering(answer, first = 0) {
    let asked = 0;
    const server = createServer((request, response) => {
        if (asked++ < first) {
            response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify({ id: 'org/name', sha: 'a'.repeat(40) }));
        } else {
            answer(response);
        }
    });
    await new Promise((resolve) => { server.listen(0, '127.0.0.1', () => resolve(undefined)); });
    server.unref();
    after(() => server.closeAllConnections());
    const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
    return new Hub(`http://127.0.0.1:${port}`, { stall: 300 });
}

test('a look-up that answers nonsense or nothing is one sentence, and may be tried again', async () => {
    const words = (body) => (response) => response.writeHead(200).end(body);
    const nonsense = ['', 'null', '[]', '7', '"x"', '{', '<html>', '{}', '{"sha":7}', '\u0000'].map(words);
    const nothing = [
        (response) => response.destroy(),
        () => {},  // never
        (response) => { response.writeHead(200).write('{"id":'); },  // sends no more
        (response) => { response.writeHead(200, { 'Content-Length': 100 }).write('{'); response.destroy(); },
    ];
    for (const [i, answer] of [...nonsense, ...nothing].entries()) {
        const hub = await answering(answer);
        await assert.rejects(hub.lookUp(placeOf('org/name')), (/** @type {any} */ error) => error instanceof HubError && error.passing && /^[^\n]{20,200}\.$/.test(error.message), `answer ${i}`);
    }
    for (const [i, answer] of [...['', 'null', '{}', '"x"', '[', '<html>'].map(words), ...nothing].entries()) {
        const hub = await answering(answer, 1);
        await assert.rejects(hub.lookUp(placeOf('org/name')), (/** @type {any} */ error) => error instanceof HubError && error.passing && /^[^\n]{20,200}\.$/.test(error.message), `listing ${i}`);
    }
    const odd = await answering(words('[null,7,{"type":"file"},{"type":"file","path":"a","size":-1},{"type":"file","path":"b","size":"7","oid":1}]'), 1);
    assert.deepEqual((await odd.lookUp(placeOf('org/name'))).files, []);
});

test('a connection that brings no byte for long is told, given up and tried again', async () => {
    const files = gpt2();
    const { there, commit } = await hubWith(files);
    const hub = new Hub(there.address, { stall: 300 });
    const { repository, file } = await weightsOf(hub);
    const holds = [{ hold: 0 }, { hold: 30000 }];
    there.fault = ({ kind }) => (kind === 'bytes' ? holds.shift() : undefined);
    const told = [];
    const bytes = await gathered(arriving(hub, repository, file, { valve: new Valve(), onWait: (reason) => told.push(reason) }));
    assert.ok(bytes.equals(files['model.safetensors']));
    assert.equal(told.length, 2);
    assert.match(told[0], /^127\.0\.0\.1:\d+ has sent nothing of model\.safetensors for 1 seconds: check the connection, then try again\.$/);
    assert.deepEqual(there.log.filter(({ host }) => host === there.bytesHost).map(({ range }) => range), ['', '', 'bytes=30000-']);
    assert.equal(repository.commit, commit);
});

test('only the hub says that a model is gated; where bytes are kept, a refusal passes', async () => {
    const files = gpt2();
    const { there, hub } = await hubWith(files);
    const { repository, file } = await weightsOf(hub);
    const denied = [{ status: 403 }, { status: 401 }];
    there.fault = ({ kind }) => (kind === 'bytes' ? denied.shift() : undefined);
    const told = [];
    assert.ok(files['model.safetensors'].equals(await gathered(arriving(hub, repository, file, { valve: new Valve(), onWait: (reason) => told.push(reason) }))));
    assert.match(told[0], /^127\.0\.0\.1:\d+, which keeps model\.safetensors for 127\.0\.0\.1:\d+, does not hand it out \(403\): try again later\.$/);
    const says = async (status, headers, pattern, token) => {
        there.fault = ({ kind }) => (kind === 'file' ? { status, headers } : undefined);
        await assert.rejects(hub.get(repository, file), (/** @type {any} */ error) => pattern.test(error.message) && error.token === token);
    };
    await says(403, { 'X-Error-Code': 'GatedRepo' }, /is gated/, true);
    await says(401, { 'X-Error-Message': 'Access to model org/name is restricted. You must have access to it and be authenticated.' }, /is gated/, true);
    await says(403, {}, /refuses model\.safetensors \(403\): try again later, or from another network\.$/, false);
    await says(401, { 'X-Error-Code': 'RepoNotFound' }, /shows no model org\/name to everybody/, true);
});
