// What the shell's modules find around them.

/** The elements of index.html by their ids, as far as the shell asks for them. */
interface PageElements {
    about: HTMLDivElement;
    bar: HTMLElement;
    bundled: HTMLDivElement;
    canvas: HTMLCanvasElement;
    curtain: HTMLElement;
    dark: HTMLLinkElement;
    drop: HTMLParagraphElement;
    failure: HTMLDivElement;
    'failure-reason': HTMLParagraphElement;
    'failure-reload': HTMLButtonElement;
    'failure-title': HTMLHeadingElement;
    'files-input': HTMLInputElement;
    field: HTMLInputElement;
    find: HTMLButtonElement;
    first: HTMLDivElement;
    'folder-input': HTMLInputElement;
    link: HTMLButtonElement;
    live: HTMLParagraphElement;
    loading: HTMLDivElement;
    'loading-bar': HTMLProgressElement;
    'loading-text': HTMLParagraphElement;
    model: HTMLButtonElement;
    'model-menu': HTMLDivElement;
    'model-name': HTMLSpanElement;
    notices: HTMLDivElement;
    'open-files': HTMLButtonElement;
    'open-folder': HTMLButtonElement;
    'open-tensors': HTMLButtonElement;
    redo: HTMLButtonElement;
    semantics: HTMLDivElement;
    second: HTMLDivElement;
    third: HTMLDivElement;
    fourth: HTMLDivElement;
    stage: HTMLDivElement;
    table: HTMLButtonElement;
    'table-choice': HTMLSelectElement;
    'table-close': HTMLButtonElement;
    'table-copy': HTMLButtonElement;
    'table-dialog': HTMLDialogElement;
    'table-form': HTMLSelectElement;
    'table-text': HTMLPreElement;
    'table-title': HTMLHeadingElement;
    'table-view': HTMLTableElement;
    'tensors-input': HTMLInputElement;
    theme: HTMLButtonElement;
    undo: HTMLButtonElement;
}

interface Document {
    getElementById<Id extends keyof PageElements>(id: Id): PageElements[Id];
}

/** The running program. The browser tests ask it questions. */
declare var explorer: import('./contract.d.ts').Module;

/** The build copies the library into the site, beside the shell. */
declare module '*/tokenizers.min.mjs' {
    export { Tokenizer } from '@huggingface/tokenizers';
}
