// Finds the added tokens of a tokenizer.json in a text, as Hugging Face's tokenizers (Rust) do: among those
// that begin first, the longest.

/**
 * @typedef {{id: number, content: string, single_word?: boolean, lstrip?: boolean, rstrip?: boolean,
 *     normalized?: boolean, special?: boolean}} AddedToken
 */

/** @typedef {{from: number, to: number, id: number | null}} Section */

const endsWithWord = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]$/u;
const startsWithWord = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\u200c\u200d]/u;
const space = /\p{White_Space}/u;

/** @typedef {Map<string, Node> & {token?: AddedToken}} Node */

/** @param {{text: string, token: AddedToken}[]} spelled */
function trieOf(spelled) {
    /** @type {Node} */
    const root = new Map();
    for (const { text, token } of spelled) {
        let node = root;
        for (let i = 0; i < text.length; ++i) {
            let next = node.get(text[i]);
            if (!next) {
                next = new Map();
                node.set(text[i], next);
            }
            node = next;
        }
        if (text !== '') {
            node.token = token;
        }
    }
    return root;
}

/**
 * Returns a function that divides a text into added tokens and the text between them.
 *
 * @param {{text: string, token: AddedToken}[]} spelled each token as it is written in a text
 */
export function finderOf(spelled) {
    const root = trieOf(spelled);

    /**
     * @param {string} text
     * @param {number} from
     */
    function longestAt(text, from) {
        /** @type {Node | undefined} */
        let node = root;
        /** @type {{token: AddedToken, to: number} | null} */
        let longest = null;
        for (let at = from; at < text.length; ++at) {
            node = node.get(text[at]);
            if (!node) {
                break;
            }
            if (node.token) {
                longest = { token: node.token, to: at + 1 };
            }
        }
        return longest;
    }

    return (/** @type {string} */ text) => {
        /** @type {Section[]} */
        const sections = [];
        let done = 0;
        for (let at = 0; at < text.length;) {
            const found = longestAt(text, at);
            if (!found) {
                ++at;
                continue;
            }
            const { token } = found;
            let from = at, { to } = found;
            at = to;
            if (token.single_word && (endsWithWord.test(text.slice(Math.max(0, from - 2), from)) || startsWithWord.test(text.slice(to, to + 2)))) {
                continue;
            }
            while (token.lstrip && from > done && space.test(text[from - 1])) {
                --from;
            }
            from = Math.max(from, done);
            while (token.rstrip && to < text.length && space.test(text[to])) {
                ++to;
            }
            if (done < from) {
                sections.push({ from: done, to: from, id: null });
            }
            sections.push({ from, to, id: token.id });
            done = to;
        }
        if (done < text.length) {
            sections.push({ from: done, to: text.length, id: null });
        }
        return sections;
    };
}
