// Shows the matrices and charts on screen as a real table, as Markdown or as a map in shades: for screen
// readers, selection, copying and saving.

import { save } from './save.js';

/**
 * @import { Clipboard } from './clipboard.js'
 * @import { Table } from './contract.d.ts'
 * @import { Notices } from './notices.js'
 * @import { Program } from './program.js'
 */

/** @param {string} text */
function cell(text, scope = '') {
    const made = document.createElement(scope ? 'th' : 'td');
    made.textContent = text;
    if (scope) {
        made.scope = scope;
    }
    return made;
}

/** @param {HTMLTableCellElement[]} cells */
function row(...cells) {
    const made = document.createElement('tr');
    made.append(...cells);
    return made;
}

/**
 * @param {HTMLTableElement} table
 * @param {Table} shown
 */
function fill(table, { columns, rows }) {
    const head = document.createElement('thead');
    head.append(row(cell(''), ...columns.map((text) => cell(text, 'col'))));
    const body = document.createElement('tbody');
    body.append(...rows.map(([heading, ...values]) => row(cell(heading, 'row'), ...values.map((value) => cell(value)))));
    table.replaceChildren(head, body);
}

/**
 * @param {{program: Program, clipboard: Clipboard, notices: Notices}} parts
 * @returns {{open: (title?: string) => void}} opens the dialog at the table with this title
 */
export function attachTable({ program, clipboard, notices }) {
    const dialog = document.getElementById('table-dialog');
    const choice = document.getElementById('table-choice');
    const form = document.getElementById('table-form');
    const table = document.getElementById('table-view');
    const text = document.getElementById('table-text');
    /** @type {Table[]} */
    let tables = [];
    let copied = '';

    function show() {
        const which = choice.selectedIndex;
        const kind = /** @type {'cells' | 'markdown' | 'shades'} */ (form.value);
        copied = program.tableText(which, kind);
        document.getElementById('table-title').textContent = tables[which].title;
        table.hidden = kind !== 'cells';
        text.hidden = !table.hidden;
        if (table.hidden) {
            text.textContent = copied;
        } else {
            fill(table, tables[which]);
        }
    }

    /** @param {string} [wanted] the title of a table */
    function open(wanted) {
        tables = program.tables();
        if (tables.length === 0) {
            notices.info('There is nothing to show as a table yet.');
            return;
        }
        choice.replaceChildren(...tables.map(({ title }) => new Option(title)));
        choice.hidden = tables.length === 1;
        choice.selectedIndex = Math.max(tables.findIndex(({ title }) => title === wanted), 0);
        show();
        dialog.showModal();
    }
    document.getElementById('table').addEventListener('click', () => open());
    choice.addEventListener('change', show);
    form.addEventListener('change', show);
    document.getElementById('table-save').addEventListener('click', () => {
        const { title } = tables[choice.selectedIndex];
        const name = title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-+|-+$/g, '') || 'table';
        save(`${name}.csv`, new Blob([program.tableText(choice.selectedIndex, 'csv')], { type: 'text/csv' }));
    });
    document.getElementById('table-copy').addEventListener('click', () => {
        dialog.close();
        clipboard.write(copied, 'The table is copied.');
    });
    document.getElementById('table-close').addEventListener('click', () => dialog.close());
    return { open };
}
