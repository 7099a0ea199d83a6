// The current matrix as a real table, for screen readers, selection and copying.

/**
 * @import { Clipboard } from './clipboard.js'
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

/** @param {{program: Program, clipboard: Clipboard, notices: Notices}} parts */
export function attachTable({ program, clipboard, notices }) {
    const dialog = document.getElementById('table-dialog');
    const table = document.getElementById('table-view');
    let copied = '';

    document.getElementById('table').addEventListener('click', () => {
        const { title, columns, rows } = program.table();
        if (rows.length === 0) {
            notices.info('There is no matrix to show as a table yet.');
            return;
        }
        document.getElementById('table-title').textContent = title;
        const head = document.createElement('thead');
        const headings = ['', ...columns];
        head.append(row(...headings.map((text) => cell(text, 'col'))));
        const body = document.createElement('tbody');
        body.append(...rows.map(([heading, ...values]) => row(cell(heading, 'row'), ...values.map((value) => cell(value)))));
        table.replaceChildren(head, body);
        copied = [headings, ...rows].map((cells) => cells.join('\t')).join('\n');
        dialog.showModal();
    });
    document.getElementById('table-copy').addEventListener('click', () => {
        dialog.close();
        clipboard.write(copied, 'The table is copied.');
    });
    document.getElementById('table-close').addEventListener('click', () => dialog.close());
}
