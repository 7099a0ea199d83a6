// The names of a WebAssembly program's functions, from its section of names.

/**
 * @param {Uint8Array} bytes
 * @param {number} at
 * @returns {[value: number, end: number]}
 */
function leb128(bytes, at) {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
        const byte = bytes[at++];
        value += (byte & 127) * 2 ** shift;
        if (byte < 128) {
            return [value, at];
        }
    }
}

/**
 * Returns the names of all functions, the imported ones first.
 *
 * @param {Uint8Array<ArrayBuffer>} program
 */
export function functionNames(program) {
    const functions = 1;  // the number of their part of the section
    /** @type {string[]} */
    const names = [];
    for (let at = 8; at < program.length;) {
        const id = program[at], [size, begin] = leb128(program, at + 1);
        at = begin + size;
        const [length, name] = leb128(program, begin);
        if (id !== 0 || new TextDecoder().decode(program.subarray(name, name + length)) !== 'name') {
            continue;
        }
        for (let part = name + length; part < at;) {
            const number = program[part], [bytes, first] = leb128(program, part + 1);
            part = first + bytes;
            if (number !== functions) {
                continue;
            }
            for (let [left, next] = leb128(program, first); left > 0; --left) {
                const [, text] = leb128(program, next), [letters, from] = leb128(program, text);
                next = from + letters;
                names.push(new TextDecoder().decode(program.subarray(from, next)));
            }
        }
    }
    return names;
}

/**
 * Where the name begins that ends at `end`, which may be within the arguments of a template.
 *
 * @param {string} text
 * @param {number} end
 */
function beginOf(text, end) {
    let begin = end;
    for (let depth = 0; begin > 0; --begin) {
        const letter = text[begin - 1];
        if (depth === 0 && ' <('.includes(letter)) {
            break;
        }
        depth += '>)'.includes(letter) ? 1 : '<('.includes(letter) ? -1 : 0;
    }
    return begin;
}

/**
 * The qualified name of a C++ function without the arguments of templates, its parameters and what it returns: it stays when these
 * change. A lambda, and a template that is given one, go by the function in which the lambda stands; all operators of a class have one
 * name, and so have functions that the linker told apart by numbers.
 *
 * @param {string} name
 */
export function baseName(name) {
    let plain = name.replaceAll('(anonymous namespace)', '_').replace(/\[abi:\w+\]/g, '').replace(/operator(<=>|<<=?|>>=?|->\*?|[<>]=?|\(\)| [^(]+)/g, 'operator');
    const lambda = plain.search(/( const)?::(\$_\d+|'lambda\d*')/);
    if (lambda >= 0) {
        plain = plain.slice(beginOf(plain, lambda), lambda);
    }
    let base = '', depth = 0;
    for (const letter of plain) {
        if (letter === '<' || letter === '>') {
            depth += letter === '<' ? 1 : -1;
        } else if (depth === 0 && letter === '(') {
            break;
        } else if (depth === 0) {
            base += letter;
        }
    }
    return base.slice(base.lastIndexOf(' ') + 1).replace(/[._]\d+$/, '');
}

/**
 * As Binaryen writes names in its lists.
 *
 * @param {string} name
 */
export const escaped = (name) => name.replace(/[^\w!#$%&'*+./:<=>?@\\^`|~-]/g, (sign) => [...new TextEncoder().encode(sign)]
    .map((byte) => `\\${byte.toString(16).padStart(2, '0')}`).join(''));
