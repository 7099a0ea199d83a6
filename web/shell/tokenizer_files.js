// From the files beside a model to the one description that the tokenizer library takes.

function parse(texts, name) {
    if (texts[name] === undefined) {
        return undefined;
    }
    try {
        return JSON.parse(texts[name]);
    } catch (error) {
        throw new Error(`${name} is not valid JSON: ${error.message}.`);
    }
}

const contentOf = (token) => (typeof token === 'string' ? token : token?.content);

// Special tokens from whichever file names them, as far as the vocabulary has them.
function addedTokens(vocab, config, map, usual) {
    const listed = Object.entries(config.added_tokens_decoder ?? {});
    if (listed.length > 0) {
        return listed.map(([id, token]) => ({ ...token, id: Number(id) }));
    }
    const named = [...Object.values(map).flat().map(contentOf), ...usual];
    return [...new Set(named)]
        .filter((content) => Object.hasOwn(vocab, content ?? ''))
        .map((content) => ({ id: vocab[content], content, special: true, normalized: false }));
}

// GPT-2's byte-level BPE.
function fromVocabAndMerges(vocab, merges, config, map) {
    return {
        added_tokens: addedTokens(vocab, config, map, ['<|endoftext|>']),
        normalizer: null,
        pre_tokenizer: { type: 'ByteLevel', add_prefix_space: config.add_prefix_space ?? false, use_regex: true },
        post_processor: null,
        decoder: { type: 'ByteLevel' },
        model: {
            type: 'BPE',
            vocab,
            merges: merges.split(/\r?\n/).filter((line, i) => line && !(i === 0 && line.startsWith('#version'))),
        },
    };
}

// BERT's WordPiece.
function fromVocabList(list, config, map) {
    const lines = list.split(/\r?\n/);
    if (lines.at(-1) === '') {
        lines.pop();
    }
    const vocab = Object.fromEntries(lines.map((piece, id) => [piece, id]));
    const [cls, sep, unk] = [['cls_token', '[CLS]'], ['sep_token', '[SEP]'], ['unk_token', '[UNK]']]
        .map(([key, usual]) => contentOf(config[key] ?? map[key]) ?? usual);
    const ends = [cls, sep].every((token) => Object.hasOwn(vocab, token));
    return {
        added_tokens: addedTokens(vocab, config, map, [unk, sep, '[PAD]', cls, '[MASK]']),
        normalizer: {
            type: 'BertNormalizer',
            clean_text: true,
            handle_chinese_chars: config.tokenize_chinese_chars ?? true,
            strip_accents: config.strip_accents ?? null,
            lowercase: config.do_lower_case ?? true,
        },
        pre_tokenizer: { type: 'BertPreTokenizer' },
        post_processor: ends
            ? { type: 'BertProcessing', cls: [cls, vocab[cls]], sep: [sep, vocab[sep]] }
            : null,
        decoder: { type: 'WordPiece', prefix: '##', cleanup: true },
        model: { type: 'WordPiece', vocab, unk_token: unk, continuing_subword_prefix: '##', max_input_chars_per_word: 100 },
    };
}

// The library's Whitespace knows ASCII words only; the format means Unicode words.
const unicodeWords = {
    type: 'Split',
    pattern: { Regex: '[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\u200c\u200d]+|[^\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\u200c\u200d\\s]+' },
    behavior: 'Removed',
    invert: true,
};

function withUnicodeWords(preTokenizer) {
    if (preTokenizer?.type === 'Sequence') {
        return { ...preTokenizer, pretokenizers: preTokenizer.pretokenizers.map(withUnicodeWords) };
    }
    return preTokenizer?.type === 'Whitespace' ? unicodeWords : preTokenizer;
}

// `texts` maps file names to contents. Throws an Error of one sentence.
export function describeTokenizer(texts) {
    const config = parse(texts, 'tokenizer_config.json') ?? {};
    const map = parse(texts, 'special_tokens_map.json') ?? {};
    let found = parse(texts, 'tokenizer.json');
    if (!found && texts['vocab.txt'] !== undefined) {
        found = fromVocabList(texts['vocab.txt'], config, map);
    }
    if (!found && texts['vocab.json'] !== undefined && texts['merges.txt'] !== undefined) {
        found = fromVocabAndMerges(parse(texts, 'vocab.json'), texts['merges.txt'], config, map);
    }
    if (!found) {
        throw new Error('There is no tokenizer: tokenizer.json, vocab.json with merges.txt, or vocab.txt is needed.');
    }
    if (!found.model?.vocab) {
        throw new Error('tokenizer.json holds no vocabulary.');
    }
    const absent = { added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null };
    const description = { ...absent, ...found, pre_tokenizer: withUnicodeWords(found.pre_tokenizer ?? null) };
    // A word-level model is told its unknown token through the configuration.
    const unknown = description.model.type === 'WordLevel' ? { unk_token: description.model.unk_token } : {};
    return { description, config: { ...config, ...unknown } };
}
