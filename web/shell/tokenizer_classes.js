// Changes a tokenizer.json the way transformers does, given the tokenizer_config.json and
// special_tokens_map.json beside it: some classes put a token before or after a text, others change a
// normalizer, and all of them take added tokens from there.

import { template } from './text_ends.js';

/**
 * @import { AddedToken } from './added_tokens.js'
 * @import { Vocabulary } from './tokenizer_model.js'
 * @import { Config, Description, Special, SpecialMap } from './tokenizer_files.js'
 */

export const contentOf = (/** @type {Special} */ token) => (typeof token === 'string' ? token : token?.content);

/**
 * Classes that replace the post-processor, whatever it is, and all others if the file says add_bos_token or
 * add_eos_token (update_post_processor): whether texts begin with a token unless the file says otherwise, and
 * the default tokens.
 *
 * @type {Record<string, {begins: boolean, bos?: string, eos?: string}>}
 */
const replacing = {
    LlamaTokenizer: { begins: true, bos: '<s>', eos: '</s>' },
    CodeLlamaTokenizer: { begins: true, bos: '<s>', eos: '</s>' },
    GemmaTokenizer: { begins: true, bos: '<bos>', eos: '<eos>' },
    CohereTokenizer: { begins: true, bos: '<BOS_TOKEN>', eos: '<|END_OF_TURN_TOKEN|>' },
    GPTNeoXTokenizer: { begins: false, bos: '<|endoftext|>', eos: '<|endoftext|>' },
};

const roles = /** @type {const} */ (['bos_token', 'eos_token', 'unk_token', 'sep_token', 'pad_token', 'cls_token', 'mask_token']);

/**
 * Returns the token of a role, with its id.
 *
 * @param {string} content
 * @param {(content: string) => number | undefined} idOf
 * @param {string} key
 * @returns {[string, number]}
 */
function known(content, idOf, key) {
    const id = idOf(content);
    if (id === undefined) {
        throw new Error(`tokenizer_config.json puts '${content}' around texts (${key}), which tokenizer.json does not have.`);
    }
    return [content, id];
}

/**
 * @param {Description} description
 * @param {Config} config
 * @param {SpecialMap} map
 * @param {(content: string) => number | undefined} idOf
 */
function ends({ post_processor: found }, config, map, idOf) {
    const name = config.tokenizer_class?.replace(/Fast$/, '') ?? '';
    const replaces = Object.hasOwn(replacing, name);
    if (!replaces && (config.add_bos_token ?? config.add_eos_token ?? null) === null) {
        return found;
    }
    const { begins, bos, eos } = replaces ? replacing[name] : { begins: false };
    const first = contentOf(config.bos_token ?? map.bos_token) ?? bos, last = contentOf(config.eos_token ?? map.eos_token) ?? eos;
    return template(
        (config.add_bos_token ?? begins) && first !== undefined ? known(first, idOf, 'add_bos_token') : null,
        config.add_eos_token && last !== undefined ? known(last, idOf, 'add_eos_token') : null,
    );
}

/**
 * @param {Description} description
 * @param {Config} config
 */
function normalizer({ normalizer: found }, config) {
    if (found?.type !== 'BertNormalizer' || !/Bert|Electra|MPNet|Funnel|Lxmert/.test(config.tokenizer_class ?? '')) {
        return found;
    }
    return {
        ...found,
        lowercase: config.do_lower_case ?? found.lowercase,
        handle_chinese_chars: config.tokenize_chinese_chars ?? found.handle_chinese_chars,
        strip_accents: config.strip_accents === undefined ? found.strip_accents : config.strip_accents,
    };
}

/**
 * @param {Description} description
 * @param {Config} config
 */
function preTokenizer({ pre_tokenizer: found }, config) {
    return found?.type === 'ByteLevel' && typeof config.add_prefix_space === 'boolean'
        ? { ...found, add_prefix_space: config.add_prefix_space }
        : found;
}

/**
 * Combines tokenizer.json's added tokens, in tokenizer_config.json's version if both have them, with those
 * that only the other files name, as far as there is a token.
 *
 * @param {Description} description
 * @param {Config} config
 * @param {SpecialMap} map
 */
function addedTokens({ added_tokens: found, model: { vocab } }, config, map) {
    const listed = Array.isArray(vocab) ? new Map(vocab.map(([token], id) => [token, id])) : null;
    /** @param {string} token */
    const inVocabulary = (token) => (listed ? listed.get(token) : Object.hasOwn(vocab, token) ? /** @type {Vocabulary} */ (vocab)[token] : undefined);
    /** @type {Map<string, AddedToken>} */
    const all = new Map();
    const add = (/** @type {AddedToken} */ token) => {
        all.set(token.content, { ...token, id: inVocabulary(token.content) ?? token.id });
    };
    found.forEach(add);
    for (const [id, token] of Object.entries(config.added_tokens_decoder ?? {})) {
        if (token.content !== undefined) {
            add({ ...token, content: token.content, id: Number(id) });
        }
    }
    const special = [...roles.map((role) => config[role] ?? map[role]), ...(config.additional_special_tokens ?? []), ...(map.additional_special_tokens ?? [])];
    for (const token of special) {
        const content = contentOf(token);
        const id = content === undefined ? undefined : inVocabulary(content);
        if (content !== undefined && id !== undefined && !all.has(content)) {
            add({ normalized: false, ...(typeof token === 'object' ? token : {}), content, id, special: true });
        }
    }
    return [...all.values()];
}

/**
 * Throws an Error of one sentence.
 *
 * @param {Description} description what tokenizer.json says
 * @param {Config} config
 * @param {SpecialMap} map
 * @returns {Description}
 */
export function asTransformersReads(description, config, map) {
    const added = addedTokens(description, config, map);
    const { vocab } = description.model;
    /** @param {string} content */
    const idOf = (content) => added.find((token) => token.content === content)?.id
        ?? (Array.isArray(vocab) ? undefined : Object.hasOwn(vocab, content) ? vocab[content] : undefined);
    return {
        ...description,
        added_tokens: added,
        normalizer: normalizer(description, config),
        pre_tokenizer: preTokenizer(description, config),
        post_processor: ends(description, config, map, idOf),
    };
}
