// Builds the element of one node: its role, its name and its state, in the terms of ARIA.

import { Cells } from './semantics_grid.js';

/**
 * @import { SemanticNode } from './contract.d.ts'
 * @import { Fields } from './field.js'
 */

const words = new Set(['paragraph', 'heading', 'status']);
const fields = new Set(['textbox', 'combobox']);

/** @typedef {{key: string, node: SemanticNode, element: HTMLElement, cells?: Cells}} Part */

/** @param {string} key */
const idOf = (key) => `semantics/${key}`;

/**
 * @param {SemanticNode} node
 * @param {Fields} areas
 * @returns {Part}
 */
export function makePart(node, areas) {
    const element = node.lines ? areas.area(node.key) : document.createElement(node.role === 'paragraph' ? 'p' : 'div');
    if (node.role !== 'paragraph' && !node.lines) {
        element.setAttribute('role', node.role);
    }
    element.id = idOf(node.key);
    element.dataset.key = node.key;
    return { key: node.key, node, element, cells: node.grid && new Cells(element) };
}

/** @param {SemanticNode} node */
function stateOf({ key, role, name, value, on, opens, range, active, description, disabled }) {
    const isChosen = Boolean(on);
    const called = role === 'button' && value ? `${name}: ${value}` : name;
    return {
        'aria-label': words.has(role) || called === '' ? undefined : called,
        'aria-description': description,
        'aria-disabled': disabled,
        'aria-level': role === 'heading' ? 2 : undefined,
        'aria-selected': role === 'tab' || role === 'option' ? isChosen : undefined,
        'aria-checked': role === 'radio' ? isChosen : undefined,
        'aria-expanded': role === 'combobox' ? true : opens ? isChosen : undefined,
        'aria-valuenow': range?.[0] ?? (role === 'spinbutton' && Number.isFinite(Number(value)) ? Number(value) : undefined),
        'aria-valuemin': range?.[1],
        'aria-valuemax': range?.[2],
        'aria-valuetext': role === 'slider' || role === 'spinbutton' ? value : undefined,
        'aria-activedescendant': active && idOf(active),
        'aria-controls': role === 'combobox' ? idOf(`${key}/found`) : undefined,
    };
}

/**
 * Updates the element to its node; unchanged parts are not touched.
 *
 * @param {Part} part
 */
export function writePart({ node, element, cells }) {
    const text = words.has(node.role) ? node.name : node.lines ? null : fields.has(node.role) ? node.value ?? '' : null;
    if (text !== null && element.textContent !== text) {
        element.textContent = text;
    }
    for (const [name, value] of Object.entries(stateOf(node))) {
        if (value === undefined) {
            element.removeAttribute(name);
        } else if (element.getAttribute(name) !== String(value)) {
            element.setAttribute(name, String(value));
        }
    }
    const [left, top, width, height] = node.place;
    if (width > 0 && !node.lines) {
        Object.assign(element.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
    }
    if (node.grid) {
        cells?.write(node.grid);
    }
}
