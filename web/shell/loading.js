// Fetches the program and its fonts, counting bytes against the sizes in manifest.json.

// A failure that is already a sentence for people.
export class LoadError extends Error {}

export async function get(path, options) {
    let response;
    try {
        response = await fetch(new URL(path, document.baseURI), options);
    } catch {
        throw new LoadError(`${path} could not be fetched: check the connection, then reload.`);
    }
    if (!response.ok) {
        throw new LoadError(`${path} could not be fetched: the server answered ${response.status}.`);
    }
    return response;
}

export async function fetchManifest() {
    try {
        return await (await get('manifest.json')).json();
    } catch (error) {
        throw error instanceof LoadError ? error : new LoadError('manifest.json could not be read.');
    }
}

// Counts what arrives of the files that `announce` named. `report(bytes, total)` is called as they come.
export class Progress {
    #arrived = 0;
    #total = 0;

    constructor(manifest, paths, report) {
        this.#total = paths.reduce((sum, path) => sum + (manifest[path] ?? 0), 0);
        this.report = report;
        report(0, this.#total);
    }

    count(bytes) {
        this.#arrived += bytes;
        this.report(Math.min(this.#arrived, this.#total), this.#total);
    }

    // The same response, counted on its way.
    through(response) {
        const counted = response.body.pipeThrough(new TransformStream({
            transform: (chunk, controller) => {
                this.count(chunk.byteLength);
                controller.enqueue(chunk);
            },
        }));
        return new Response(counted, { headers: { 'Content-Type': 'application/wasm' } });
    }
}

export async function fetchBytes(path, progress) {
    const response = await get(path);
    return new Uint8Array(await (progress ? progress.through(response) : response).arrayBuffer());
}

async function compile(path, progress) {
    const response = progress.through(await get(path));
    try {
        return WebAssembly.compileStreaming
            ? await WebAssembly.compileStreaming(response)
            : await WebAssembly.compile(await response.arrayBuffer());
    } catch (error) {
        throw new LoadError(error instanceof WebAssembly.CompileError
            ? `${path} could not be compiled by this browser: ${error.message}`
            : `${path} did not arrive whole: check the connection, then reload.`);
    }
}

// The program, compiled: {wasm, create}.
export async function fetchProgram(variant, manifest, progress) {
    const script = `explorer-${variant}.mjs`;
    const [wasm, { default: create }] = await Promise.all([
        compile(`explorer-${variant}.wasm`, progress),
        import(new URL(script, document.baseURI)).catch(() => {
            throw new LoadError(`${script} could not be fetched: check the connection, then reload.`);
        }),
    ]);
    progress.count(manifest[script] ?? 0);
    return { wasm, create };
}

// The Emscripten module; `options` becomes part of Module.
export function instantiate({ wasm, create }, options) {
    return new Promise((resolve, reject) => {
        create({
            ...options,
            instantiateWasm(imports, done) {
                WebAssembly.instantiate(wasm, imports).then((instance) => done(instance, wasm), reject);
                return {};
            },
        }).then(resolve, reject);
    });
}
