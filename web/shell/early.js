// Asks for the program, its fonts and the address's model while the page's other modules are still coming.

import { Bundled } from './bundled.js';
import { curtain } from './curtain.js';
import { LoadError, Progress, fetchBytes, fetchManifest, fetchProgram } from './loading.js';
import { chooseVariant, runsSimd } from './support.js';

// Whoever awaits it hears of its failure.
function asked(promise) {
    promise.catch(() => {});
    return promise;
}

async function ask() {
    const manifest = await fetchManifest();
    const variant = chooseVariant(manifest, new URLSearchParams(location.search).get('variant'));
    if (!variant) {
        throw new LoadError('The site holds no build of the program that this browser runs.');
    }
    const font = (name) => Object.keys(manifest).find((path) => path.startsWith(`fonts/${name}.`)) ?? `fonts/${name}`;
    const fonts = ['Inter-Regular', 'Inter-SemiBold', 'JetBrainsMono-Regular'].map(font);
    const progress = new Progress(manifest, [`explorer-${variant}.wasm`, `explorer-${variant}.mjs`, ...fonts], curtain.progress);
    const files = {
        program: asked(fetchProgram(variant, manifest, progress)),
        fonts: asked(Promise.all(fonts.map((path) => fetchBytes(path, progress)))),
        fallback: font('DejaVuSans'),
        bundled: new Bundled(manifest),
    };
    const { bundled } = files;
    const model = location.hash.length > 1 ? new URLSearchParams(location.hash.slice(1)).get('model') : bundled.first;
    if (bundled.names.includes(model)) {
        bundled.prefetch(model);
        asked(import('./tokenizers.min.mjs'));
    }
    files.opening = bundled.first ? asked(bundled.opening()) : null;
    return files;
}

// {program, fonts, opening: promises; fallback, bundled}, or null where the program cannot run.
export const files = runsSimd() ? asked(ask()) : null;
