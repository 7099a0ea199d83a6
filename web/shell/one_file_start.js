// Starts a page that is one file. It stands in the page itself; style sheets and modules lie in blocks, as all
// other files do.

import { importFile, request } from './site_files.js';

const text = async (/** @type {string} */ path) => (await request(path)).text();

/** @param {HTMLStyleElement} style */
async function fill(style) {
    style.textContent = await text(style.dataset.from ?? '');
}

const view = await text('view');
if (location.protocol === 'about:') {
    document.documentElement.dataset.view = view;  // a page that is another page's text has no address
} else if (view && !location.hash) {
    history.replaceState(null, '', `#${view}`);
}
await Promise.all([...document.querySelectorAll('style')].filter(({ dataset }) => dataset.from).map(fill));
document.documentElement.hidden = false;
await importFile('main.js');
