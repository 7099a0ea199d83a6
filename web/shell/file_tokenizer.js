// Wraps the tokenizer in a GGUF file. The program splits texts by it; the texts of its tokens are found here.
// This needs no document.

import { byteLevel, metaspace, plain } from './pieces.js';
import { tokenizerOf } from './tokenizer.js';

/** @import { EncodedText, FileTokenizer } from './contract.d.ts' */

const [unknown, control, userDefined] = [2, 3, 4];  // types of tokens

/**
 * @param {FileTokenizer} file
 * @param {(text: string, ends: boolean) => EncodedText} encode with or without the tokens at a text's ends
 */
export function createFileTokenizer({ byteLevel: inBytes, addsSpace, tokens, types }, encode) {
    const idsOf = (/** @type {number[]} */ ...wanted) => tokens.flatMap((_, id) => (wanted.includes(types[id]) ? [id] : []));
    const added = new Set(idsOf(unknown, control, userDefined));
    const typed = new Set(idsOf(control));
    const bytesOf = inBytes ? byteLevel : metaspace;
    return tokenizerOf({
        vocabulary: tokens,
        bytesOf,
        prefix: '',
        added,
        typed,
        special: { mask: null, separator: null, all: [...typed] },
        unknownToken: tokens[idsOf(unknown)[0]],
        fold: (character) => character,

        encode(text, { special = true } = {}) {
            const { ids, fault } = encode(text, special);
            return { ids: Int32Array.from(ids), fault: fault && `${fault}.` };
        },

        decode(ids) {
            const bytes = ids.flatMap((id) => (typed.has(id) ? [] : [...(added.has(id) ? plain : bytesOf)(tokens[id])]));
            const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(Uint8Array.from(bytes));
            return addsSpace && text.startsWith(' ') ? text.slice(1) : text;
        },
    });
}
