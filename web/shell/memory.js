// Stores what the browser remembers about this page from one visit to the next, as far as it allows.

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
        // The value then lasts as long as the page.
    }
}
