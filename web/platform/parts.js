// The program comes in two parts (cmake/SplitProgram.cmake). The first one, with what a page opens with, imports a placeholder for each function
// of the rest that it may call; the rest puts these functions in their places in the table. Emscripten includes this at the beginning of
// the program's module, in the page and in each of its threads.
{
    const importsOfProgram = getWasmImports;
    const hasThreads = typeof ENVIRONMENT_IS_PTHREAD !== 'undefined';
    const file = import.meta.url.replace(/[.]mjs$/, '.rest.wasm');
    /** @type {WebAssembly.Module | null} */
    let rest = null;
    const imports = () => ({ primary: wasmExports });

    // The page has called what has not arrived: it waits. Only an XMLHttpRequest waits for its answer, and a page gets it only as text.
    const fetchRest = () => {
        const request = new XMLHttpRequest();
        request.open('GET', file, false);
        request.overrideMimeType('text/plain; charset=x-user-defined');
        request.send();
        if (request.status !== 200) {
            throw new WebAssembly.RuntimeError('a part of the program could not be fetched');
        }
        return new WebAssembly.Module(Uint8Array.from(request.responseText, (byte) => byte.charCodeAt(0)));
    };

    getWasmImports = () => ({
        ...importsOfProgram(),
        placeholder: new Proxy({}, {
            get: (_, /** @type {string} */ index) => (...given) => {
                rest ??= fetchRest();
                new WebAssembly.Instance(rest, imports());
                return wasmExports.__indirect_function_table.get(Number(index))(...given);
            },
        }),
    });

    // No thread runs before the rest is here, so that each gets it before its work.
    if (hasThreads && ENVIRONMENT_IS_PTHREAD) {
        addEventListener('message', ({ data }) => { rest = data.rest ?? rest; });
    }
    Module.addRest = async (/** @type {WebAssembly.Module} */ compiled) => {
        rest = compiled;
        await WebAssembly.instantiate(rest, imports());
        Module.isWhole = true;
        if (hasThreads) {
            PThread.unusedWorkers.forEach((worker) => worker.postMessage({ rest }));
        }
    };
}
