// Asks how wide a figure is to be on paper, and what stands below it.

import { remember, remembered } from './memory.js';

/**
 * @import { Address } from './address.js'
 * @import { Program } from './program.js'
 */

const key = 'figure width', usual = 85;  // mm; a column of many journals

/**
 * @param {{program: Program, address: Address}} parts
 * @returns {(caption: string) => void} opens the dialog
 */
export function attachFigure({ program, address }) {
    const dialog = document.getElementById('figure-dialog'), form = document.getElementById('figure-form');
    const width = document.getElementById('figure-width'), caption = document.getElementById('figure-caption');
    const link = document.getElementById('figure-link');
    width.value = String(Number(remembered(key)) || usual);
    form.addEventListener('submit', (event) => {
        event.preventDefault();
        if (!form.reportValidity()) {
            return;
        }
        dialog.close();
        remember(key, width.value);
        program.figure(Number(width.value), caption.value.trim(), link.checked ? address.link : '');
    });
    document.getElementById('figure-close').addEventListener('click', () => dialog.close());
    return (text) => {
        caption.value = text;
        dialog.showModal();
        width.select();
    };
}
