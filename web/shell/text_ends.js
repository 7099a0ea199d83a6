// Finds the tokens that a tokenizer puts around a text: implements the post-processors of a tokenizer.json.

/**
 * @typedef {{before: number[], after: number[]}} Ends
 *
 * @typedef {{SpecialToken?: {id: string}, Sequence?: {id: string}}} TemplateItem
 *
 * @typedef {object} PostProcessor as a tokenizer.json describes it
 * @property {string} type
 * @property {PostProcessor[]} [processors]
 * @property {TemplateItem[]} [single]
 * @property {Record<string, {ids: number[]}>} [special_tokens]
 * @property {[string, number]} [cls]
 * @property {[string, number]} [sep]
 */

/** @type {(part: PostProcessor) => Ends} */
const aroundByPair = ({ cls, sep }) => {
    if (!cls || !sep) {
        throw new Error("tokenizer.json puts tokens around texts without saying which: 'cls' and 'sep' are needed");
    }
    return { before: [cls[1]], after: [sep[1]] };
};

/** @type {(part: PostProcessor) => Ends} */
function aroundByTemplate({ single = [], special_tokens: tokens = {} }) {
    /** @type {Ends} */
    const ends = { before: [], after: [] };
    let texts = 0;
    for (const { SpecialToken: special, Sequence: sequence } of single) {
        if (special) {
            const ids = tokens[special.id]?.ids;
            if (!ids) {
                throw new Error(`tokenizer.json puts '${special.id}' around texts, but its template does not say which token that is`);
            }
            (texts > 0 ? ends.after : ends.before).push(...ids);
        } else if (sequence?.id === 'A') {
            ++texts;
        }
    }
    if (texts !== 1) {
        throw new Error(`tokenizer.json has a template in which the text stands ${texts} times; once is supported`);
    }
    return ends;
}

/** @type {Record<string, (part: PostProcessor) => Ends>} */
const kinds = {
    BertProcessing: aroundByPair,
    ByteLevel: () => ({ before: [], after: [] }),
    RobertaProcessing: aroundByPair,
    Sequence: ({ processors = [] }) => processors.map(endsOf).reduce(
        (ends, { before, after }) => ({ before: [...before, ...ends.before], after: [...ends.after, ...after] }),
        { before: [], after: [] },
    ),
    TemplateProcessing: aroundByTemplate,
};

/**
 * Throws an Error without a full stop if the post-processor is unknown here.
 *
 * @param {PostProcessor | null} part
 * @returns {Ends}
 */
export function endsOf(part) {
    if (!part) {
        return { before: [], after: [] };
    }
    if (!Object.hasOwn(kinds, part.type)) {
        throw new Error(`tokenizer.json has the post-processor '${part.type}', which is not supported`);
    }
    return kinds[part.type](part);
}

/**
 * Puts a token before a text, one after it, or both.
 *
 * @param {[string, number] | null} first
 * @param {[string, number] | null} last
 * @returns {PostProcessor}
 */
export function template(first, last) {
    const item = (/** @type {[string, number] | null} */ token) => (token ? [{ SpecialToken: { id: token[0], type_id: 0 } }] : []);
    const named = [first, last].filter((token) => token !== null);
    return {
        type: 'TemplateProcessing',
        single: [...item(first), { Sequence: { id: 'A' } }, ...item(last)],
        special_tokens: Object.fromEntries(named.map(([token, id]) => [token, { id: token, ids: [id], tokens: [token] }])),
    };
}
