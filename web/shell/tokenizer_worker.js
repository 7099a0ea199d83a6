// Splits long texts off the page's thread. The first message contains the tokenizer's files; each further one
// a text, with or without its special tokens, and a port for the answer.

import { createTokenizer } from './tokenizer.js';
import { Tokenizer } from './tokenizers.min.mjs';

/** @type {ReturnType<typeof createTokenizer>} */
let tokenizer;

onmessage = ({ data, ports: [port] }) => {
    if (port) {
        port.postMessage(tokenizer.encode(data.text, { special: data.special }));
    } else {
        tokenizer = createTokenizer(data, Tokenizer);
    }
};
