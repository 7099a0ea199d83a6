import assert from 'node:assert/strict';
import test from 'node:test';
import { ModelFiles, bytes, fitsRounded, isModelFile, isModelPart, listed, tokenizerTexts, unfit } from '../../../web/shell/model_files.js';

// A file's stated size may differ from its text's.
const file = (text = '{}', size = text.length) => ({ size, text: async () => text, stream: () => new Blob([text]).stream() });
const entries = (...paths) => paths.map((path) => ({ path, file: file(path) }));
const index = (...shards) => ({
    path: 'model.safetensors.index.json',
    file: file(JSON.stringify({ weight_map: Object.fromEntries(shards.map((shard, i) => [`w${i}`, shard])) })),
});
const hub = (folder) => entries(...['config.json', 'model.safetensors', 'tokenizer.json'].map((name) => `${folder}/${name}`));

test('a folder is a model, named after the folder; other files are named', async () => {
    const { model } = await new ModelFiles().add([...hub('a/tiny'), ...entries('a/tiny/LICENSE', 'a/tiny/fp16.safetensors', 'a/tiny/.gitattributes')]);
    assert.equal(model.name, 'tiny');
    assert.deepEqual(model.weights, ['model.safetensors']);
    assert.deepEqual(model.ignored, ['fp16.safetensors', 'LICENSE']);
    assert.equal(await model.files.get('config.json').text(), 'a/tiny/config.json');
});

test('scores.json belongs to a model, which is whole without it and never spoiled by it', async () => {
    const scored = [...hub('m'), { path: 'm/scores.json', file: file('', 0) }];
    const { model } = await new ModelFiles().add(scored);
    assert.ok(model.files.has('scores.json'));
    assert.deepEqual(model.ignored, []);
    assert.equal(unfit(model), null, 'an empty one too');
    assert.ok(isModelFile('scores.json') && !isModelPart('scores.json'));
});

test('loose files accumulate in any order until a model is complete', async () => {
    const files = new ModelFiles();
    assert.equal((await files.add(entries('config.json'))).waiting,
        'config.json is here; still needed: model.safetensors and tokenizer.json.');
    assert.equal((await files.add(entries('merges.txt'))).waiting,
        'config.json and merges.txt are here; still needed: model.safetensors and vocab.json.');
    assert.match((await files.add(entries('vocab.json'))).waiting, /still needed: model\.safetensors\.$/);
    const { model } = await files.add(entries('model.safetensors'));
    assert.equal(model.name, '');
    assert.match((await files.add(entries('vocab.txt'))).waiting, /^vocab\.txt is here/);
});

test('an index asks for its shards', async () => {
    const files = new ModelFiles();
    assert.match((await files.add(entries('model-00001-of-00002.safetensors', 'config.json', 'vocab.txt'))).waiting,
        /still needed: model\.safetensors\.index\.json\.$/);
    assert.match((await files.add([index('model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors')])).waiting,
        /still needed: model-00002-of-00002\.safetensors\.$/);
    const { model } = await files.add(entries('model-00002-of-00002.safetensors'));
    assert.deepEqual(model.weights, ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']);
});

test('an index that cannot be read is refused', async () => {
    await assert.rejects(new ModelFiles().add([{ path: 'model.safetensors.index.json', file: file('[') }]), /could not be read as an index/);
});

test('two models at once are refused, whole or in parts', async () => {
    await assert.rejects(new ModelFiles().add([...hub('a'), ...hub('b')]), /two models or more \(a and b\)/);
    await assert.rejects(new ModelFiles().add(entries('a/config.json', 'b/config.json')), /two models or more/);
});

test('one whole model among parts is taken', async () => {
    const { model } = await new ModelFiles().add([...hub('m'), ...entries('m/pooling/config.json')]);
    assert.equal(model.name, 'm');
});

test('a .gguf file is a model of its own; what lies beside it is not needed', async () => {
    const { model } = await new ModelFiles().add(entries('m/x.gguf', 'm/config.json', 'm/README.md'));
    assert.deepEqual([model.name, model.gguf, model.weights, model.ignored], ['x', true, ['x.gguf'], ['config.json', 'README.md']]);
    assert.ok(isModelPart('x.GGUF') && !isModelFile('x.gguf'), 'no tensors, and no part of a folder');
    assert.equal(unfit(model), null);
    assert.equal(unfit({ files: new Map([['x.gguf', file('', 0)]]), weights: ['x.gguf'] }), 'x.gguf is empty.');
    assert.match(unfit({ files: new Map([['x.gguf', file('', 5e9)]]), weights: ['x.gguf'] }), /^x\.gguf is 5\.0 GB/);
});

test('the parts of a split .gguf come in any order, and several models are refused', async () => {
    const part = (n, stem = 'm/x') => entries(`${stem}-0000${n}-of-00003.gguf`)[0];
    const files = new ModelFiles();
    assert.equal((await files.add([part(3), part(1)])).waiting,
        'x-00001-of-00003.gguf and x-00003-of-00003.gguf are here; still needed: x-00002-of-00003.gguf.');
    const { model } = await files.add([part(2)]);
    assert.deepEqual(model.weights, [1, 2, 3].map((n) => `x-0000${n}-of-00003.gguf`));
    assert.equal(model.name, 'x');
    assert.match((await files.add([part(2)])).waiting, /still needed: x-00001-of-00003\.gguf and x-00003/, 'those before are used up');
    assert.match((await files.add([part(1, 'm/y')])).waiting, /^y-00001-of-00003\.gguf is here/, 'of another model');
    await assert.rejects(files.add(entries('x.gguf', 'y.gguf')), /two models or more \(x and y\)/);
    assert.match((await files.add(entries('x-00001-of-99999.gguf'))).waiting, /and 9\d\d more\.$/, 'any count');
});

test('what is no part of a model is refused by name', async () => {
    await assert.rejects(new ModelFiles().add(entries('notes.md')), /^Error: notes\.md is not part of a model/);
    await assert.rejects(new ModelFiles().add([]), /no files/);
});

test('what older folders have in the place of a needed file is named, with what to do', async () => {
    const waiting = async (...names) => (await new ModelFiles().add(entries(...names.map((name) => `t5/${name}`)))).waiting;
    assert.equal(await waiting('config.json', 'model.safetensors', 'spiece.model'),
        'config.json and model.safetensors are here; still needed: tokenizer.json. Ignored: spiece.model. '
        + 'spiece.model is a SentencePiece file, which cannot be read here: '
        + "AutoTokenizer.from_pretrained('DIR').save_pretrained('DIR') of transformers writes a tokenizer.json beside it.");
    assert.match(await waiting('config.json', 'model.safetensors', 'tokenizer.model'), / tokenizer\.model is a SentencePiece file, /);
    const pickled = await waiting('config.json', 'tokenizer.json', 'spiece.model', 'pytorch_model.bin');
    assert.match(pickled, /still needed: model\.safetensors\..* pytorch_model\.bin holds weights as PyTorch pickles them, .* writes a model\.safetensors/);
    assert.doesNotMatch(pickled, /is a SentencePiece file/, 'tokenizer.json is there');
    const both = await waiting('config.json', 'tokenizer.model', 'pytorch_model-00001-of-00002.bin', 'pytorch_model-00002-of-00002.bin');
    assert.match(both, /tokenizer\.model is a .*pytorch_model-00001-of-00002\.bin holds/);
    assert.doesNotMatch(both, /pytorch_model-00002-of-00002\.bin holds/, 'once for all of its kind');
    assert.match(await waiting('config.json', 'vocab.txt', 'tf_model.h5'), /tf_model\.h5 holds weights in a form that cannot be read here/);
    await assert.rejects(new ModelFiles().add(entries('m/pytorch_model.bin')), /is not part of a model: .* pytorch_model\.bin holds weights/);
    const { model } = await new ModelFiles().add([...hub('m'), ...entries('m/pytorch_model.bin', 'm/spiece.model')]);
    assert.deepEqual(model.ignored, ['pytorch_model.bin', 'spiece.model']);
});

test('sizes are judged before anything is read', () => {
    const model = (size, json = 10) => ({
        files: new Map([['model.safetensors', file('', size)], ['tokenizer.json', file('', json)]]),
        weights: ['model.safetensors'],
    });
    assert.equal(unfit(model(1e9)), null);
    assert.equal(unfit(model(8e9)), 'model.safetensors is 8.0 GB; a browser tab can hold 1.7 GB: choose a smaller model.');
    assert.match(unfit(model(1e9, 3e8)), /^tokenizer\.json is 300 MB/);
    assert.equal(unfit(model(0)), 'model.safetensors is empty.');
});

test('what a tab holds in 8 bits alone is offered', () => {
    const sized = (name, size) => ({ files: new Map([[name, file('', size)]]), weights: [name] });
    assert.equal(fitsRounded(sized('model.safetensors', 1.6e9)), null, 'it fits as it is');
    assert.match(fitsRounded(sized('model.safetensors', 2.4e9)), /^model\.safetensors is 2\.4 GB; a browser tab can hold 1\.7 GB\. In 8 bits the model takes about 1\.3 GB,/);
    assert.equal(fitsRounded(sized('model.safetensors', 8e9)), null, 'not even then');
    assert.equal(fitsRounded(sized('x.gguf', 2.4e9)), null, 'a GGUF file stays as it lies');
});

test('the tokenizer gets its files and no others', async () => {
    const texts = await tokenizerTexts(new Map([['config.json', file()], ['vocab.txt', file('a\nb')]]));
    assert.deepEqual(texts, { 'vocab.txt': 'a\nb' });
});

test('words for lists and sizes', () => {
    assert.equal(listed(['a']), 'a');
    assert.equal(listed(['a', 'b', 'c']), 'a, b and c');
    assert.equal(listed(['a', 'b', 'c', 'd', 'e']), 'a, b, c and 2 more');
    assert.deepEqual([346744, 3750768, 548e6].map(bytes), ['347 kB', '3.8 MB', '548 MB']);
});
