// Converts text to token ids and back, by the library's exact algorithms. This needs no document: it runs in
// the page, in a worker and in tests.

import { finderOf } from './added_tokens.js';
import { dividerOf } from './divide.js';
import { normalizerOf } from './normalize.js';
import { byteLevel, metaspace, plain, showTokens } from './pieces.js';
import { reasonOf } from './reason.js';
import { endsOf } from './text_ends.js';
import { placesOf, rewritten } from './token_places.js';
import { describeTokenizer } from './tokenizer_files.js';
import { compilerBy, finderIn } from './tokenizer_model.js';

/**
 * @import { Tokenizer as Library } from '@huggingface/tokenizers'
 * @import { SpecialTokens } from './contract.d.ts'
 * @import { Spelling } from './pieces.js'
 * @import { Description, Texts } from './tokenizer_files.js'
 */

/** @typedef {ReturnType<typeof tokenizerOf>} Tokenizer */

/**
 * With a fault, which is one sentence, there are no ids.
 *
 * @typedef {{ids: Int32Array, fault: string | null}} Encoded
 */

/**
 * @typedef {{type: string, pretokenizers?: Nested[], decoders?: Nested[], normalizers?: Nested[]}} Nested
 *
 * @param {Nested | null} part
 * @returns {string[]}
 */
const typesIn = (part) => (part
    ? [part.type, ...[part.pretokenizers, part.decoders, part.normalizers].flatMap((list) => (list ?? []).flatMap(typesIn))]
    : []);

const divider = Uint8Array.of(0xff);  // is in no character, so that none continues after a special token

/** @param {Description} description */
function spelling({ pre_tokenizer, decoder, normalizer, model }) {
    const types = [pre_tokenizer, decoder, normalizer].flatMap(typesIn);
    if (types.includes('ByteLevel')) {
        return byteLevel;
    }
    const marked = types.includes('Metaspace') || JSON.stringify(normalizer)?.includes('▁') || model.byte_fallback;
    return marked ? metaspace : plain;
}

/** @param {string[]} tokens */
function quoteList(tokens) {
    const shown = tokens.slice(0, 3).map((token) => `'${token.length > 24 ? `${token.slice(0, 24)}…` : token}'`);
    const rest = tokens.length - shown.length;
    return rest ? `${shown.join(', ')} and ${rest} more` : shown.join(' and ');
}

/**
 * The parts of a tokenizer. `vocabulary` has the tokens by id, some of which may be missing; tokens in
 * `added` appear in a text exactly as they are spelled, and the `typed` ones among them are special. A token
 * that begins with `prefix` continues a word. `fold` is the change of a character before the text is split.
 *
 * @typedef {object} Parts
 * @property {(string | undefined)[]} vocabulary
 * @property {Spelling} bytesOf
 * @property {string} prefix
 * @property {{has: (id: number) => boolean}} added
 * @property {Set<number | null>} typed
 * @property {SpecialTokens} special
 * @property {string | undefined} unknownToken
 * @property {(character: string) => string} fold
 * @property {(text: string, options?: {special?: boolean}) => Encoded} encode
 * @property {(known: number[]) => string} decode
 */

/** @param {Parts} parts */
export function tokenizerOf({ vocabulary, bytesOf, prefix, added, typed, special, unknownToken, fold, encode, decode }) {
    /** @param {number} id */
    function written(id) {
        const token = vocabulary[id] ?? '';
        const literal = typed.has(id) ? token : null;
        const continues = literal === null && token.length > prefix.length && prefix !== '' && token.startsWith(prefix);
        const bytes = bytesOf(continues ? token.slice(prefix.length) : token);
        return { bytes, literal, continues, spaced: bytesOf !== plain, unknown: token === unknownToken };
    }

    return {
        encode,

        special,

        vocabulary,

        /** @param {number} id */
        idToToken: (id) => vocabulary[id],

        /**
         * Returns the text with other tokens in the place of some.
         *
         * @param {string} text
         * @param {Iterable<number>} ids what it was split into
         * @param {{first: number, count: number}} range
         * @param {number[]} others
         */
        rewrite(text, ids, { first, count }, others) {
            const places = placesOf(text, Array.from(ids, written), fold);
            const replaced = { from: places[first].from, to: places[first + count - 1].to };
            return rewritten(text, replaced, others.map(written));
        },

        /**
         * Returns what to show for each id of a text. Ids that the vocabulary does not name are shown by
         * number.
         *
         * @param {Iterable<number>} ids
         */
        pieces(ids) {
            const all = Array.from(ids, (id) => ({ id, token: vocabulary[id] }));
            const shown = showTokens(all.map(({ id, token }) => (token === undefined || added.has(id) ? divider : bytesOf(token))));
            return all.map(({ id, token }, i) => (token === undefined ? `#${id}` : added.has(id) ? token : shown[i]));
        },

        /**
         * Returns the text of ids. Special tokens are left out, and spaces are not cleaned up.
         *
         * @param {Iterable<number>} ids
         */
        decode(ids) {
            const known = Array.from(ids).filter((id) => vocabulary[id] !== undefined);
            return known.length ? decode(known) : '';
        },
    };
}

/**
 * Returns a function that finds the ids of a text without those at its ends, and the texts that have none.
 *
 * @param {Description} description
 * @param {Library} library
 * @param {typeof Library} Tokenizer
 */
function encoderOf(description, library, Tokenizer) {
    const compile = compilerBy(Tokenizer);
    const normalize = normalizerOf(description.normalizer, compile);
    const divide = dividerOf(description.pre_tokenizer, compile);
    const spelled = description.added_tokens.map((token) => ({ token, normalized: token.normalized ?? !token.special }));
    const first = finderOf(spelled.filter(({ normalized }) => !normalized).map(({ token }) => ({ text: token.content, token })));
    const then = finderOf(spelled.filter(({ normalized }) => normalized).map(({ token }) => ({ text: normalize(token.content), token })));
    /** @type {string[]} */
    let lost = [];
    const idsOf = finderIn(library, description.model, (text) => lost.push(text));

    return {
        normalize,

        encode(/** @type {string} */ text) {
            lost = [];
            const ids = first(text).flatMap((section) => {
                if (section.id !== null) {
                    return [section.id];
                }
                const made = normalize(text.slice(section.from, section.to));
                return then(made).flatMap(({ from, to, id }) => (id !== null
                    ? [id]
                    : divide({ text: made.slice(from, to), first: section.from === 0 && from === 0 }).flatMap((piece) => idsOf(piece.text))));
            });
            return { ids, lost };
        },
    };
}

/**
 * Makes the library's tokenizer, whose model and decoder are used. Its model knows no added tokens, because
 * other code finds these in a text.
 *
 * @param {Description} description
 * @param {typeof Library} Tokenizer
 */
function libraryOf(description, Tokenizer) {
    const { model, added_tokens: added, decoder } = description;
    const library = new Tokenizer(
        { model, added_tokens: added, decoder, normalizer: null, pre_tokenizer: null, post_processor: null },
        { unk_token: model.unk_token },
    );
    const known = Array.isArray(model.vocab) ? new Set(model.vocab.map(([token]) => token)) : { has: (/** @type {string} */ token) => Object.hasOwn(model.vocab, token) };
    for (const { content } of added) {
        if (!known.has(content)) {
            library.model?.tokens_to_ids.delete(content);
        }
    }
    return library;
}

/**
 * `Tokenizer` is the library's class, `vocabSize` the number of ids that the model knows. Throws an Error of
 * one sentence.
 *
 * @param {Texts} texts
 * @param {typeof Library} Tokenizer
 */
export function createTokenizer(texts, Tokenizer, vocabSize = Infinity) {
    const described = describeTokenizer(texts);
    const { roles } = described;
    // Gemma 3's has a token for images, which the text-only models do not know.
    const description = { ...described.description, added_tokens: described.description.added_tokens.filter(({ id }) => id < vocabSize) };
    let library, encoder, ends;
    try {
        library = libraryOf(description, Tokenizer);
        encoder = encoderOf(description, library, Tokenizer);
        ends = endsOf(description.post_processor);
    } catch (error) {
        const reason = error instanceof TypeError ? 'a part of it is missing' : reasonOf(error).replace(/\.$/, '');
        throw new Error(`The tokenizer cannot be used here: ${reason}.`);
    }
    /** @type {(string | undefined)[]} Some ids may have no token. */
    const vocabulary = library.model?.vocab ?? [];
    if (vocabulary.length > vocabSize) {
        throw new Error(`The tokenizer has ids up to ${vocabulary.length - 1}, but the model's vocab_size is ${vocabSize}: `
            + 'they do not belong together.');
    }
    const bytesOf = spelling(description);
    // Prefix of pieces that continue a word.
    const prefix = description.model.type === 'WordPiece' ? description.model.continuing_subword_prefix ?? '' : '';
    const added = new Map(description.added_tokens.map((token) => [token.id, token]));
    const idOf = (/** @type {string[]} */ names) => names
        .map((name) => description.added_tokens.find(({ content }) => content === name)?.id ?? library.model?.tokens_to_ids.get(name))
        .find((id) => id !== undefined) ?? null;
    const mask = idOf(roles.mask), separator = idOf(roles.separator);
    const typed = new Set([...[...added.values()].filter((token) => token.special).map(({ id }) => id), mask, separator]);
    const unknownToken = library.model?.unk_token;
    /** @type {SpecialTokens} The unknown token stands for text. */
    const specialTokens = { mask, separator, all: [...typed].flatMap((id) => (id === null || vocabulary[id] === unknownToken ? [] : [id])) };

    /** @param {string[]} tokens */
    function unknown(tokens) {
        const distinct = [...new Set(tokens)];
        const what = `${quoteList(distinct)} ${distinct.length > 1 ? 'have' : 'has'} no token in this model's vocabulary`;
        const pieces = vocabulary.length <= 12 ? vocabulary.filter((piece) => piece !== undefined) : [];
        return pieces.length ? `${what} (known: ${pieces.join(', ')}).` : `${what}.`;
    }

    return tokenizerOf({
        vocabulary,
        bytesOf,
        prefix,
        added,
        typed,
        special: specialTokens,
        unknownToken,
        fold: encoder.normalize,

        encode(text, { special = true } = {}) {
            try {
                const { ids, lost } = encoder.encode(text);
                return lost.length
                    ? { ids: new Int32Array(), fault: unknown(lost) }
                    : { ids: Int32Array.from(special ? [...ends.before, ...ids, ...ends.after] : ids), fault: null };
            } catch (error) {
                return { ids: new Int32Array(), fault: `This text cannot be split into tokens: ${reasonOf(error)}` };
            }
        },

        decode: (known) => library.decode(known, { skip_special_tokens: true, clean_up_tokenization_spaces: false }),
    });
}
