// Declares what the shell's modules find around them.

/** The elements of index.html by their ids, as far as the shell uses them. */
interface PageElements {
    about: HTMLDivElement;
    bar: HTMLElement;
    bundled: HTMLDivElement;
    canvas: HTMLCanvasElement;
    curtain: HTMLElement;
    dark: HTMLLinkElement;
    drop: HTMLParagraphElement;
    embed: HTMLButtonElement;
    'embed-close': HTMLButtonElement;
    'embed-code': HTMLTextAreaElement;
    'embed-copy': HTMLButtonElement;
    'embed-dialog': HTMLDialogElement;
    'embed-fault': HTMLParagraphElement;
    'embed-form': HTMLFormElement;
    'embed-height': HTMLInputElement;
    'embed-names': HTMLDivElement;
    'embed-only': HTMLSelectElement;
    'embed-origin': HTMLInputElement;
    'embed-says': HTMLParagraphElement;
    failure: HTMLDivElement;
    'failure-reason': HTMLParagraphElement;
    'failure-reload': HTMLButtonElement;
    'failure-title': HTMLHeadingElement;
    'files-input': HTMLInputElement;
    field: HTMLInputElement;
    'figure-caption': HTMLTextAreaElement;
    'figure-close': HTMLButtonElement;
    'figure-dialog': HTMLDialogElement;
    'figure-form': HTMLFormElement;
    'figure-link': HTMLInputElement;
    'figure-width': HTMLInputElement;
    find: HTMLButtonElement;
    first: HTMLDivElement;
    'folder-input': HTMLInputElement;
    'hub-asks': HTMLLabelElement;
    'hub-back': HTMLButtonElement;
    'hub-bar': HTMLProgressElement;
    'hub-busy': HTMLParagraphElement;
    'hub-choice': HTMLSelectElement;
    'hub-close': HTMLButtonElement;
    'hub-dialog': HTMLDialogElement;
    'hub-facts': HTMLElement;
    'hub-far': HTMLParagraphElement;
    'hub-fault': HTMLParagraphElement;
    'hub-fetch': HTMLButtonElement;
    'hub-files': HTMLElement;
    'hub-first': HTMLElement;
    'hub-first-list': HTMLElement;
    'hub-fits': HTMLParagraphElement;
    'hub-flow': HTMLElement;
    'hub-flow-says': HTMLParagraphElement;
    'hub-flow-title': HTMLHeadingElement;
    'hub-form': HTMLFormElement;
    'hub-found': HTMLElement;
    'hub-found-title': HTMLHeadingElement;
    'hub-kept': HTMLElement;
    'hub-kept-list': HTMLElement;
    'hub-look': HTMLButtonElement;
    'hub-name': HTMLInputElement;
    'hub-pause': HTMLButtonElement;
    'hub-retry': HTMLButtonElement;
    'hub-says': HTMLParagraphElement;
    'hub-secret': HTMLFormElement;
    'hub-stop': HTMLButtonElement;
    'hub-token': HTMLInputElement;
    'hub-token-says': HTMLParagraphElement;
    'hub-unkept': HTMLButtonElement;
    'keys-close': HTMLButtonElement;
    'keys-dialog': HTMLDialogElement;
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
    'open-hub': HTMLButtonElement;
    'save-page': HTMLButtonElement;
    'open-tensors': HTMLButtonElement;
    redo: HTMLButtonElement;
    semantics: HTMLDivElement;
    second: HTMLDivElement;
    third: HTMLDivElement;
    fourth: HTMLDivElement;
    size: HTMLButtonElement;
    stage: HTMLDivElement;
    table: HTMLButtonElement;
    'table-choice': HTMLSelectElement;
    'table-close': HTMLButtonElement;
    'table-copy': HTMLButtonElement;
    'table-save': HTMLButtonElement;
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

/** A worker's methods of a private file, which the checker's types for a page lack. */
interface FileSystemSyncAccessHandle {
    read(buffer: Uint8Array, options: { at: number }): number;
    write(buffer: Uint8Array, options: { at: number }): number;
    truncate(size: number): void;
    getSize(): number;
    flush(): void;
    close(): void;
}

interface FileSystemFileHandle {
    createSyncAccessHandle(): Promise<FileSystemSyncAccessHandle>;
}

/** The running program. The browser tests ask it questions. */
declare var explorer: import('./contract.d.ts').Module;

/** The build copies the library into the site, beside the shell. */
declare module '*/tokenizers.min.mjs' {
    export { Tokenizer } from '@huggingface/tokenizers';
}

/** The site's build and the SHA-256 of each of its files; the build of the site writes it before offline_worker.js. */
declare const site: { build: string, files: Record<string, string> };

interface ExtendableEvent extends Event {
    waitUntil(done: Promise<unknown>): void;
}
interface FetchEvent extends ExtendableEvent {
    request: Request;
    respondWith(answer: Promise<Response>): void;
}
interface ServiceWorkerGlobalScope {
    registration: ServiceWorkerRegistration;
    addEventListener(type: 'install' | 'activate', on: (event: ExtendableEvent) => void): void;
    addEventListener(type: 'fetch', on: (event: FetchEvent) => void): void;
}
