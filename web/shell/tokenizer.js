// Text to token ids and back, by the library's exact algorithms. No DOM: runs in the page, in a worker, in tests.

import { showByteLevel, showMetaspace, showPlain } from './pieces.js';
import { describeTokenizer } from './tokenizer_files.js';

const typesIn = (part) => (part
    ? [part.type, ...[part.pretokenizers, part.decoders, part.normalizers].flatMap((list) => (list ?? []).flatMap(typesIn))]
    : []);

function spelling({ pre_tokenizer, decoder, normalizer, model }) {
    const types = [pre_tokenizer, decoder].flatMap(typesIn);
    if (types.includes('ByteLevel')) {
        return showByteLevel;
    }
    const metaspace = types.includes('Metaspace') || JSON.stringify(normalizer)?.includes('▁') || model.byte_fallback;
    return metaspace ? showMetaspace : showPlain;
}

function quoteList(tokens) {
    const shown = tokens.slice(0, 3).map((token) => `'${token.length > 24 ? `${token.slice(0, 24)}…` : token}'`);
    const rest = tokens.length - shown.length;
    return rest ? `${shown.join(', ')} and ${rest} more` : shown.join(' and ');
}

// `texts` maps file names to contents; `Tokenizer` is the library's class. `vocabSize`, where given, is the
// number of ids the model knows. Throws an Error of one sentence.
export function createTokenizer(texts, Tokenizer, vocabSize = Infinity) {
    const { description, config } = describeTokenizer(texts);
    let library;
    try {
        library = new Tokenizer(description, config);
    } catch (error) {
        const reason = error instanceof TypeError ? 'a part of it is missing' : error.message.replace(/\.$/, '');
        throw new Error(`The tokenizer cannot be used here: ${reason}.`);
    }
    const vocabulary = library.model.vocab;
    if (vocabulary.length > vocabSize) {
        throw new Error(`The tokenizer has ids up to ${vocabulary.length - 1}, but the model's vocab_size is ${vocabSize}: `
            + 'they do not belong together.');
    }
    const show = spelling(description);
    const added = library.get_added_tokens_decoder();

    function unknown(tokens) {
        const distinct = [...new Set(tokens)];
        const what = `${quoteList(distinct)} ${distinct.length > 1 ? 'have' : 'has'} no token in this model's vocabulary`;
        const pieces = vocabulary.length <= 12 ? vocabulary.filter((piece) => piece !== undefined) : [];
        return pieces.length ? `${what} (known: ${pieces.join(', ')}).` : `${what}.`;
    }

    return {
        // {ids, fault}: `fault` is one sentence, or null; with a fault there are no ids.
        encode(text, { special = true } = {}) {
            try {
                const { ids, tokens } = library.encode(text, { add_special_tokens: special });
                const lost = tokens.filter((_, i) => ids[i] === undefined);
                return lost.length
                    ? { ids: new Int32Array(), fault: unknown(lost) }
                    : { ids: Int32Array.from(ids), fault: null };
            } catch (error) {
                return { ids: new Int32Array(), fault: `This text cannot be split into tokens: ${error.message}` };
            }
        },

        idToToken: (id) => vocabulary[id],

        // What to show for an id; ids that the vocabulary does not name are shown by number.
        piece(id) {
            const token = vocabulary[id];
            return token === undefined ? `#${id}` : added.has(id) ? token : show(token);
        },

        // The text of ids, special tokens left out, nothing tidied.
        decode(ids) {
            const known = Array.from(ids).filter((id) => vocabulary[id] !== undefined);
            return known.length
                ? library.decode(known, { skip_special_tokens: true, clean_up_tokenization_spaces: false })
                : '';
        },
    };
}
