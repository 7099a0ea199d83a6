// Writes the frame that shows what is on screen in a page of someone else's (docs/embedding.md).

import { originOf } from './framed.js';
import { ownFiles } from './save_page.js';
import { isOneFile } from './site_files.js';

/**
 * @import { Address } from './address.js'
 * @import { Bundled } from './bundled.js'
 * @import { Clipboard } from './clipboard.js'
 * @import { Models } from './models.js'
 * @import { Program } from './program.js'
 * @import { Tensors } from './tensors.js'
 */

/**
 * Returns the frame as HTML.
 *
 * @param {string} page the explorer's address
 * @param {{view: string, height: number, only: string[] | null, origin: string}} frame `only`: what can be changed; null: everything
 */
function frameOf(page, { view, height, only, origin }) {
    const names = only === null ? '' : `&only=${only.map(encodeURIComponent).join(',')}`;
    const grant = origin && `&origin=${encodeURIComponent(origin)}`;
    const attributes = {
        src: `${page}?embed${names}${grant}${view && `#${view}`}`, title: 'Attention Explorer', width: '100%', height: String(height),
        loading: 'lazy', allow: 'clipboard-write',
    };
    const frame = document.createElement('iframe');
    Object.entries(attributes).forEach(([name, value]) => frame.setAttribute(name, value));
    frame.style.border = '0';
    return frame.outerHTML;
}

/** @param {[name: string, what: string][]} changeable */
function choices(changeable) {
    return changeable.map(([name, what]) => {
        const label = document.createElement('label'), box = document.createElement('input'), words = document.createElement('span');
        box.type = 'checkbox';
        box.value = name;
        words.textContent = what;
        label.append(box, name, words);
        return label;
    });
}

/**
 * @param {{program: Program, address: Address, clipboard: Clipboard, models: Models, tensors: Tensors, bundled: Bundled}} parts
 * @returns {() => void} opens the dialog
 */
export function attachEmbed({ program, address, clipboard, ...opened }) {
    const dialog = document.getElementById('embed-dialog'), form = document.getElementById('embed-form');
    const height = document.getElementById('embed-height'), only = document.getElementById('embed-only');
    const names = document.getElementById('embed-names'), origin = document.getElementById('embed-origin');
    const code = document.getElementById('embed-code'), fault = document.getElementById('embed-fault');
    const says = document.getElementById('embed-says');
    let view = '';

    function write() {
        names.hidden = only.value !== 'names';
        const given = origin.value.trim();
        const granted = given && originOf(given.includes('://') ? given : `https://${given}`);
        fault.textContent = granted === null ? 'An address begins like https://course.example.' : '';
        fault.hidden = granted !== null;
        const page = location.protocol === 'file:' ? location.pathname.split('/').at(-1) ?? '' : location.origin + location.pathname;
        const chosen = [...names.querySelectorAll('input')].filter(({ checked }) => checked).map(({ value }) => value);
        const changeable = { everything: null, nothing: [], names: chosen }[only.value] ?? null;
        code.value = frameOf(page, { view, height: Math.max(Math.round(Number(height.value)) || 420, 120), only: changeable, origin: granted ?? '' });
        code.style.height = 'auto';
        code.style.height = `${code.scrollHeight + 2}px`;
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
        const own = isOneFile() ? null : ownFiles(opened, view);
        says.textContent = own ? `Not in it: ${own.name}. Your page has to send that, or you save this page as one file and frame the file.` : '';
        says.hidden = !own;
        names.replaceChildren(...choices(program.changeable()));
        dialog.showModal();
        write();
    };
}
