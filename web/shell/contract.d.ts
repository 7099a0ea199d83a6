// The contract between the program, which is C++ compiled to WebAssembly, and the shell, which is the
// JavaScript around it. web/platform implements the other side, and tests/unit/shell/contract.test.mjs
// compares the two.

declare const kind: unique symbol;
type Kind<Name extends string> = number & { [kind]: Name };

/**
 * The address of UTF-8 with a closing zero. The shell allocates the text it passes and frees it after the
 * call; a returned text belongs to the program and is valid until its next call.
 */
export type Text = Kind<'text'>;

/** The address of bytes. The shell allocates the bytes it passes and frees them after the call. */
export type Bytes = Kind<'bytes'>;

/** 0 or 1. */
export type Flag = Kind<'flag'>;

/** Functions that the shell may call. A refusal comes with a notice that says why. */
export interface Exports {
    /**
     * The program copies the bytes of a font. Kinds 0 regular, 1 semibold and 2 mono come before the start;
     * kind 3, for characters that those lack, at any time, if `canvasReads` denies that the browser can draw them.
     */
    _explorer_font(kind: number, bytes: Bytes, size: number): void;

    /**
     * Before the start: with an empty fragment the page shows this head of this model, which the program
     * requests by `openNamed`.
     */
    _explorer_home(model: Text, layer: number, head: number): void;

    /** Once the whole program is here: threads compute, where it has any. */
    _explorer_use_threads(): void;

    /** After the start: the model that the bare address opens with is long in coming. */
    _explorer_meanwhile(): void;

    /** After the start: the user is new here and is shown the first lesson. */
    _explorer_greet(): void;

    /**
     * Before the start: the page is a frame in another page, and shows one lens. `names`, separated by commas,
     * are what can be changed if the rest is `locked`.
     */
    _explorer_embed(names: Text, locked: Flag): void;

    /** Returns what can be changed in the open lens: an array of [name, what it is], as JSON. */
    _explorer_changeable(): Text;

    /** Returns a `Chosen` as JSON. */
    _explorer_chosen(): Text;

    /** Saves the figure that `askFigure` asked about. */
    _explorer_figure(width_mm: number, caption: Text, link: Text): void;

    /** Draws the picture on screen once more, before it returns. */
    _explorer_picture(): void;

    /** Before the start: what `remember` was told under "lessons" and "lesson-draft". */
    _explorer_kept_lessons(text: Text, draft: Text): void;
    /** The site's lessons: an array of {name, title, needs, minutes, languages}, as JSON. */
    _explorer_lessons(list: Text): void;
    /** The lesson that `fetchLesson` requested, or one sentence that says why it cannot be had. */
    _explorer_lesson(name: Text, text: Text): void;
    _explorer_lesson_failed(name: Text, why: Text): void;
    /** A lesson that the user has opened. */
    _explorer_lesson_file(text: Text): void;

    /** Before the start: the panels that the user has folded away. */
    _explorer_fold(lenses: Flag, explanations: Flag, groups: number): void;

    /**
     * `fragment` is the address's, without '#'; `touch` says that the user points with fingers, so text
     * fields are the page's. Returns 0 if the program cannot draw.
     */
    _explorer_start(fragment: Text, dark: Flag, contrast: Flag, reduced_motion: Flag, touch: Flag): Flag;

    /** The program draws no frames before this call. */
    _explorer_draw(): void;

    /** The user has gone back or forward, or has edited the address. */
    _explorer_fragment(fragment: Text): void;

    _explorer_theme(dark: Flag, contrast: Flag): void;

    /** Sets how large the page is drawn: CSS pixels of the stage per point, the program's unit for places. */
    _explorer_scale(scale: number): void;

    /** Makes the program check whether there is something to draw. */
    _explorer_wake(): void;
    /** The page was pressed outside the canvas, so open lists close. */
    _explorer_pressed_elsewhere(): void;

    /** The user has changed the text; its tokens follow if a model is open. */
    _explorer_sentence(box: number, text: Text): void;

    /**
     * `ids` holds `count` int32, the first of `total` as far as the model's context goes; `pieces` is a JSON
     * array of `count` strings to show.
     */
    _explorer_tokens(box: number, text: Text, ids: Bytes, count: number, total: number, pieces: Text): void;

    /**
     * A model begins to arrive. The files that follow are config.json, the index if there is one, and the
     * weights; or the GGUF files of a model, whose name and `readsAlike` are given again when they are
     * complete.
     */
    _explorer_model_name(name: Text, readsAlike: Flag): void;

    /** Returns one sentence if a model with this config.json cannot be opened, or an empty text. */
    _explorer_model_refusal(config: Bytes, size: number): Text;

    /** Returns the address to write the file's bytes to, or 0 if the file is refused. */
    _explorer_model_buffer(name: Text, size_low: number, size_high: number): number;

    /**
     * This many bytes of a weight file have been written. Returns how many are needed to check its header, 0
     * once that is done, or -1 if the file is refused.
     */
    _explorer_model_check_header(name: Text, written_low: number, written_high: number): number;

    /**
     * Takes the next bytes of a weight file of that size, whose matrices are rounded to 8 bits. Returns 1 if
     * it is refused.
     */
    _explorer_model_rounded(name: Text, size_low: number, size_high: number, part: Bytes, count: number): Flag;

    /**
     * Returns a `FileTokenizer` as JSON if the files that have arrived carry one, as GGUF files do, or an
     * empty text.
     */
    _explorer_model_tokenizer(): Text;

    /**
     * Returns an `EncodedText` as JSON, by the tokenizer in the open model's file; `ends` requests the tokens
     * at a text's ends.
     */
    _explorer_model_encode(text: Bytes, size: number, ends: Flag): Text;

    /** All files have been written. Returns 1 if the model is refused; then the previous one stays open. */
    _explorer_model_load(): Flag;

    /** The files that have arrived will not become a model. */
    _explorer_model_discard(): void;

    /** The model that the program requested by `openNamed` or `openGiven` will not be opened. */
    _explorer_model_failed(): void;

    /** Returns how many tokens the open model takes; 0 if none is open. */
    _explorer_model_context(): number;

    /** Returns the address to write the bytes of a tensor file to, or 0 if the file is refused. */
    _explorer_tensors_buffer(name: Text, size_low: number, size_high: number): number;

    /** All files have been written: the program reads them, asks, and shows them, or says why not. */
    _explorer_tensors_arrived(): void;

    /** The files that have arrived will not be shown. */
    _explorer_tensors_discard(): void;

    /** Returns the address to write the bytes of a .zip to, or 0 if it is refused. */
    _explorer_archive_buffer(name: Text, size_low: number, size_high: number): number;

    /**
     * All bytes have been written: the program unpacks them and gives the files back by `giveFile`, or says
     * why not.
     */
    _explorer_archive_arrived(): void;

    /** The bytes that have arrived will not be unpacked. */
    _explorer_archive_discard(): void;

    _explorer_paste(text: Text): void;

    /**
     * Gives the text in the text field of this key, which lies over the canvas; `entered` says that the user
     * has finished. `caret` counts bytes.
     */
    _explorer_field(key: Text, text: Text, entered: Flag, caret: number): void;

    /**
     * Returns a `Semantics` of what is drawn, as JSON; nodes that have not changed since the last call are
     * only their keys.
     */
    _explorer_semantics(): Text;

    /** The focus is on this node's element and, for a grid, on this cell; an empty key: on none. */
    _explorer_focus_node(key: Text, row: number, col: number): void;
    _explorer_press_node(key: Text, row: number, col: number): void;

    /** Moves a slider up by this many steps or, if infinite, to its end. */
    _explorer_step_node(key: Text, steps: number): void;

    /** Opens the palette that finds everything by name. */
    _explorer_palette(): void;
    _explorer_link_leaves_out(): Flag;
    _explorer_undo(): void;
    _explorer_redo(): void;

    /** Returns the matrices on screen, an array of `Table` as JSON; the one in focus comes first. */
    _explorer_tables(): Text;

    /** Returns one of these matrices as text: "cells", "markdown" or "shades". */
    _explorer_table_text(which: number, form: Text): Text;

    /** Returns the text that the copy key takes from the canvas, or an empty text. */
    _explorer_copy_text(): Text;

    _explorer_context_lost(): void;
    _explorer_context_restored(): void;
}

/** What the user has chosen; `value` is the number in `cell`, which is pinned. */
export interface Chosen {
    subject: string;
    lens: string;
    layer: number;
    head: number;
    query: number | null;
    key: number | null;
    query_token: string | null;
    key_token: string | null;
    cell: string | null;
    value: number | null;
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
    /** A role of ARIA. */
    role: string;
    /** 0 at the top; a node belongs to the last preceding node of smaller depth. */
    depth: number;
    name: string;
    place: [left: number, top: number, width: number, height: number];
    value?: string;
    description?: string;
    /** The key of the option that a combobox points at. */
    active?: string;
    disabled?: boolean;
    /** Chosen; if the node `opens`, whether it is open. */
    on?: boolean;
    opens?: boolean;
    /** A field of several lines, which `setField` lays. */
    lines?: boolean;
    range?: [now: number, least: number, most: number];
    grid?: SemanticGrid;
}

/** Cells are listed from `first` on, row by row. */
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
 * A tokenizer in a file: how it spells each token, and the token's kind (3 control, 4 defined by a user, 5
 * unused, 6 a byte, 2 for anything that has no token). `name` is the model's, or empty.
 */
export interface FileTokenizer {
    name: string;
    byteLevel: boolean;
    /** A text is read with a blank before it. */
    addsSpace: boolean;
    tokens: string[];
    types: number[];
}

/** With a fault, which is one sentence, there are no ids. */
export interface EncodedText {
    ids: number[];
    fault: string | null;
}

/** The ids of tokens that do not stand for text; null if the model has none of that kind. */
export interface SpecialTokens {
    mask: number | null;
    separator: number | null;
    all: number[];
}

/**
 * Functions that the program may call, on `Module.shell`. It calls them inside its frames, so anything that
 * calls back into the program waits until the call has returned.
 */
export interface Shell {
    /** A message of one sentence. */
    notice(text: string, kind: 'info' | 'error'): void;

    /** Text for screen readers. */
    announce(text: string): void;

    /** The fragment of the address, without '#'; `push` makes it a step of the browser's history. */
    setUrl(fragment: string, push: boolean): void;

    /** `tokenized`: the program wants the tokens of the text. */
    setSentence(text: string, enabled: boolean, tokenized: boolean, placeholder: string): void;

    /** The sentence box is not used at present. */
    hideSentence(): void;

    /**
     * Shows a box below the first (1, 2 or 3) with this text, whose tokens are requested: without those at a
     * text's ends if the model continues the text.
     */
    setLowerBox(box: number, text: string, placeholder: string, continued: boolean): void;

    /** This box is not used at present. */
    hideLowerBox(box: number): void;

    /** The name of the open model. */
    setTitle(text: string): void;

    setHistory(can_undo: boolean, can_redo: boolean): void;

    /** Returns a JSON array of strings: how each id is shown. */
    idsToText(ids: number[]): string;

    /** Returns a JSON array of the open model's tokens of a short text, empty if it should not be split. */
    textToIds(text: string): string;

    /** Adds a generated token to the text of a box (0 is the first). */
    appendToken(box: number, id: number): void;

    /** Replaces this many tokens of the text by these. */
    writeTokens(first: number, count: number, ids: number[]): void;

    /** Returns a `SpecialTokens` of the open model as JSON. */
    specialTokens(): string;

    copy(text: string): void;

    /** The drawing no longer matches what `_explorer_semantics` last returned. */
    semanticsChanged(): void;

    /** Makes the browser remember, for later visits, that this has been done, or how it was set. */
    remember(what: string, value: string): void;

    /** The size of the whole page, in percent. */
    setTextSize(percent: number): void;

    /** Offers a file of the program's bytes as a download. */
    download(name: string, address: number, size: number, mime: string): void;

    /** Sets the mouse's cursor, by its name in CSS. */
    cursor(name: string): void;

    /**
     * Returns whether such a model comes with the site, or is a name on the hub, hub:org/name@revision. If
     * so, it is opened after the call; a model of the hub that is not kept only if the user agrees.
     */
    openNamed(name: string): boolean;

    /**
     * Lays a text field over the canvas, at these points of the stage. While nobody types it holds `text`.
     * `number` requests a keyboard of digits, and reports the text only when it is entered; `lines` allows
     * several lines. With `select`, a range in bytes, it takes the keyboard and shows this part of the text.
     */
    setField(key: string, name: string, text: string, number: boolean, lines: boolean, select: [begin: number, end: number] | null, left: number, top: number, width: number, height: number): void;
    hideField(key: string): void;

    /**
     * Draws a character that the page's fonts lack, or a run of letters that join, into `width` × `height`
     * pixels of four bytes at the address. Returns the distance to the next character, in pixels. `size` is
     * the font's.
     */
    drawGlyph(text: string, size: number, address: number, width: number, height: number): number;

    /** Says whether pixels read from a drawing are the ones that were drawn. */
    canvasReads(): boolean;

    /** Requests a lesson of the site; `_explorer_lesson` or `_explorer_lesson_failed` answers after the call. */
    fetchLesson(name: string): void;

    /** Copies the page's address with this fragment. */
    copyLink(fragment: string): void;

    /** Asks how wide a figure is to be and what it says; `_explorer_figure` answers after the call, or nothing does. */
    askFigure(caption: string): void;

    /** Opens the dialog that writes a frame with what is on screen, after the call. */
    showEmbed(): void;

    /** Opens what a frame shows as a page of its own. */
    openWhole(): void;

    /** Downloads the page with what is on screen as one file. */
    savePage(): void;

    /** Opens the dialog that chooses files of tensors. */
    chooseTensors(): void;

    /** Opens the dialog of tables at the table with this title, after the call. */
    showTable(title: string): void;

    /** A file for the page to open; `openGiven` follows when all have been given. */
    giveFile(path: string, address: number, size: number): void;

    /**
     * Opens the given files after the call: as if the user had dropped them or, if `awaited`, as if they were
     * a model that comes with the site.
     */
    openGiven(awaited: boolean): void;
}

/** The running program as Emscripten provides it. */
export interface Module extends Exports {
    wasmMemory: { readonly buffer: ArrayBufferLike };
    _malloc(size: number): number;
    _free(address: number): void;
    /** Adds the other part of the program (web/platform/parts.js). */
    addRest(rest: WebAssembly.Module): Promise<void>;
    isWhole?: boolean;
    shell?: Shell;
}

/** What the shell passes where the program takes a value of this kind. */
type Given<Value> = Value extends Text ? string : Value extends Bytes ? Uint8Array : Value extends Flag ? boolean : number;
type Each<Values extends unknown[]> = { [Place in keyof Values]: Given<Values[Place]> };

/** What the shell passes as the arguments of an export. */
export type Arguments<Name extends keyof Exports> = Each<Parameters<Exports[Name]>>;
