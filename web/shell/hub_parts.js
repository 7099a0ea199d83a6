// Provides pieces of the dialog that opens models of the hub: lists, facts, and texts for them.

import { shownNameOf } from './hub.js';
import { sizeOfPlan } from './kept.js';
import { bytes } from './model_files.js';

/**
 * @import { Choice } from './hub_choice.js'
 * @import { Listed } from './hub.js'
 * @import { KeptModel } from './kept.js'
 */

/**
 * @template {keyof PageElements} Id
 * @param {Id} id
 */
export const element = (id) => document.getElementById(id);

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Partial<HTMLElementTagNameMap[Tag]>} given
 * @param {(Node | string)[]} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function made(tag, given = {}, ...children) {
    const node = Object.assign(document.createElement(tag), given);
    node.append(...children);
    return node;
}

/**
 * Models to begin with, the smallest first: the size of their weights on the hub, and what each shows well.
 *
 * @type {{name: string, size: number, shows: string}[]}
 */
export const firstModels = [
    { name: 'EleutherAI/pythia-70m', size: 166e6, shows: 'Six layers. 154 steps of its training are revisions: @step1000' },
    { name: 'google-t5/t5-small', size: 242e6, shows: 'Reads English and writes German, French or Romanian: cross-attention' },
    { name: 'HuggingFaceTB/SmolLM2-135M', size: 269e6, shows: 'A small Llama of 30 layers, three query heads to each key head' },
    { name: 'distilbert/distilgpt2', size: 353e6, shows: 'GPT-2 distilled to six layers, to be compared with GPT-2' },
    { name: 'google-bert/bert-base-uncased', size: 440e6, shows: 'Looks both ways and fills in [MASK]' },
    { name: 'openai-community/gpt2', size: 548e6, shows: 'Twelve layers, in which heads that copy and heads that move names were found' },
    { name: 'Qwen/Qwen3-0.6B', size: 1503e6, shows: 'Many languages; norms of q and k; near to what a tab can hold' },
];

/**
 * @param {{name: string, size: number, shows: string}} model
 * @param {() => void} action
 */
export function firstModel({ name, size, shows }, action) {
    return made('li', {}, made('button', { type: 'button', className: 'row', onclick: action },
        made('b', {}, name), made('span', { className: 'size' }, bytes(size)), made('span', {}, shows)));
}

/**
 * @param {KeptModel} model
 * @param {{open: () => void, remove: () => void}} calls
 */
export function keptModel({ plan, whole, here }, { open, remove }) {
    const name = shownNameOf(plan);
    const button = (/** @type {string} */ label, /** @type {() => void} */ action) => made('button', { type: 'button', ariaLabel: `${label} ${name}`, onclick: action }, label);
    const size = whole ? bytes(here) : `${bytes(here)} of ${bytes(sizeOfPlan(plan))}`;
    return made('li', { className: 'row' }, made('b', {}, name),
        made('span', { className: 'size' }, `${size} · commit ${plan.commit.slice(0, 7)}`),
        made('span', { className: 'choices' }, button(whole ? 'Open' : 'Go on', open), button('Delete', remove)));
}

/**
 * @param {[term: string, words: string][]} pairs
 */
export const facts = (pairs) => pairs.filter(([, words]) => words).flatMap(([term, words]) => [made('dt', {}, term), made('dd', {}, words)]);

/** @param {Listed[]} files */
export const fileRows = (files) => files.map(({ path, size }) => made('tr', {}, made('td', {}, path), made('td', {}, bytes(size))));

/** @param {Choice} choice */
export const choiceOption = ({ name, files }) => new Option(`${name}, ${bytes(files.reduce((sum, { size }) => sum + size, 0))}`);

/** @param {number} seconds */
function inTime(seconds) {
    return seconds < 90 ? `${Math.ceil(seconds)} s left` : seconds < 5400 ? `${Math.ceil(seconds / 60)} min left` : `${Math.ceil(seconds / 3600)} h left`;
}

/**
 * Describes the progress of a download: "120 MB of 551 MB · 12 MB/s · 36 s left".
 *
 * @param {{arrived: number, total: number, speed: number, left: number}} fetching
 */
export function howFar({ arrived, total, speed, left }) {
    const pace = speed > 0 ? [`${bytes(speed)}/s`, inTime(left)] : [];
    return [`${bytes(arrived)} of ${bytes(total)}`, ...pace].join(' · ');
}

/**
 * Unchanged words are not written again, because a screen reader would repeat them.
 *
 * @param {'hub-fault' | 'hub-far' | 'hub-flow-says' | 'hub-pause'} id
 * @param {string} words
 */
export function say(id, words) {
    if (element(id).textContent !== words) {
        element(id).textContent = words;
    }
}

/** @param {'choose' | 'found' | 'flow' | 'token'} part */
export function showPart(part) {
    element('hub-form').hidden = part === 'flow';
    element('hub-found').hidden = part !== 'found';
    element('hub-flow').hidden = part !== 'flow';
    element('hub-secret').hidden = part !== 'token';
    element('hub-first').hidden = part !== 'choose';
    element('hub-kept').hidden = part !== 'choose' || element('hub-kept-list').childElementCount === 0;
    element('hub-busy').hidden = true;
    element('hub-retry').hidden = true;
}

/** @param {string} reason */
export function sayFault(reason) {
    say('hub-fault', reason);
    element('hub-fault').hidden = reason === '';
    element('hub-name').setAttribute('aria-invalid', String(reason !== ''));
}

/** @param {string} words */
export function sayBusy(words) {
    element('hub-busy').textContent = words;
    element('hub-busy').hidden = false;
}
