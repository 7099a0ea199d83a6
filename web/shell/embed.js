// Writes the frame that shows what is on screen in a page of someone else's (docs/embedding.md).

import { ownFiles } from './save_page.js';

/**
 * @import { Address } from './address.js'
 * @import { Bundled } from './bundled.js'
 * @import { Clipboard } from './clipboard.js'
 * @import { Models } from './models.js'
 * @import { Tensors } from './tensors.js'
 */

/** @type {Record<string, string>} */
const entities = { '&': '&amp;', '"': '&quot;', '<': '&lt;' };
const quoted = (/** @type {string} */ text) => text.replace(/[&"<]/g, (sign) => entities[sign]);

/**
 * @param {string} page the explorer's address
 * @param {{view: string, height: number, only: string | null, origin: string}} frame `only`: names with commas between; null: everything
 *     can be changed
 */
export function frameOf(page, { view, height, only, origin }) {
    const names = only === null ? '' : `&only=${encodeURIComponent(only.replace(/\s*,\s*/g, ',').trim()).replaceAll('%2C', ',')}`;
    const grant = origin && `&origin=${encodeURIComponent(origin)}`;
    const source = `${page}?embed${names}${grant}${view && `#${view}`}`;
    return `<iframe src="${quoted(source)}" title="Attention Explorer" width="100%" height="${height}" style="border:0" loading="lazy" allow="clipboard-write"></iframe>`;
}

/**
 * The origin of a page's address, or null if it has none.
 *
 * @param {string} address
 */
export function originOf(address) {
    try {
        const { origin } = new URL(address.includes('://') ? address : `https://${address}`);
        return origin === 'null' ? null : origin;
    } catch {
        return null;
    }
}

/**
 * @param {{address: Address, clipboard: Clipboard, models: Models, tensors: Tensors, bundled: Bundled}} parts
 * @returns {() => void} opens the dialog
 */
export function attachEmbed({ address, clipboard, ...opened }) {
    const dialog = document.getElementById('embed-dialog'), form = document.getElementById('embed-form');
    const height = document.getElementById('embed-height'), only = document.getElementById('embed-only');
    const names = document.getElementById('embed-names'), origin = document.getElementById('embed-origin');
    const code = document.getElementById('embed-code'), fault = document.getElementById('embed-fault');
    const says = document.getElementById('embed-says');
    let view = '';

    function write() {
        names.hidden = only.value !== 'names';
        const granted = origin.value.trim() ? originOf(origin.value.trim()) : '';
        fault.textContent = granted === null ? 'An address begins like https://course.example.' : '';
        fault.hidden = granted !== null;
        const page = location.protocol === 'file:' ? location.pathname.split('/').at(-1) ?? '' : location.origin + location.pathname;
        const changeable = { everything: null, nothing: '', names: names.value }[only.value] ?? null;
        code.value = frameOf(page, { view, height: Math.max(Math.round(Number(height.value)) || 420, 120), only: changeable, origin: granted ?? '' });
    }

    form.addEventListener('input', write);
    form.addEventListener('submit', (event) => event.preventDefault());
    document.getElementById('embed-copy').addEventListener('click', () => {
        dialog.close();
        clipboard.write(code.value, 'The frame is copied: put it into your page.');
    });
    document.getElementById('embed-close').addEventListener('click', () => dialog.close());
    return () => {
        view = address.link.split('#')[1] ?? '';
        const own = ownFiles(opened, view);
        says.textContent = own ? `${own.name} is not in it: your page has to send it, or you save this page as one file and frame that.` : '';
        says.hidden = !own;
        write();
        dialog.showModal();
    };
}
