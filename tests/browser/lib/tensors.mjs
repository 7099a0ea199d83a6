// Writes files of tensors by hand.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { emptyFolder } from './models.mjs';

// ISO 3309, bit by bit, because the node of Debian 12 has none.
function crc32(bytes) {
    let crc = ~0;
    for (const byte of bytes) {
        crc ^= byte;
        for (let bit = 0; bit < 8; ++bit) {
            crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
        }
    }
    return ~crc >>> 0;
}

const bits = new DataView(new ArrayBuffer(4));

// Exact for the few numbers that tests use.
function half(value) {
    if (value === 0) {
        return 0;
    }
    const exponent = Math.floor(Math.log2(value));
    return ((exponent + 15) << 10) | Math.round((value / 2 ** exponent - 1) * 1024);
}

const writers = {
    '<f2': [2, (view, at, value) => view.setUint16(at, half(value), true)],
    '<f4': [4, (view, at, value) => view.setFloat32(at, value, true)],
    '>f4': [4, (view, at, value) => view.setFloat32(at, value, false)],
    '<f8': [8, (view, at, value) => view.setFloat64(at, value, true)],
    '<i4': [4, (view, at, value) => view.setInt32(at, value, true)],
    bf16: [2, (view, at, value) => {
        bits.setFloat32(0, value);
        view.setUint16(at, bits.getUint16(0), true);
    }],
};

function bytesOf(values, type) {
    const [size, write] = writers[type];
    const bytes = new Uint8Array(values.length * size);
    values.forEach((value, i) => write(new DataView(bytes.buffer), i * size, value));
    return bytes;
}

export function npyHeader(shape, type = '<f4') {
    const text = `{'descr': '${type}', 'fortran_order': False, 'shape': (${shape.join(', ')}${shape.length === 1 ? ',' : ''}), }`;
    const padded = text.padEnd(Math.ceil((text.length + 11) / 64) * 64 - 11) + '\n';
    return Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), Buffer.from([padded.length & 255, padded.length >> 8]), Buffer.from(padded)]);
}

export const npy = (shape, values, type = '<f4') => Buffer.concat([npyHeader(shape, type), bytesOf(values, type)]);

// Writes {name: [shape, values]} as bfloat16.
export function safetensors(tensors) {
    const header = {}, data = [];
    let at = 0;
    for (const [name, [shape, values]] of Object.entries(tensors)) {
        data.push(bytesOf(values, 'bf16'));
        header[name] = { dtype: 'BF16', shape, data_offsets: [at, at += data.at(-1).length] };
    }
    const text = Buffer.from(JSON.stringify(header));
    const length = Buffer.alloc(8);
    length.writeBigUInt64LE(BigInt(text.length));
    return Buffer.concat([length, text, ...data]);
}

// Writes a zip of stored entries, {name: bytes}.
export function npz(entries) {
    const files = [], directory = [];
    let at = 0;
    for (const [name, bytes] of Object.entries(entries)) {
        const fields = Buffer.alloc(26);  // fields that both headers share
        fields.writeUInt16LE(20, 0);
        fields.writeUInt16LE(33, 8);  // 1 January 1980
        fields.writeUInt32LE(crc32(bytes), 10);
        fields.writeUInt32LE(bytes.length, 14);
        fields.writeUInt32LE(bytes.length, 18);
        fields.writeUInt16LE(name.length, 22);
        const local = Buffer.concat([Buffer.from('PK\x03\x04', 'latin1'), fields, Buffer.from(name), bytes]);
        const rest = Buffer.alloc(14);
        rest.writeUInt32LE(at, 10);
        directory.push(Buffer.concat([Buffer.from('PK\x01\x02\x14\x00', 'latin1'), fields, rest, Buffer.from(name)]));
        files.push(local);
        at += local.length;
    }
    const central = Buffer.concat(directory), end = Buffer.alloc(22);
    end.write('PK\x05\x06', 'latin1');
    end.writeUInt16LE(files.length, 8);
    end.writeUInt16LE(files.length, 10);
    end.writeUInt32LE(central.length, 12);
    end.writeUInt32LE(at, 16);
    return Buffer.concat([...files, central, end]);
}

// Writes files with these contents, {name: bytes or text}, and returns their paths.
export function written(files) {
    const folder = emptyFolder();
    return Object.entries(files).map(([name, contents]) => {
        const path = join(folder, name);
        mkdirSync(join(path, '..'), { recursive: true });
        writeFileSync(path, contents);
        return path;
    });
}

// Rows that attend to the tokens so far, 2^-k of each row to the k-th before: exact in every type.
export function causalRows(n) {
    return Array.from({ length: n }, (_, q) => Array.from({ length: n }, (__, k) => (k > q ? 0 : k === 0 ? 2 ** -q : 2 ** -(q - k + 1))));
}
