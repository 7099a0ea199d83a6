// Tests every part of a tokenizer.json with each of its options: the results of Hugging Face's tokenizers,
// from their documentation and their own tests, or a refusal that names it.
import assert from 'node:assert/strict';
import test from 'node:test';
import { Tokenizer } from '../../../web/shell/node_modules/@huggingface/tokenizers/dist/tokenizers.min.mjs';
import { inBytes } from '../../../web/shell/divide.js';
import { createTokenizer } from '../../../web/shell/tokenizer.js';

const create = (parts, files = {}, size = undefined) => createTokenizer({ 'tokenizer.json': JSON.stringify(parts), ...files }, Tokenizer, size);
const refused = (parts, what, files = {}) => assert.throws(() => create(parts, files), ({ message }) => message.includes(what) && /\.$/.test(message), what);

// A vocabulary that contains all of these words.
const words = (...all) => ({ type: 'WordLevel', unk_token: '?', vocab: Object.fromEntries(['?', ...new Set(all.filter((word) => word !== '?'))].map((word, id) => [word, id])) });
const tokensOf = (tokenizer, text, options) => Array.from(tokenizer.encode(text, options).ids, (id) => tokenizer.idToToken(id));

/** Expects a text to be divided like this. */
function divides(pre_tokenizer, text, pieces) {
    const tokenizer = create({ pre_tokenizer, model: words(...pieces) });
    assert.deepEqual(tokensOf(tokenizer, text), pieces, JSON.stringify(pre_tokenizer));
}

/** Expects a normalizer to make this of a text. */
function becomes(normalizer, text, made) {
    assert.deepEqual(tokensOf(create({ normalizer, model: words(made) }), text), made === '' ? [] : [made], JSON.stringify(normalizer));
}

test('the five behaviours of Split, by a text and by an expression, and inverted', () => {
    const want = {
        Removed: ['the', 'final', 'countdown'],
        Isolated: ['the', '-', 'final', '-', '-', 'countdown'],
        MergedWithPrevious: ['the-', 'final-', '-', 'countdown'],
        MergedWithNext: ['the', '-final', '-', '-countdown'],
        Contiguous: ['the', '-', 'final', '--', 'countdown'],
    };
    for (const [behavior, pieces] of Object.entries(want)) {
        for (const pattern of [{ String: '-' }, { Regex: '-' }]) {
            divides({ type: 'Split', pattern, behavior, invert: false }, 'the-final--countdown', pieces);
        }
    }
    const inverted = {
        Removed: want.Removed,
        Isolated: want.Contiguous,
        MergedWithPrevious: ['the-', 'final--', 'countdown'],
        MergedWithNext: ['the', '-final', '--countdown'],
        Contiguous: want.Contiguous,
    };
    for (const [behavior, pieces] of Object.entries(inverted)) {
        divides({ type: 'Split', pattern: { Regex: '[^-]+' }, behavior, invert: true }, 'the-final--countdown', pieces);
    }
    divides({ type: 'Split', pattern: { Regex: '\\w+' }, behavior: 'Removed', invert: true }, 'für über!', ['für', 'über']);
    divides({ type: 'Split', pattern: { String: '.' }, behavior: 'Isolated', invert: false }, 'a.b', ['a', '.', 'b']);
    divides({ type: 'Split', pattern: { String: '$&' }, behavior: 'MergedWithPrevious', invert: false }, 'a$&b', ['a$&', 'b']);
    refused({ pre_tokenizer: { type: 'Split', pattern: { String: '-' }, behavior: 'Doubled', invert: false }, model: words('a') }, "'Doubled'");
    refused({ pre_tokenizer: { type: 'Split', pattern: { String: '-' }, invert: false }, model: words('a') }, 'behaviour');
    refused({ pre_tokenizer: { type: 'Split', pattern: { Glob: '-' }, behavior: 'Isolated' }, model: words('a') }, 'neither a String nor a Regex');
});

test('expressions that take without giving back are right or refused', () => {
    const split = (Regex) => ({ type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false });
    divides(split("'(?i:[sdmt]|ll|ve|re)|[^\\r\\n\\p{L}\\p{N}]?+\\p{L}++|\\p{N}{1,3}+| ?[^\\s\\p{L}\\p{N}]++[\\r\\n]*+|\\s*[\\r\\n]|\\s+(?!\\S)|\\s"),
        "It's 12345 a-b", ['It', "'s", ' ', '12345', ' a', '-b']);
    divides(split('[!?+*]|a'), '?+a', ['?', '+', 'a']);
    refused({ pre_tokenizer: split('\\s++$|\\s'), model: words('a') }, '\\s++$');
    refused({ pre_tokenizer: split('(?>a+)b'), model: words('a') }, '(?>a+)b');
});

// These are in the files of DeepSeek V3, GPT-4o, Llama 3, Phi-4, Bloom and StarCoder 2.
test('published expressions are taken', () => {
    const expressions = [
        String.raw`[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_${'`'}{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
        String.raw`[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
        String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`,
        String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+`,
        String.raw` ?[^(\s|[.,!?…。，、।۔،])]+`,
        String.raw`\p{N}`,
    ];
    for (const Regex of expressions) {
        const tokenizer = create({ pre_tokenizer: { type: 'Split', pattern: { Regex }, behavior: 'Isolated', invert: false }, model: words('a') });
        const text = "It's 1234 – größer (als) 日本語!\r\n\n  x++ ";
        assert.ok(tokenizer.encode(text).ids.length > 3, Regex);
        assert.equal(tokenizer.encode(text).fault, null);
    }
});

test('Digits are all numbers of Unicode', () => {
    divides({ type: 'Digits', individual_digits: true }, 'a 1½x٣٤Ⅷ', ['a ', '1', '½', 'x', '٣', '٤', 'Ⅷ']);
    divides({ type: 'Digits', individual_digits: false }, 'a 1½x٣٤Ⅷ', ['a ', '1½', 'x', '٣٤Ⅷ']);
    divides({ type: 'Digits' }, '12a', ['12', 'a']);
});

test('Punctuation stands alone unless its behaviour says otherwise', () => {
    divides({ type: 'Punctuation' }, 'a?!b', ['a', '?', '!', 'b']);
    divides({ type: 'Punctuation', behavior: 'Isolated' }, 'a$+b…', ['a', '$', '+', 'b', '…']);
    divides({ type: 'Punctuation', behavior: 'Contiguous' }, 'a?!b', ['a', '?!', 'b']);
    divides({ type: 'Punctuation', behavior: 'Removed' }, 'a?!b', ['a', 'b']);
    divides({ type: 'Punctuation', behavior: 'MergedWithPrevious' }, 'a?!b', ['a?', '!', 'b']);
    divides({ type: 'Punctuation', behavior: 'MergedWithNext' }, 'a?!b', ['a', '?', '!b']);
    divides({ type: 'Punctuation' }, 'a€b', ['a€b']);  // a symbol beyond ASCII is not punctuation
    refused({ pre_tokenizer: { type: 'Punctuation', behavior: 'Alone' }, model: words('a') }, "'Alone'");
});

test('the other pre-tokenizers', () => {
    divides({ type: 'Whitespace' }, "Hey, wie\u0085geht's?! e\u0301_1", ['Hey', ',', 'wie', 'geht', "'", 's', '?!', 'e\u0301_1']);
    divides({ type: 'WhitespaceSplit' }, ' a,\u3000b\u0085c\ufeffd\n', ['a,', 'b', 'c\ufeffd']);
    divides({ type: 'BertPreTokenizer' }, "Hey?! I\u00a0can't", ['Hey', '?', '!', 'I', 'can', "'", 't']);
    divides({ type: 'CharDelimiterSplit', delimiter: '.' }, 'a.b..c', ['a', 'b', 'c']);
    divides({ type: 'FixedLength', length: 2 }, 'a😀b\nc', ['a😀', 'b\n', 'c']);
    divides({ type: 'FixedLength' }, 'abcdefg', ['abcde', 'fg']);
    divides({ type: 'ByteLevel', use_regex: true }, "a  b's", [...['a', ' ', ' b', "'s"].map(inBytes)]);
    divides({ type: 'ByteLevel', add_prefix_space: true }, 'a b', ['Ġa', 'Ġb']);
    divides({ type: 'ByteLevel', add_prefix_space: true, use_regex: false }, 'a é', [inBytes(' a é')]);
    divides({ type: 'ByteLevel' }, 'a \u0085b\ufeff.', ['a', inBytes(' '), inBytes('\u0085'), 'b', inBytes('\ufeff.')]);
    divides({ type: 'Sequence', pretokenizers: [{ type: 'WhitespaceSplit' }, { type: 'Digits', individual_digits: true }, { type: 'Metaspace', prepend_scheme: 'first' }] },
        'a1 b', ['▁a', '1', 'b']);
    for (const type of ['UnicodeScripts', 'Replace', 'Runes']) {
        refused({ pre_tokenizer: { type: 'Sequence', pretokenizers: [{ type }] }, model: words('a') }, `'${type}'`);
    }
    refused({ pre_tokenizer: { type: 'FixedLength', length: 0 }, model: words('a') }, 'FixedLength');
});

test('Metaspace divides before each blank, and puts one first', () => {
    divides({ type: 'Metaspace', replacement: '▁' }, 'a b  c', ['▁a', '▁b', '▁', '▁c']);
    divides({ type: 'Metaspace', replacement: '_', split: false }, ' a b', ['_a_b']);
    divides({ type: 'Metaspace', prepend_scheme: 'never' }, 'a b', ['a', '▁b']);
    divides({ type: 'Metaspace', add_prefix_space: false }, 'a b', ['a', '▁b']);
    refused({ pre_tokenizer: { type: 'Metaspace', prepend_scheme: 'last' }, model: words('a') }, "'last'");
    const parts = (prepend_scheme) => ({ added_tokens: [{ id: 9, content: '<s>', special: true, normalized: false }], pre_tokenizer: { type: 'Metaspace', prepend_scheme }, model: words('▁a', 'a') });
    assert.deepEqual(tokensOf(create(parts('always')), 'a<s>a'), ['▁a', '<s>', '▁a']);
    assert.deepEqual(tokensOf(create(parts('first')), 'a<s>a'), ['▁a', '<s>', 'a']);
    assert.deepEqual(tokensOf(create(parts('first')), '<s>a'), ['<s>', 'a']);
});

test('normalizers', () => {
    const bert = (more = {}) => ({ type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true, ...more });
    becomes(bert(), 'Ürsula\tΟΔΟΣ\u0000\u200d\ufffd', 'ursula οδοσ');
    becomes(bert(), 'a𠀀b\u{2b820}\u{2ceaf}', 'a 𠀀 b \u{2b820}  \u{2ceaf} ');
    becomes(bert({ lowercase: false }), 'Ürs', 'Ürs');
    becomes(bert({ lowercase: false, strip_accents: true }), 'Ürs', 'Urs');
    becomes(bert({ strip_accents: false }), 'Ürs', 'ürs');
    becomes(bert({ handle_chinese_chars: false }), '田a', '田a');
    becomes(bert({ clean_text: false }), 'a\u200db', 'a\u200db');
    becomes({ type: 'Lowercase' }, 'ÄΣ ΟΔΟΣ', 'äσ οδοσ');
    becomes({ type: 'StripAccents' }, 'e\u0301a\u0903', 'ea');
    becomes({ type: 'Strip', strip_left: true, strip_right: true }, '\u0085 a b\n', 'a b');
    becomes({ type: 'Strip', strip_left: true, strip_right: false }, ' a ', 'a ');
    becomes({ type: 'Strip', strip_left: false, strip_right: true }, ' a \u3000', ' a');
    becomes({ type: 'Prepend', prepend: '▁' }, 'a', '▁a');
    becomes({ type: 'Prepend', prepend: '▁' }, '', '');
    becomes({ type: 'Replace', pattern: { String: '.' }, content: '$&' }, 'a.b', 'a$&b');
    becomes({ type: 'Replace', pattern: { Regex: ' {2,}' }, content: ' ' }, 'a   b', 'a b');
    becomes({ type: 'Nmt' }, 'a\u0001\u200bb\tc\u00a0', 'a b c\u00a0');
    becomes({ type: 'ByteLevel' }, 'é a', inBytes('é a'));
    for (const [type, made] of Object.entries({ NFC: 'é', NFD: 'e\u0301', NFKC: 'éfi', NFKD: 'e\u0301fi' })) {
        becomes({ type }, type.includes('K') ? 'e\u0301ﬁ' : type === 'NFC' ? 'e\u0301' : 'é', made);
    }
    becomes({ type: 'Sequence', normalizers: [{ type: 'NFD' }, { type: 'StripAccents' }, { type: 'Lowercase' }] }, 'ÉA', 'ea');
    refused({ normalizer: { type: 'Sequence', normalizers: [{ type: 'Reverse' }] }, model: words('a') }, "'Reverse'");
});

// Builds a double array in which every node has 256 places of its own.
function charsmap(entries) {
    const units = new Map();
    let replacements = '', bases = 1;
    const root = { children: new Map(), base: 256 };
    for (const [key, value] of Object.entries(entries)) {
        let node = root;
        for (const byte of new TextEncoder().encode(key)) {
            if (!node.children.has(byte)) {
                node.children.set(byte, { children: new Map(), base: 256 * ++bases });
            }
            node = node.children.get(byte);
        }
        node.value = new TextEncoder().encode(replacements).length;
        replacements += `${value}\0`;
    }
    const place = (node, at, label) => {
        units.set(at, ((at ^ node.base) << 10) | (node.value === undefined ? 0 : 0x100) | label);
        if (node.value !== undefined) {
            units.set(node.base, 0x80000000 | node.value);
        }
        for (const [byte, child] of node.children) {
            place(child, node.base ^ byte, byte);
        }
    };
    place(root, 0, 0);
    const size = 4 * 256 * (bases + 1);
    const bytes = Buffer.alloc(4 + size);
    bytes.writeUInt32LE(size);
    for (const [at, unit] of units) {
        bytes.writeUInt32LE(unit >>> 0, 4 + 4 * at);
    }
    return Buffer.concat([bytes, Buffer.from(replacements)]).toString('base64');
}

test('a table of characters is read as SentencePiece compiled it', () => {
    const precompiled_charsmap = charsmap({ 'ﬁ': 'fi', '\t': ' ', 'e\u0301': 'é', 'Å': 'Å', '\u200d': '', '①': '1' });
    const part = { type: 'Precompiled', precompiled_charsmap };
    becomes(part, 'ﬁn\te\u0301 Å①~～', 'fin é Å1~～');
    becomes(part, 'a\u200db', 'ab');
    becomes({ type: 'Precompiled', precompiled_charsmap: null }, 'ﬁ', 'ﬁ');
    refused({ normalizer: { type: 'Precompiled', precompiled_charsmap: '!' }, model: words('a') }, 'base64');
    refused({ normalizer: { type: 'Precompiled', precompiled_charsmap: '/////w==' }, model: words('a') }, 'cut off');
});

test('added tokens count where their flags say so', () => {
    const token = (content, more = {}) => ({ id: 20, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...more });
    const whole = (added, text, pieces, more = {}) => {
        const tokenizer = create({ added_tokens: added.map((each, i) => ({ ...each, id: 20 + i })), model: words(...pieces.filter((piece) => !added.some(({ content }) => content === piece))), ...more });
        assert.deepEqual(tokensOf(tokenizer, text), pieces, `${JSON.stringify(added)} in ${text}`);
    };
    whole([token('<m>', { single_word: true })], 'a <m>', ['a ', '<m>']);
    whole([token('<m>', { single_word: true })], 'A<m> b', ['A<m> b']);
    whole([token('<m>', { single_word: true })], '<m>é<m>-<m>', ['<m>é<m>-', '<m>']);
    whole([token('<m>', { lstrip: true })], 'a  <m> b', ['a', '<m>', ' b']);
    whole([token('<m>', { lstrip: true })], ' <m> <m>', ['<m>', '<m>']);
    whole([token('<m>', { rstrip: true })], 'a <m> \n b', ['a ', '<m>', 'b']);
    whole([token('<m>', { lstrip: true, rstrip: true })], 'a <m> <m> b', ['a', '<m>', '<m>', 'b']);
    whole([token('<m>'), token('<m>more')], '<m>more<m>', ['<m>more', '<m>']);
    // Normalized tokens are searched for later, in the normalized text.
    whole([token('Day', { normalized: true, special: false }), token('[Day]')], 'a DAY [Day]', ['a ', 'Day', ' ', '[Day]'], { normalizer: { type: 'Lowercase' } });
    whole([token('ab-', { normalized: true, special: false }), token('-ba')], 'ab-ba', ['ab', '-ba']);
    whole([{ content: 'ab-', special: false }, token('-ba')], 'ab-ba', ['ab', '-ba']);
    const unflagged = create({ added_tokens: [{ id: 1, content: '<m>', special: true }], normalizer: { type: 'Lowercase' }, model: words('<m>', 'a') });
    assert.deepEqual(tokensOf(unflagged, 'a<m>'), ['a', '<m>']);
    // The vocabulary's id, and not part of a word.
    const tokenizer = create({ added_tokens: [token('##b', { id: 3 }), token('[U]', { id: 0 })], model: { type: 'WordPiece', unk_token: '[U]', vocab: { '[U]': 0, a: 1, '##c': 2 } } });
    assert.deepEqual([...tokenizer.encode('ab').ids], [0]);
    assert.deepEqual([...tokenizer.encode('ac').ids], [1, 2]);
});

test('models', () => {
    const bpe = (more = {}) => ({ type: 'BPE', vocab: { '<u>': 0, a: 1, b: 2, ab: 3, 'b</w>': 4, '<0xC3>': 5, '<0xA9>': 6, 'ab</w>': 7 }, merges: ['a b', 'a b</w>'], unk_token: '<u>', ...more });
    const ids = (model, text, more = {}) => [...create({ model, ...more }).encode(text).ids];
    assert.deepEqual(ids(bpe(), 'abxya'), [3, 0, 0, 1]);
    assert.deepEqual(ids(bpe({ fuse_unk: true }), 'abxya'), [3, 0, 1]);
    assert.deepEqual(ids(bpe({ fuse_unk: true }), 'x y', { pre_tokenizer: { type: 'WhitespaceSplit' } }), [0, 0], 'each piece on its own');
    assert.deepEqual(ids(bpe({ byte_fallback: true }), 'aéx'), [1, 5, 6, 0]);
    assert.deepEqual(ids(bpe({ end_of_word_suffix: '</w>' }), 'ab'), [7]);
    assert.deepEqual(ids(bpe({ merges: [], ignore_merges: true }), 'ab'), [3]);
    assert.deepEqual(ids(bpe({ merges: [['a', 'b']], type: undefined }), 'ab'), [3]);
    assert.deepEqual(ids(bpe({ unk_token: null }), 'axb'), [1, 2], 'a character without a token is dropped');
    refused({ model: bpe({ dropout: 0.1 }) }, '(dropout)');
    refused({ model: bpe({ continuing_subword_prefix: '##' }) }, '(continuing_subword_prefix)');
    refused({ model: { type: 'Markov', vocab: { a: 0 } } }, "'Markov'");
    const unigram = (more = {}) => ({ type: 'Unigram', unk_id: 0, vocab: [['<u>', 0], ['a', -1], ['b', -2], ['ab', -2.5], ['<0xC3>', -9], ['<0xA9>', -9]], ...more });
    assert.deepEqual(ids(unigram(), 'abxyé'), [3, 0]);
    assert.deepEqual(ids(unigram({ byte_fallback: true }), 'aéb'), [1, 4, 5, 2]);
    assert.deepEqual(ids(unigram({ byte_fallback: true }), 'axb'), [1, 0, 2]);
    assert.match(create({ model: unigram({ unk_id: null }) }).encode('ax').fault, /'x' has no token/);
    refused({ model: unigram({ alpha: 0.1 }) }, 'alpha');
    const wordPiece = (more = {}) => ({ type: 'WordPiece', unk_token: '[U]', vocab: { '[U]': 0, a: 1, '##b': 2, '@b': 3 }, ...more });
    assert.deepEqual(ids(wordPiece(), 'ab'), [1, 2]);
    assert.deepEqual(ids(wordPiece({ continuing_subword_prefix: '@' }), 'ab'), [1, 3]);
    assert.deepEqual(ids(wordPiece({ max_input_chars_per_word: 1 }), 'ab'), [0]);
});

test('tokens around a text', () => {
    const model = words('[C]', '[S]', 'a');
    const special = (token, ...ids) => ({ [token]: { id: token, ids, tokens: ids.map(() => token) } });
    const around = (post_processor, tokens) => {
        const tokenizer = create({ post_processor, model });
        assert.deepEqual(tokensOf(tokenizer, 'a'), tokens);
        assert.deepEqual(tokensOf(tokenizer, 'a', { special: false }), ['a']);
    };
    const item = (id) => ({ SpecialToken: { id, type_id: 0 } }), text = { Sequence: { id: 'A', type_id: 0 } };
    around({ type: 'BertProcessing', cls: ['[C]', 1], sep: ['[S]', 2] }, ['[C]', 'a', '[S]']);
    around({ type: 'RobertaProcessing', cls: ['[C]', 1], sep: ['[S]', 2] }, ['[C]', 'a', '[S]']);
    around({ type: 'ByteLevel' }, ['a']);
    around({ type: 'TemplateProcessing', single: [item('[C]'), text], special_tokens: special('[C]', 1) }, ['[C]', 'a']);
    around({ type: 'TemplateProcessing', single: [item('two'), text, item('two')], special_tokens: special('two', 1, 2) }, ['[C]', '[S]', 'a', '[C]', '[S]']);
    around({ type: 'Sequence', processors: [{ type: 'ByteLevel' }, { type: 'TemplateProcessing', single: [text, item('[S]')], special_tokens: special('[S]', 2) }] }, ['a', '[S]']);
    refused({ model, post_processor: { type: 'Wrap' } }, "'Wrap'");
    refused({ model, post_processor: { type: 'TemplateProcessing', single: [item('[X]'), text], special_tokens: {} } }, "'[X]'");
    refused({ model, post_processor: { type: 'TemplateProcessing', single: [text, text], special_tokens: {} } }, '2 times');
    refused({ model, post_processor: { type: 'BertProcessing' } }, "'cls'");
    refused({ model, version: '2.0' }, "'2.0'");
});

test('what tokenizer_config.json adds', () => {
    const with_ = (config, parts = {}, map = {}) => create({ model: words('<s>', '</s>', 'a', 'A', 'é', 'Ġa'), ...parts },
        { 'tokenizer_config.json': JSON.stringify(config), 'special_tokens_map.json': JSON.stringify(map) });
    const template = { type: 'TemplateProcessing', single: [{ Sequence: { id: 'A' } }, { SpecialToken: { id: '</s>' } }], special_tokens: { '</s>': { id: '</s>', ids: [2], tokens: ['</s>'] } } };
    for (const tokenizer_class of ['LlamaTokenizer', 'LlamaTokenizerFast', 'CodeLlamaTokenizerFast']) {
        assert.deepEqual(tokensOf(with_({ tokenizer_class }), 'a'), ['<s>', 'a'], 'its own token, as it begins with one by itself');
    }
    assert.deepEqual(tokensOf(with_({ tokenizer_class: 'LlamaTokenizerFast', add_bos_token: false, add_eos_token: true }), 'a'), ['a', '</s>']);
    assert.deepEqual(tokensOf(with_({ tokenizer_class: 'LlamaTokenizerFast', add_bos_token: false }, { post_processor: template }), 'a'), ['a'], 'the template is replaced');
    assert.deepEqual(tokensOf(with_({ tokenizer_class: 'GPTNeoXTokenizerFast' }, { post_processor: template }), 'a'), ['a']);
    assert.deepEqual(tokensOf(with_({ tokenizer_class: 'GemmaTokenizer', bos_token: { content: '<s>' } }), 'a'), ['<s>', 'a']);
    assert.deepEqual(tokensOf(with_({ tokenizer_class: 'GPTNeoXTokenizerFast', add_bos_token: true }, {}, { bos_token: '</s>' }), 'a'), ['</s>', 'a']);
    for (const tokenizer_class of ['PreTrainedTokenizerFast', 'Qwen2Tokenizer', 'GPT2Tokenizer', undefined]) {
        const ends = (more) => tokensOf(with_({ tokenizer_class, bos_token: '<s>', eos_token: '</s>', ...more }, { post_processor: template }), 'a');
        assert.deepEqual(ends({}), ['a', '</s>'], `${tokenizer_class} does not by itself`);
        assert.deepEqual(ends({ add_bos_token: true }), ['<s>', 'a'], 'but where it is told');
        assert.deepEqual(ends({ add_bos_token: false }), ['a']);
        assert.deepEqual(ends({ add_bos_token: true, add_eos_token: true }), ['<s>', 'a', '</s>']);
        assert.deepEqual(ends({ add_bos_token: true, bos_token: null }), ['a'], 'there is none to put there');
    }
    assert.throws(() => with_({ tokenizer_class: 'GemmaTokenizerFast' }), /puts '<bos>' around texts \(add_bos_token\), which tokenizer\.json does not have\.$/);
    const lower = { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true };
    assert.deepEqual(tokensOf(with_({ tokenizer_class: 'BertTokenizer', do_lower_case: false }, { normalizer: lower }), 'A'), ['A']);
    assert.deepEqual(tokensOf(with_({ tokenizer_class: 'DistilBertTokenizer', strip_accents: false }, { normalizer: lower }), 'É'), ['é']);
    assert.deepEqual(tokensOf(with_({ tokenizer_class: 'PreTrainedTokenizerFast', do_lower_case: false }, { normalizer: lower }), 'A'), ['a']);
    assert.deepEqual(tokensOf(with_({ tokenizer_class: 'GPT2Tokenizer', add_prefix_space: true }, { pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false } }), 'a'), ['Ġa']);
    // Tokens that only the other files name, or that have other flags there.
    assert.deepEqual(tokensOf(with_({ bos_token: '<s>' }), 'a<s>a'), ['a', '<s>', 'a']);
    assert.deepEqual(tokensOf(with_({ mask_token: { content: '<s>', lstrip: true } }), 'a <s>'), ['a', '<s>']);
    const flagged = { added_tokens_decoder: { 1: { content: '<s>', lstrip: true, rstrip: true, special: true, normalized: false } } };
    assert.deepEqual(tokensOf(with_(flagged, { added_tokens: [{ id: 1, content: '<s>', special: true, normalized: false }] }), 'a <s> a'), ['a', '<s>', 'a']);
});
