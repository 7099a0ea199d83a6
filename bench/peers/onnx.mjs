// Builds ONNX models: as much of its protobuf as the benchmark's graphs need.
// https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
const text = new TextEncoder();

function concat(parts) {
    const all = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
    let end = 0;
    for (const part of parts) all.set(part, (end += part.length) - part.length);
    return all;
}

function varint(number) {
    const bytes = [];
    let rest = BigInt.asUintN(64, BigInt(number));
    for (; rest > 127n; rest >>= 7n) bytes.push(Number(rest & 127n) | 128);
    return Uint8Array.of(...bytes, Number(rest));
}

// Fields of a message; a list stands for a field that repeats.
const integer = (field, number) => concat([varint(field << 3), varint(number)]);
const float = (field, number) =>
    concat([varint((field << 3) | 5), new Uint8Array(Float32Array.of(number).buffer)]);
function block(field, content) {
    if (Array.isArray(content)) return concat(content.map((one) => block(field, one)));
    const bytes = typeof content === 'string' ? text.encode(content) : content;
    return concat([varint((field << 3) | 2), varint(bytes.length), bytes]);
}

const elementTypes = { float32: 1, int32: 6, int64: 7, bool: 9 };

function valueInfo({ name, type, shape = undefined }) {
    const dims = shape && block(2, concat(shape.map((size) => block(1, integer(1, size)))));
    const tensor = concat([integer(1, elementTypes[type]), ...(dims ? [dims] : [])]);
    return concat([block(1, name), block(2, block(1, tensor))]);
}

function attribute([name, value]) {
    const [content, type] = Array.isArray(value) ? [concat(value.map((one) => integer(8, one))), 7]
        : typeof value === 'string' ? [block(4, value), 3]
        : Number.isInteger(value) ? [integer(3, value), 2]
        : [float(2, value), 1];
    return concat([block(1, name), content, integer(20, type)]);
}

export class Graph {
    #nodes = [];
    #initializers = [];
    #inputs = [];
    #outputs = [];
    #names = 0;

    // Adds a node; its output's name, or a list of them where it has several.
    op(type, inputs, { outputs = 1, domain = '', ...attributes } = {}) {
        const names = Array.from({ length: outputs }, () => `t${this.#names++}`);
        this.#nodes.push(concat([
            block(1, inputs), block(2, names), block(4, type),
            block(5, Object.entries(attributes).map(attribute)), block(7, domain),
        ]));
        return outputs === 1 ? names[0] : names;
    }

    // float32 values in the data that the session is given as the file `inputs`.
    weight(name, { shape, offset }) {
        const size = 4 * shape.reduce((product, side) => product * side, 1);
        const place = { location: 'inputs', offset: `${offset}`, length: `${size}` };
        this.#initializers.push(concat([
            ...shape.map((side) => integer(1, side)), integer(2, elementTypes.float32), block(8, name),
            block(13, Object.entries(place).map(([key, value]) => concat([block(1, key), block(2, value)]))),
            integer(14, 1),
        ]));
        return name;
    }

    constant(type, shape, values) {
        const name = `c${this.#names++}`;
        this.#initializers.push(concat([
            ...shape.map((side) => integer(1, side)), integer(2, elementTypes[type]), block(8, name),
            block(9, new Uint8Array(values.buffer)),
        ]));
        return name;
    }

    input(name, type, shape) {
        this.#inputs.push(valueInfo({ name, type, shape }));
        return name;
    }

    output(name, type = 'float32') {
        this.#outputs.push(valueInfo({ name, type }));
    }

    model() {
        const graph = concat([
            block(1, this.#nodes), block(2, 'graph'), block(5, this.#initializers),
            block(11, this.#inputs), block(12, this.#outputs),
        ]);
        const operators = (domain, version) => block(8, concat([block(1, domain), integer(2, version)]));
        return concat([integer(1, 11), block(7, graph), operators('', 23), operators('com.microsoft', 1)]);
    }
}
