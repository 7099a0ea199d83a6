// Combines the files beside a model into the one description that the tokenizer library takes.

import { reasonOf } from './reason.js';
import { template } from './text_ends.js';
import { asTransformersReads, contentOf } from './tokenizer_classes.js';
import { checkedModel } from './tokenizer_model.js';

/**
 * @import { AddedToken } from './added_tokens.js'
 * @import { PreTokenizer } from './divide.js'
 * @import { NormalizerPart } from './normalize.js'
 * @import { PostProcessor } from './text_ends.js'
 * @import { Model, Vocabulary } from './tokenizer_model.js'
 */

/**
 * The contents of files by name.
 *
 * @typedef {Record<string, string>} Texts
 */

/**
 * A tokenizer.json, as far as it is read here.
 *
 * @typedef {object} Description
 * @property {Model} model
 * @property {AddedToken[]} added_tokens
 * @property {NormalizerPart | null} normalizer
 * @property {PreTokenizer | null} pre_tokenizer
 * @property {PostProcessor | null} post_processor
 * @property {Part | null} decoder
 *
 * @typedef {{type: string, decoders?: Part[]}} Part
 */

/**
 * A special token, by its text or in an object that has it.
 *
 * @typedef {string | Partial<AddedToken> | null | undefined} Special
 */

/**
 * A special_tokens_map.json, as far as it is read by name here; all of it is special.
 *
 * @typedef {object} SpecialMap
 * @property {Special} [bos_token]
 * @property {Special} [eos_token]
 * @property {Special} [unk_token]
 * @property {Special} [sep_token]
 * @property {Special} [pad_token]
 * @property {Special} [cls_token]
 * @property {Special} [mask_token]
 * @property {Special[]} [additional_special_tokens]
 */

/**
 * A tokenizer_config.json, as far as it is read here.
 *
 * @typedef {SpecialMap & ConfigKeys} Config
 *
 * @typedef {object} ConfigKeys
 * @property {Record<string, Partial<AddedToken>>} [added_tokens_decoder]
 * @property {string} [tokenizer_class]
 * @property {boolean} [add_bos_token]
 * @property {boolean} [add_eos_token]
 * @property {boolean} [add_prefix_space]
 * @property {boolean} [tokenize_chinese_chars]
 * @property {boolean | null} [strip_accents]
 * @property {boolean} [do_lower_case]
 */

/**
 * @param {Texts} texts
 * @param {string} name
 */
function parse(texts, name) {
    if (texts[name] === undefined) {
        return undefined;
    }
    try {
        return JSON.parse(texts[name]);
    } catch (error) {
        throw new Error(`${name} is not valid JSON: ${reasonOf(error)}.`);
    }
}

/**
 * The special tokens are in whichever file names them, and count only if the vocabulary has them.
 *
 * @param {Vocabulary} vocab
 * @param {Config} config
 * @param {SpecialMap} map
 * @param {string[]} usual
 */
function addedTokens(vocab, config, map, usual) {
    const listed = Object.entries(config.added_tokens_decoder ?? {});
    if (listed.length > 0) {
        return listed.map(([id, token]) => ({ ...token, id: Number(id) }));
    }
    const named = [...Object.values(map).flat().map(contentOf), ...usual];
    return [...new Set(named)].flatMap((content) => (content !== undefined && Object.hasOwn(vocab, content)
        ? [{ id: vocab[content], content, special: true, normalized: false }]
        : []));
}

/**
 * Returns the token that OPT's texts begin with; GPT-2's begin with none, though it has one.
 *
 * @param {Vocabulary} vocab
 * @param {Config} config
 * @param {SpecialMap} map
 */
function firstToken(vocab, config, map) {
    if (config.add_bos_token !== true) {
        return null;
    }
    const token = contentOf(config.bos_token ?? map.bos_token) ?? '<|endoftext|>';
    if (!Object.hasOwn(vocab, token)) {
        throw new Error(`tokenizer_config.json lets texts begin with '${token}' (add_bos_token), which vocab.json does not have.`);
    }
    return token;
}

/**
 * GPT-2's byte-level BPE.
 *
 * @param {Vocabulary} vocab
 * @param {string} merges
 * @param {Config} config
 * @param {SpecialMap} map
 */
function fromVocabAndMerges(vocab, merges, config, map) {
    // RoBERTa's vocabulary has a mask, and its texts have two additional tokens around them (Liu et al. 2019,
    // arXiv 1907.11692). OPT has that vocabulary too, but is read like GPT-2.
    const asGpt2 = config.tokenizer_class?.startsWith('GPT2') || config.add_bos_token !== undefined;
    const around = !asGpt2 && ['<mask>', '<s>', '</s>'].every((token) => Object.hasOwn(vocab, token));
    const first = firstToken(vocab, config, map);
    const added = addedTokens(vocab, config, map, ['<|endoftext|>', ...first ? [first] : [], ...around ? ['<s>', '</s>', '<pad>', '<unk>', '<mask>'] : []]);
    return {
        added_tokens: added.map((token) => (token.id === vocab['<mask>'] ? { ...token, lstrip: true } : token)),
        normalizer: null,
        pre_tokenizer: { type: 'ByteLevel', add_prefix_space: config.add_prefix_space ?? false, use_regex: true },
        post_processor: around
            ? { type: 'RobertaProcessing', cls: ['<s>', vocab['<s>']], sep: ['</s>', vocab['</s>']], trim_offsets: true, add_prefix_space: false }
            : first && template([first, vocab[first]], null),
        decoder: { type: 'ByteLevel' },
        model: {
            type: 'BPE',
            vocab,
            merges: merges.split(/\r?\n/).filter((line, i) => line && !(i === 0 && line.startsWith('#version'))),
        },
    };
}

/**
 * BERT's WordPiece.
 *
 * @param {string} list
 * @param {Config} config
 * @param {SpecialMap} map
 */
function fromVocabList(list, config, map) {
    const lines = list.split(/\r?\n/);
    if (lines.at(-1) === '') {
        lines.pop();
    }
    const vocab = Object.fromEntries(lines.map((piece, id) => [piece, id]));
    const cls = contentOf(config.cls_token ?? map.cls_token) ?? '[CLS]';
    const sep = contentOf(config.sep_token ?? map.sep_token) ?? '[SEP]';
    const unk = contentOf(config.unk_token ?? map.unk_token) ?? '[UNK]';
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

/**
 * Throws an Error of one sentence.
 *
 * @param {Texts} texts
 */
export function describeTokenizer(texts) {
    /** @type {Config} */
    const config = parse(texts, 'tokenizer_config.json') ?? {};
    /** @type {SpecialMap} */
    const map = parse(texts, 'special_tokens_map.json') ?? {};
    const read = parse(texts, 'tokenizer.json');
    let found = read;
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
    if (found.version !== undefined && found.version !== '1.0') {
        throw new Error(`tokenizer.json is of version '${found.version}'; '1.0' can be read here.`);
    }
    // Truncation and padding are not wanted here.
    const absent = { added_tokens: [], normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null };
    /** @type {Description} */
    const written = { ...absent, ...found, model: found.model };
    const description = read ? asTransformersReads(written, config, map) : written;
    const named = (/** @type {'mask_token' | 'sep_token'} */ role, /** @type {string[]} */ usual) =>
        [contentOf(config[role]), contentOf(map[role]), ...usual].filter((token) => token !== undefined);
    const roles = { mask: named('mask_token', ['[MASK]', '<mask>']), separator: named('sep_token', ['[SEP]', '</s>']) };
    return { description: { ...description, model: checkedModel(description.model) }, roles };
}
