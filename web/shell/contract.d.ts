// The contract between the program, which is C++ compiled to WebAssembly, and the shell, which is the JavaScript
// around it. web/platform holds the other side of it, and tests/unit/shell/contract.test.mjs compares the two.

declare const kind: unique symbol;
type Kind<Name extends string> = number & { [kind]: Name };

/**
 * The address of UTF-8 with a closing zero. The shell allocates what it passes and frees it after the call; what the
 * program returns belongs to the program and is good until its next call.
 */
export type Text = Kind<'text'>;

/** The address of bytes. The shell allocates what it passes and frees it after the call. */
export type Bytes = Kind<'bytes'>;

/** 0 or 1. */
export type Flag = Kind<'flag'>;

/** What the shell may call. A refusal comes with a notice that says why. */
export interface Exports {
    /**
     * The program copies the bytes of a font. Kinds 0 regular, 1 semibold and 2 mono come before the start, kind 3, for
     * the characters that those lack, at any time.
     */
    _explorer_font(kind: number, bytes: Bytes, size: number): void;

    /**
     * Before the start: with an empty fragment the page shows this head of this model, which the program asks for by
     * `openNamed`.
     */
    _explorer_home(model: Text, layer: number, head: number): void;

    /** Before the start: the person is new here and is shown the first steps. */
    _explorer_greet(): void;

    /** Before the start: the panels that the person has folded away. */
    _explorer_fold(lenses: Flag, explanations: Flag, groups: number): void;

    /**
     * `fragment` is that of the address, without '#'; `touch` says that fingers point, and text fields are the page's.
     * The answer is 0 where the program cannot draw.
     */
    _explorer_start(fragment: Text, dark: Flag, contrast: Flag, reduced_motion: Flag, touch: Flag): Flag;

    /** The program draws no frames before this call. */
    _explorer_draw(): void;

    /** The person has gone back or forward, or has edited the address. */
    _explorer_fragment(fragment: Text): void;

    _explorer_theme(dark: Flag, contrast: Flag): void;

    /** The page is drawn larger: so many CSS pixels of the stage are a point, in which the program gives places. */
    _explorer_scale(scale: number): void;

    /** The program looks whether there is something to draw. */
    _explorer_wake(): void;
    /** The page was pressed beside the canvas: lists that are open there close. */
    _explorer_pressed_elsewhere(): void;

    /** The person has changed the text; its tokens follow where a model is open. */
    _explorer_sentence(box: number, text: Text): void;

    /**
     * `ids` holds `count` int32, the first of `total` as far as the model's context goes; `pieces` is a JSON array of
     * `count` strings to show.
     */
    _explorer_tokens(box: number, text: Text, ids: Bytes, count: number, total: number, pieces: Text): void;

    /**
     * A model begins to arrive. The files that follow are config.json, the index where there is one, and the weights; or
     * those of a model in GGUF files alone, which has its name and `readsAlike` once more when they are there.
     */
    _explorer_model_name(name: Text, readsAlike: Flag): void;

    /** One sentence where no model with this config.json can be opened, or an empty text. */
    _explorer_model_refusal(config: Bytes, size: number): Text;

    /** The answer is the address that the file's bytes are written to, or 0 where the file is refused. */
    _explorer_model_buffer(name: Text, size_low: number, size_high: number): number;

    /**
     * So many first bytes of a weight file have been written. The answer is how many are needed to check its header, 0
     * once that is done, or -1 where the file is refused.
     */
    _explorer_model_check_header(name: Text, written_low: number, written_high: number): number;

    /**
     * Takes the next bytes of a weight file of that size, whose matrices are rounded to 8 bits. The answer is 1 where it is
     * refused.
     */
    _explorer_model_rounded(name: Text, size_low: number, size_high: number, part: Bytes, count: number): Flag;

    /** A `FileTokenizer` as JSON where the files that have arrived carry one, as GGUF files do, or an empty text. */
    _explorer_model_tokenizer(): Text;

    /** An `EncodedText` as JSON, by the tokenizer that the open model's file carries; `ends` asks for the tokens around a text. */
    _explorer_model_encode(text: Bytes, size: number, ends: Flag): Text;

    /** All files have been written. The answer is 1 where the model is refused; then the earlier one stays open. */
    _explorer_model_load(): Flag;

    /** The files that have arrived are not going to be a model. */
    _explorer_model_discard(): void;

    /** The model that the program asked for by `openNamed` or `openGiven` is not going to be open. */
    _explorer_model_failed(): void;

    /** How many tokens the open model takes; 0 where none is open. */
    _explorer_model_context(): number;

    /** The answer is the address that the bytes of a file of tensors are written to, or 0 where the file is refused. */
    _explorer_tensors_buffer(name: Text, size_low: number, size_high: number): number;

    /** All files have been written: the program reads them, asks, and shows them, or says why not. */
    _explorer_tensors_arrived(): void;

    /** The files that have arrived are not going to be shown. */
    _explorer_tensors_discard(): void;

    /** The answer is the address that the bytes of a .zip are written to, or 0 where it is refused. */
    _explorer_archive_buffer(name: Text, size_low: number, size_high: number): number;

    /** All bytes have been written: the program unpacks them and gives the files back by `giveFile`, or says why not. */
    _explorer_archive_arrived(): void;

    /** The bytes that have arrived are not going to be unpacked. */
    _explorer_archive_discard(): void;

    _explorer_paste(text: Text): void;

    /** What the text field of this key holds, which lies over the canvas; `entered` says that the person has finished. */
    _explorer_field(key: Text, text: Text, entered: Flag): void;

    /** What is drawn, a `Semantics` as JSON: of nodes that have not changed since the last call, only the keys. */
    _explorer_semantics(): Text;

    /** The focus is on the element of this node, and of a grid on this cell; an empty key says that it is on none. */
    _explorer_focus_node(key: Text, row: number, col: number): void;
    _explorer_press_node(key: Text, row: number, col: number): void;

    /** A slider goes up by so many steps, or, by infinitely many, to its end. */
    _explorer_step_node(key: Text, steps: number): void;

    /** Opens the palette that finds everything by its name. */
    _explorer_palette(): void;
    _explorer_link_leaves_out(): Flag;
    _explorer_undo(): void;
    _explorer_redo(): void;

    /** The matrices on screen, an array of `Table` as JSON; the one in focus comes first. */
    _explorer_tables(): Text;

    /** One of these matrices as text: "cells", "markdown" or "shades". */
    _explorer_table_text(which: number, form: Text): Text;

    /** What the copy key takes from the canvas, or an empty text. */
    _explorer_copy_text(): Text;

    _explorer_context_lost(): void;
    _explorer_context_restored(): void;
}

/** Each row begins with its heading. */
export interface Table {
    title: string;
    columns: string[];
    rows: string[][];
}

/** Places are left, top, width and height in points of the stage. */
export interface SemanticNode {
    key: string;
    /** One of ARIA's. */
    role: string;
    /** 0 at the top; a node belongs to the last one before it that is less deep. */
    depth: number;
    name: string;
    place: [left: number, top: number, width: number, height: number];
    value?: string;
    description?: string;
    /** The key of the option that a combobox points at. */
    active?: string;
    disabled?: boolean;
    /** Chosen; of what `opens`, whether it is open. */
    on?: boolean;
    opens?: boolean;
    range?: [now: number, least: number, most: number];
    grid?: SemanticGrid;
}

/** Cells are given from `first` on, row by row. */
export interface SemanticGrid {
    rows: number;
    cols: number;
    first: [row: number, col: number];
    rowNames: string[];
    columnNames: string[];
    cells: string[];
    at: [left: number, top: number];
    cell: [width: number, height: number];
    chosen?: [row: number, col: number];
    editable: boolean;
}

/** `typing` is the key of the text field that has the keyboard, or empty. */
export interface Semantics {
    nodes: (SemanticNode | string)[];
    typing: string;
}

/**
 * A tokenizer that a file carries: how it spells each token, and what kind of token that is (3 control, 4 defined by a
 * user, 5 unused, 6 a byte, 2 for what has no token). `name` is the model's, or empty.
 */
export interface FileTokenizer {
    name: string;
    byteLevel: boolean;
    /** A text is read with a blank in front of it. */
    addsSpace: boolean;
    tokens: string[];
    types: number[];
}

/** With a fault, which is one sentence, there are no ids. */
export interface EncodedText {
    ids: number[];
    fault: string | null;
}

/** The ids of tokens that stand for something else than text; null where the model has none of the kind. */
export interface SpecialTokens {
    mask: number | null;
    separator: number | null;
    all: number[];
}

/**
 * What the program may call, on `Module.shell`. It calls inside its frames, so whatever calls back into it waits until
 * the call has returned.
 */
export interface Shell {
    /** A message of one sentence. */
    notice(text: string, kind: 'info' | 'error'): void;

    /** Words for those who listen to a screen reader. */
    announce(text: string): void;

    /** The fragment of the address, without '#'; `push` makes it a step of the browser's history. */
    setUrl(fragment: string, push: boolean): void;

    /** `tokenized` says that the tokens of the text are wanted. */
    setSentence(text: string, enabled: boolean, tokenized: boolean, placeholder: string): void;

    /** The sentence box is not used at present. */
    hideSentence(): void;

    /** A box below the first (1, 2 or 3) is shown with this text, and its tokens are wanted: without those of a text's ends where the model goes on with it. */
    setLowerBox(box: number, text: string, placeholder: string, continued: boolean): void;

    /** That box is not used at present. */
    hideLowerBox(box: number): void;

    /** The name of the open model. */
    setTitle(text: string): void;

    setHistory(can_undo: boolean, can_redo: boolean): void;

    /** The answer is a JSON array of strings, how each id is shown. */
    idsToText(ids: number[]): string;

    /** The answer is a JSON array of the open model's tokens of a short text, none if it is not to be split. */
    textToIds(text: string): string;

    /** The text of a box (0 is the first) grows by a generated token. */
    appendToken(box: number, id: number): void;

    /** In the text, these tokens take the place of so many others. */
    writeTokens(first: number, count: number, ids: number[]): void;

    /** The answer is a `SpecialTokens` of the open model as JSON. */
    specialTokens(): string;

    copy(text: string): void;

    /** Something else is drawn than `_explorer_semantics` has told. */
    semanticsChanged(): void;

    /** The browser keeps in mind, for later visits, that this has been done, or how it was set. */
    remember(what: string, value: string): void;

    /** The size of the whole page, in percent. */
    setTextSize(percent: number): void;

    /** A file of the program's bytes for the person to keep. */
    download(name: string, address: number, size: number, mime: string): void;

    /** The mouse's cursor, by its name in CSS. */
    cursor(name: string): void;

    /**
     * The answer is whether such a model comes with the site, or is named as the hub's, hub:org/name@revision; if so, it is
     * opened after the call, one of the hub that is not kept only when the person says so.
     */
    openNamed(name: string): boolean;

    /**
     * A text field lies over the canvas, at these points of the stage. While nobody types it holds `text`. `number`
     * asks for a keyboard of digits, and for the text only when it is entered.
     */
    setField(key: string, name: string, text: string, number: boolean, left: number, top: number, width: number, height: number): void;
    hideField(key: string): void;

    /**
     * Draws a character that the page's fonts lack, or a run of letters that join, into `width` × `height` pixels of four bytes at the address; the
     * answer is how far the next character is, in pixels. `size` is the font's.
     */
    drawGlyph(text: string, size: number, address: number, width: number, height: number): number;

    /** Whether what is read from a drawing is what was drawn. */
    canvasReads(): boolean;

    /** Opens the dialog that chooses files of tensors. */
    chooseTensors(): void;

    /** Opens the dialog of tables with the one of this title, after the call. */
    showTable(title: string): void;

    /** A file for the page to open; `openGiven` follows when all are given. */
    giveFile(path: string, address: number, size: number): void;

    /**
     * The given files are opened after the call: as if the person had dropped them, or, where `awaited`, as if they were a
     * model that comes with the site.
     */
    openGiven(awaited: boolean): void;
}

/** The running program as Emscripten hands it over. */
export interface Module extends Exports {
    wasmMemory: { readonly buffer: ArrayBufferLike };
    _malloc(size: number): number;
    _free(address: number): void;
    shell?: Shell;
}

/** What the shell gives where the program takes a value of this kind. */
type Given<Value> = Value extends Text ? string : Value extends Bytes ? Uint8Array : Value extends Flag ? boolean : number;
type Each<Values extends unknown[]> = { [Place in keyof Values]: Given<Values[Place]> };

/** What the shell gives for the arguments of an export. */
export type Arguments<Name extends keyof Exports> = Each<Parameters<Exports[Name]>>;
