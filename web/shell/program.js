// The program's exports as calls on plain values: the one module that touches the program's memory.
//
// The contract. Strings are UTF-8 with a closing zero; the shell allocates what it passes with _malloc and frees it
// after the call. A returned string belongs to the program and is good until its next call. Flags are 0 or 1.
//
// shell → program
//   _explorer_font(kind, bytes, size)      kind 0 regular, 1 semibold, 2 mono: before start; 3 fallback: at any time.
//                                          The program copies.
//   _explorer_home(model, layer, head)     before start: with an empty fragment the page shows this model, which the
//                                          program asks for, and this head of it
//   _explorer_start(fragment, dark, reduced_motion) → 0 when it cannot draw
//   _explorer_draw()                       from now on there are frames
//   _explorer_fragment(fragment)           back, forward or an edited address; without '#', as in the address
//   _explorer_theme(dark)  _explorer_wake()
//   _explorer_sentence(text)               the person changed the text; tokens follow when a model is open
//   _explorer_tokens(text, ids, count, total, pieces)
//                                          ids: int32[count], the first of `total` as far as the context goes;
//                                          pieces: JSON array of `count` display strings
//   _explorer_second_sentence(text)  _explorer_second_tokens(text, ids, count, total, pieces)
//                                          the same of the box for a second sentence
//   _explorer_model_name(name)             then for config.json, the index and each weight file:
//   _explorer_model_buffer(name, size_low, size_high) → address for the bytes, 0 when refused
//   _explorer_model_check_header(name)     once the header's bytes are written → 0, or 1 when refused
//   _explorer_model_load() → 0, or 1 when refused; the earlier model stays until this succeeds
//   _explorer_model_discard()
//   _explorer_model_failed()               the model of openBundled or openGiven does not come
//   _explorer_model_info() → JSON {name, family, layers, heads, context, vocab}
//   _explorer_tensors_buffer(name, size_low, size_high) → address for the bytes of a file of tensors, 0 when refused;
//                                          when all of a drop are written:
//   _explorer_tensors_arrived()            the program reads them, asks, and shows them, or says why not
//   _explorer_tensors_discard()            instead: they do not come
//   _explorer_paste(text)  _explorer_undo()  _explorer_redo()
//   _explorer_table() → JSON {title, columns, rows, note?}: the first cell of a row is its heading
//   _explorer_copy_text() → what Ctrl+C on the canvas should copy, or empty
//   _explorer_context_lost()  _explorer_context_restored()
//   A refusal comes with a notice that says why.
//
// program → shell, on Module.shell (see host.js)
//   notice(text, 'info' | 'error')  announce(text)  setUrl(fragment, push)
//   setSentence(text, enabled, tokenized, placeholder)   tokenized: its tokens are wanted
//   setSecondSentence(text or null)
//   setTitle(text)  setHistory(can_undo, can_redo)  idsToText(ids) → JSON array of display strings  appendToken(id)
//   copy(text)  download(name, address, size, mime)  cursor(css_name)
//   openBundled(name) → whether such a model comes with the site; it is opened after the call
//   chooseTensors()                        opens the file dialog for tensors
//   giveFile(path, address, size)  then, when all are given, openGiven(awaited): a model, opened after the call as if a
//                                          person had dropped it, or, where `awaited`, as if it came with the site

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export class Program {
    #module;

    constructor(module) {
        this.#module = module;
    }

    // Anew at every use: when the memory grows, and a thread may let it grow, what looked at it before is cut off.
    get #heap() { return new Uint8Array(this.#module.wasmMemory.buffer); }

    #allocate(bytes) {
        const address = this.#module._malloc(Math.max(bytes.length, 1)) >>> 0;
        if (address === 0) {
            throw new Error('The page has run out of memory.');
        }
        this.#heap.set(bytes, address);
        return address;
    }

    // Calls an export. Text and bytes among the arguments are passed by address, for this call only.
    #call(name, ...values) {
        const allocated = [];
        const pass = (value) => {
            if (typeof value !== 'string' && !(value instanceof Uint8Array)) {
                return Number(value);
            }
            allocated.push(this.#allocate(typeof value === 'string' ? encoder.encode(`${value}\0`) : value));
            return allocated.at(-1);
        };
        try {
            return this.#module[name](...values.map(pass));
        } finally {
            allocated.forEach((address) => this.#module._free(address));
        }
    }

    #string(address) {
        const heap = this.#heap;
        return decoder.decode(heap.slice(address >>> 0, heap.indexOf(0, address >>> 0)));  // shared memory is not decoded
    }

    // Bytes of the program, copied.
    read(address, size) {
        return this.#heap.slice(address >>> 0, (address >>> 0) + size);
    }

    write(address, bytes) {
        this.#heap.set(bytes, address);
    }

    // The 64-bit length that a safetensors file begins with.
    readLength(address) {
        const view = new DataView(this.#module.wasmMemory.buffer, address, 8);
        return view.getUint32(0, true) + view.getUint32(4, true) * 2 ** 32;
    }

    font(kind, bytes) { this.#call('_explorer_font', kind, bytes, bytes.length); }
    home({ model, layer, head }) { this.#call('_explorer_home', model, layer, head); }
    started(fragment, dark, reducedMotion) { return this.#call('_explorer_start', fragment, dark, reducedMotion) !== 0; }
    draw() { this.#call('_explorer_draw'); }
    fragment(fragment) { this.#call('_explorer_fragment', fragment); }
    theme(dark) { this.#call('_explorer_theme', dark); }
    wake() { this.#call('_explorer_wake'); }

    sentence(text) { this.#call('_explorer_sentence', text); }
    secondSentence(text) { this.#call('_explorer_second_sentence', text); }
    tokens(...given) { this.#tokens('_explorer_tokens', ...given); }
    secondTokens(...given) { this.#tokens('_explorer_second_tokens', ...given); }
    #tokens(name, text, ids, total, pieces) {
        const bytes = new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength);
        this.#call(name, text, bytes, ids.length, total, JSON.stringify(pieces));
    }

    modelName(name) { this.#call('_explorer_model_name', name); }
    modelBuffer(name, size) {
        return this.#call('_explorer_model_buffer', name, size >>> 0, Math.floor(size / 2 ** 32)) >>> 0;
    }
    modelHeaderAccepted(name) { return this.#call('_explorer_model_check_header', name) === 0; }
    modelLoaded() { return this.#call('_explorer_model_load') === 0; }
    modelFailed() { this.#call('_explorer_model_failed'); }
    modelDiscard() { this.#call('_explorer_model_discard'); }
    modelInfo() { return JSON.parse(this.#string(this.#call('_explorer_model_info'))); }

    tensorsBuffer(name, size) {
        return this.#call('_explorer_tensors_buffer', name, size >>> 0, Math.floor(size / 2 ** 32)) >>> 0;
    }
    tensorsArrived() { this.#call('_explorer_tensors_arrived'); }
    tensorsDiscard() { this.#call('_explorer_tensors_discard'); }

    paste(text) { this.#call('_explorer_paste', text); }
    undo() { this.#call('_explorer_undo'); }
    redo() { this.#call('_explorer_redo'); }
    table() { return JSON.parse(this.#string(this.#call('_explorer_table'))); }
    copyText() { return this.#string(this.#call('_explorer_copy_text')); }

    contextLost() { this.#call('_explorer_context_lost'); }
    contextRestored() { this.#call('_explorer_context_restored'); }
}
