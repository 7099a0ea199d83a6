// Finds tokens within the pieces of a text: implements the models of a tokenizer.json, with the library where
// that is correct.

/**
 * @import { Tokenizer as Library } from '@huggingface/tokenizers'
 * @import { Compile } from './divide.js'
 *
 * @typedef {Record<string, number>} Vocabulary
 * @typedef {[string, number][]} Scores of Unigram, in the order of the ids
 *
 * @typedef {object} Model as a tokenizer.json describes it
 * @property {string} type
 * @property {Vocabulary | Scores} vocab
 * @property {(string | [string, string])[]} [merges]
 * @property {string | null} [unk_token]
 * @property {number | null} [unk_id]
 * @property {boolean} [byte_fallback]
 * @property {boolean} [fuse_unk]
 * @property {boolean} [ignore_merges]
 * @property {string | null} [continuing_subword_prefix]
 * @property {string | null} [end_of_word_suffix]
 * @property {number} [max_input_chars_per_word]
 * @property {number | null} [dropout]
 * @property {number | null} [alpha]
 * @property {number | null} [nbest_size]
 */

const kinds = ['BPE', 'Unigram', 'WordLevel', 'WordPiece'];

/**
 * Old files do not contain the type.
 *
 * @param {Partial<Model>} model
 */
function typeOf({ type, vocab, merges, continuing_subword_prefix: prefix, max_input_chars_per_word: most }) {
    if (type !== undefined) {
        return type;
    }
    if (merges) {
        return 'BPE';
    }
    return Array.isArray(vocab) ? 'Unigram' : prefix !== undefined && most !== undefined ? 'WordPiece' : 'WordLevel';
}

/**
 * Returns the model with its type and without keys that only the library knows. Throws an Error of one
 * sentence if a value of its keys is not supported here.
 *
 * @param {Model} found
 * @returns {Model}
 */
export function checkedModel(found) {
    const type = typeOf(found);
    const refuse = (/** @type {string} */ what) => { throw new Error(`tokenizer.json ${what}, which is not supported.`); };
    if (!kinds.includes(type)) {
        refuse(`has the model '${type}'`);
    }
    const { vocab, merges, unk_token, unk_id, byte_fallback, fuse_unk, ignore_merges, continuing_subword_prefix: prefix, end_of_word_suffix } = found;
    if (type === 'BPE') {
        if (found.dropout) {
            refuse('leaves out merges at random (dropout)');
        }
        if (prefix) {
            refuse('marks the parts of words (continuing_subword_prefix)');
        }
        // @ts-ignore That merges are missing is reported by the library.
        return { type, vocab, merges, unk_token, byte_fallback, fuse_unk, ignore_merges, end_of_word_suffix };
    }
    if (type === 'Unigram') {
        if (found.alpha || found.nbest_size) {
            refuse('takes pieces at random (alpha, nbest_size)');
        }
        return { type, vocab, unk_id, byte_fallback };
    }
    if (type === 'WordPiece') {
        return { type, vocab, unk_token: unk_token ?? '[UNK]', continuing_subword_prefix: prefix ?? '##', max_input_chars_per_word: found.max_input_chars_per_word ?? 100 };
    }
    return { type, vocab, unk_token };
}

/**
 * Returns a function that finds the ids of a piece. Text without a token is passed to `lose`.
 *
 * @param {Library} library
 * @param {Model} description
 * @param {(text: string) => void} lose
 */
export function finderIn({ model }, { type, byte_fallback: bytes, unk_id }, lose) {
    if (!model) {
        throw new Error('tokenizer.json has no model');
    }
    const ids = model.tokens_to_ids;
    const unknown = type === 'Unigram' ? unk_id : model.unk_token_id;
    const utf8 = new TextEncoder();
    const byteIds = (/** @type {string} */ token) => Array.from(utf8.encode(token), (byte) => ids.get(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`));

    /** @param {string} token */
    function idsOf(token) {
        const id = ids.get(token);
        if (id !== undefined) {
            return [id];
        }
        if (type === 'Unigram' && bytes) {
            const spelled = byteIds(token).filter((byte) => byte !== undefined);
            if (spelled.length === utf8.encode(token).length) {
                return spelled;
            }
        }
        if (unknown !== undefined && unknown !== null) {
            return [unknown];
        }
        lose(token);
        return [];
    }

    // Each piece separately, because the library would join unknown parts of several.
    return (/** @type {string} */ piece) => model._call([piece]).flatMap(idsOf);
}

// If what follows cannot match what came before, or nothing follows, it does not matter whether a possessive
// quantifier gives back what it has taken; JavaScript has none.
const harmless = /\[\^\\r\\n\\p\{L\}\\p\{N\}\]\?\+(?=\\p\{L\})|\[\^\\s\\p\{L\}\\p\{N\}\]\+\+(?=\[\\r\\n\])|[?*+]\+(?=\||\)?$)/g;
const possessive = /(?<!\\)(?:\\\\)*[?*+]\+/;
const set = /(?<!\\)\[(?:\\.|[^\]\\])*\]/g;

/**
 * Compiles the expressions of patterns with the library, which knows how Oniguruma writes them.
 *
 * @param {typeof Library} Tokenizer
 * @returns {Compile}
 */
export const compilerBy = (Tokenizer) => ({ Regex: source }) => {
    if (source === undefined) {
        throw new Error('tokenizer.json has a pattern that is neither a String nor a Regex');
    }
    if (source.includes('(?>') || possessive.test(source.replace(harmless, '').replace(set, '.'))) {
        throw new Error(`tokenizer.json divides texts by '${source}', which takes without giving back; that is not supported`);
    }
    const around = { normalizer: null, post_processor: null, decoder: null, added_tokens: [], model: { type: 'WordPiece', vocab: {} } };
    const { pre_tokenizer: divider } = new Tokenizer({ ...around, pre_tokenizer: { type: 'Split', pattern: { Regex: source }, invert: true } }, {});
    return /** @type {{pattern: RegExp}} */ (/** @type {unknown} */ (divider)).pattern;
};
