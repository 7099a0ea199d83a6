// The current matrix as a real table, for screen readers, selection and copying.

function cell(kind, text, scope) {
    const made = document.createElement(kind);
    made.textContent = text;
    if (scope) {
        made.scope = scope;
    }
    return made;
}

function row(...cells) {
    const made = document.createElement('tr');
    made.append(...cells);
    return made;
}

export function attachTable({ program, clipboard, notices }) {
    const dialog = document.getElementById('table-dialog');
    const table = document.getElementById('table-view');
    let copied = '';

    document.getElementById('table').addEventListener('click', () => {
        const { title, columns, rows, note } = program.table();
        if (!rows?.length) {
            notices.info('There is no matrix to show as a table yet.');
            return;
        }
        document.getElementById('table-title').textContent = title;
        document.getElementById('table-note').textContent = note ?? '';
        const head = document.createElement('thead');
        const headings = ['', ...columns].slice(-rows[0].length);  // the corner may be left out
        head.append(row(...headings.map((text) => cell('th', text, 'col'))));
        const body = document.createElement('tbody');
        body.append(...rows.map(([heading, ...values]) => row(cell('th', heading, 'row'), ...values.map((value) => cell('td', value)))));
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
