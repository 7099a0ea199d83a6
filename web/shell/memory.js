// What the browser remembers of this page from one visit to the next, as far as it lets us.

/** @param {string} key */
export function remembered(key) {
    try {
        return localStorage.getItem(key);
    } catch {
        return null;
    }
}

/**
 * @param {string} key
 * @param {string} value
 */
export function remember(key, value) {
    try {
        localStorage.setItem(key, value);
    } catch {
        // It then lasts as long as the page.
    }
}
