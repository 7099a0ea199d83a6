// Describes the bundled model in the site's files; absent in a checkout without weights.
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const site = process.env.SITE ?? fileURLToPath(new URL('../../../build/site', import.meta.url));

const folder = `${site}/models/storyteller`;
const missing = ['config.json', 'model.safetensors', 'tokenizer.json', 'scores.json'].find((name) => !existsSync(`${folder}/${name}`));

export const bundled = {
    name: 'storyteller',
    folder,
    absent: missing ? `there is no ${folder}/${missing}` : null,
    texts: { tired: "The animal didn't cross the street because it was too tired. It", wide: "The animal didn't cross the street because it was too wide. It" },

    // Returns {layer, head} with the largest `pronoun_right`.
    get best() {
        const { heads } = JSON.parse(readFileSync(`${folder}/scores.json`, 'utf8'));
        const most = Math.max(...heads.map(({ pronoun_right: right }) => right));
        const { layer, head } = heads.find(({ pronoun_right: right }) => right === most);
        return { layer, head };
    },
};

// The worked example, by name, because the bare address opens with the model if there is one.
export const worked = bundled.absent ? '' : 'v=1&lens=worked';
