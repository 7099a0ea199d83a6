// Represents one of the program's grids as rows, headers and cells. A large grid has only some cells here;
// the counts cover all.

/** @import { SemanticGrid } from './contract.d.ts' */

/**
 * @param {string} role
 * @param {string} index
 * @param {number} at counted from 1
 */
function made(role, index, at) {
    const element = document.createElement('div');
    element.setAttribute('role', role);
    element.setAttribute(index, String(at));
    return element;
}

/**
 * @param {HTMLElement} element
 * @param {string} text
 */
function write(element, text) {
    if (element.textContent !== text) {
        element.textContent = text;
    }
}

/**
 * @param {HTMLElement} element
 * @param {string} name
 * @param {boolean} value
 */
function mark(element, name, value) {
    if (element.getAttribute(name) !== String(value)) {
        element.setAttribute(name, String(value));
    }
}

export class Cells {
    #element;
    /**
     * @type {Map<string, HTMLElement>} Rows by number, headers and cells by row and column; "head" is the
     *     first row.
     */
    #elements = new Map();
    /** @type {SemanticGrid | undefined} */
    #grid;
    #placed = '';  // where the cells are in the grid
    /** @type {[row: number, col: number] | null} The cell that gets the focus once it is there. */
    #wanted = null;

    /** @param {HTMLElement} element */
    constructor(element) {
        this.#element = element;
    }

    /** @param {SemanticGrid} grid */
    write(grid) {
        this.#grid = grid;
        const { first: [firstRow, firstCol], rowNames, columnNames, cells, chosen, at, cell: [width, height] } = grid;
        /** @type {Map<string, HTMLElement>} */
        const kept = new Map();
        // Removed elements leave before the others are placed, because a moved element loses the focus. The
        // cell with the focus leaves last, when the next one has it.
        const isThere = new Set(['head', ...columnNames.map((_, j) => `head/${firstCol + j}`)]);
        rowNames.forEach((_, i) => {
            isThere.add(`${firstRow + i}`).add(`${firstRow + i}/head`);
            columnNames.forEach((__, j) => isThere.add(`${firstRow + i}/${firstCol + j}`));
        });
        this.#elements.forEach((element, key) => {
            if (!isThere.has(key) && !element.contains(document.activeElement)) {
                element.remove();
            }
        });
        /** @type {Map<HTMLElement, HTMLElement>} The last placed child of each row. */
        const last = new Map();
        /**
         * @param {string} key
         * @param {HTMLElement} parent
         * @param {() => HTMLElement} make
         */
        const child = (key, parent, make) => {
            const element = this.#elements.get(key) ?? make();
            kept.set(key, element);
            const placed = last.get(parent);
            let before = placed ? placed.nextElementSibling : parent.firstElementChild;
            while (before instanceof HTMLElement && before.contains(document.activeElement) && before !== element) {
                before = before.nextElementSibling;
            }
            if (before !== element) {
                parent.insertBefore(element, before);
            }
            last.set(parent, element);
            return element;
        };
        const places = [firstRow, firstCol, width, height].join();
        const moved = this.#placed !== places;
        this.#placed = places;
        this.#element.setAttribute('aria-rowcount', String(grid.rows + 1));
        this.#element.setAttribute('aria-colcount', String(grid.cols + 1));
        const head = child('head', this.#element, () => made('row', 'aria-rowindex', 1));
        columnNames.forEach((name, i) => {
            const col = firstCol + i;
            write(child(`head/${col}`, head, () => made('columnheader', 'aria-colindex', col + 2)), name.trim() || String(col));
        });
        rowNames.forEach((name, i) => {
            const row = firstRow + i;
            const line = child(`${row}`, this.#element, () => made('row', 'aria-rowindex', row + 2));
            write(child(`${row}/head`, line, () => made('rowheader', 'aria-colindex', 1)), name.trim() || String(row));
            columnNames.forEach((_, j) => {
                const text = cells[i * columnNames.length + j], col = firstCol + j;
                if (text === undefined) {
                    return;
                }
                const isNew = !this.#elements.has(`${row}/${col}`);
                const element = child(`${row}/${col}`, line, () => {
                    const cell = made('gridcell', 'aria-colindex', col + 2);
                    Object.assign(cell.dataset, { row, col });
                    return cell;
                });
                write(element, text);
                mark(element, 'aria-selected', chosen?.[0] === row && chosen[1] === col);
                mark(element, 'aria-readonly', !grid.editable);
                if (isNew || moved) {
                    Object.assign(element.style, { left: `${j * width}px`, top: `${i * height}px`, width: `${width}px`, height: `${height}px` });
                }
            });
        });
        Object.assign(this.#element.style, { left: `${at[0]}px`, top: `${at[1]}px` });
        const wanted = this.#wanted && kept.get(this.#wanted.join('/'));
        if (wanted) {
            wanted.focus({ preventScroll: true });
            this.#wanted = null;
        }
        this.#elements.forEach((element, key) => {
            if (kept.get(key) !== element) {
                element.remove();
            }
        });
        this.#elements = kept;
    }

    /** The cell that Tab reaches. */
    get stop() {
        const { activeElement: active } = document;
        const { chosen, first } = this.#grid ?? {};
        return active instanceof HTMLElement && active.dataset.row !== undefined && this.#element.contains(active) ? active
            : (chosen && this.#elements.get(chosen.join('/'))) ?? this.#elements.get(first?.join('/') ?? '');
    }

    setStop() {
        const { stop } = this;
        for (const element of this.#elements.values()) {
            if (element.dataset.row !== undefined) {
                element.tabIndex = element === stop ? 0 : -1;
            }
        }
    }

    /**
     * @param {number} row
     * @param {number} col
     * @returns {[row: number, col: number] | null}
     */
    inside(row, col) {
        const { rows = 0, cols = 0 } = this.#grid ?? {};
        return row >= 0 && row < rows && col >= 0 && col < cols ? [row, col] : null;
    }

    /**
     * Returns whether the cell is there; if not, it gets the focus as soon as it is.
     *
     * @param {[row: number, col: number]} to
     */
    focus(to) {
        const element = this.#elements.get(to.join('/'));
        this.#wanted = element ? null : to;
        element?.focus({ preventScroll: true });
        return element !== undefined;
    }
}
