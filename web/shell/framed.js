// Says how this page stands in another one: not at all, as a lens in a course page, or in a cell of a notebook
// (docs/embedding.md).

const given = new URLSearchParams(location.search);
const { dataset } = document.documentElement;

/**
 * The origin of a page's address, or null if it has none.
 *
 * @param {string} address
 */
export function originOf(address) {
    try {
        const { origin } = new URL(address);
        return origin === 'null' ? null : origin;
    } catch {
        return null;
    }
}

/** The page shows one lens, without what is around it elsewhere. */
export const alone = given.has('embed');
document.documentElement.classList.toggle('alone', alone);
export const inNotebook = 'notebook' in dataset;
export const framed = alone || inNotebook;

/** What can be changed; null: everything. */
export const only = alone ? given.get('only')?.split(',').filter(Boolean) ?? null : null;

/** Pages of these origins may send messages. */
export const granted = framed ? [self.origin, ...given.getAll('origin').flatMap((each) => originOf(each) ?? [])].filter((origin) => origin !== 'null') : [];

/**
 * The fragment that a page was written with that is another page's text (srcdoc): it has no address. Null: the page has an
 * address.
 */
export const written = location.protocol === 'about:' ? dataset.view ?? '' : null;
