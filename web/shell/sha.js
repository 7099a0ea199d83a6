// Computes SHA-256 and SHA-1 of bytes that come piece by piece, which the browser's own digest does not
// support (FIPS 180-4). This needs no document.

const block = 64;  // bytes

/** @type {number[]} */
const primes = [];
for (let n = 2; primes.length < 64; ++n) {
    if (primes.every((prime) => n % prime > 0)) {
        primes.push(n);
    }
}
// 32 bits of a root's fraction; a double holds some 15 more.
const fraction = (/** @type {number} */ root) => Math.floor((root - Math.floor(root)) * 2 ** 32);
const starts = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const rounds = Int32Array.from(primes, (prime) => fraction(Math.cbrt(prime)));

/**
 * Takes whole blocks into the state; `words` is room for the message's schedule.
 *
 * @typedef {(state: Int32Array, words: Int32Array, view: DataView, count: number) => void} Compress
 */

/** @type {Compress} */
function compress256(state, words, view, count) {
    for (let at = 0; at < count * block; at += block) {
        for (let i = 0; i < 16; ++i) {
            words[i] = view.getInt32(at + 4 * i);
        }
        for (let i = 16; i < 64; ++i) {
            const x = words[i - 15], y = words[i - 2];
            const low = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
            const high = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
            words[i] = (words[i - 16] + low + words[i - 7] + high) | 0;
        }
        let a = state[0], b = state[1], c = state[2], d = state[3], e = state[4], f = state[5], g = state[6], h = state[7];
        for (let i = 0; i < 64; ++i) {
            const high = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
            const first = (h + high + (g ^ (e & (f ^ g))) + rounds[i] + words[i]) | 0;
            const low = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
            const second = (low + ((a & b) | (c & (a | b)))) | 0;
            h = g;
            g = f;
            f = e;
            e = (d + first) | 0;
            d = c;
            c = b;
            b = a;
            a = (first + second) | 0;
        }
        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
        state[4] += e;
        state[5] += f;
        state[6] += g;
        state[7] += h;
    }
}

/** @type {Compress} */
function compress1(state, words, view, count) {
    for (let at = 0; at < count * block; at += block) {
        for (let i = 0; i < 16; ++i) {
            words[i] = view.getInt32(at + 4 * i);
        }
        for (let i = 16; i < 80; ++i) {
            const x = words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16];
            words[i] = (x << 1) | (x >>> 31);
        }
        let a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
        for (let i = 0; i < 80; ++i) {
            const mixed = i < 20 ? (d ^ (b & (c ^ d))) + 0x5a827999
                : i < 40 ? (b ^ c ^ d) + 0x6ed9eba1
                : i < 60 ? ((b & c) | (d & (b | c))) + 0x8f1bbcdc
                : (b ^ c ^ d) + 0xca62c1d6;
            const next = (((a << 5) | (a >>> 27)) + mixed + e + words[i]) | 0;
            e = d;
            d = c;
            c = (b << 30) | (b >>> 2);
            b = a;
            a = next;
        }
        state[0] += a;
        state[1] += b;
        state[2] += c;
        state[3] += d;
        state[4] += e;
    }
}

class Sha {
    #state;
    #compress;
    #words = new Int32Array(80);
    #pending = new Uint8Array(block);
    #filled = 0;
    #length = 0;

    /**
     * @param {number[]} start
     * @param {Compress} compress
     */
    constructor(start, compress) {
        this.#state = Int32Array.from(start);
        this.#compress = compress;
    }

    /** @param {Uint8Array} bytes */
    update(bytes) {
        this.#length += bytes.length;
        let at = 0;
        if (this.#filled > 0) {
            at = Math.min(block - this.#filled, bytes.length);
            this.#pending.set(bytes.subarray(0, at), this.#filled);
            this.#filled += at;
            if (this.#filled < block) {
                return this;
            }
            this.#compress(this.#state, this.#words, new DataView(this.#pending.buffer), 1);
        }
        const whole = Math.floor((bytes.length - at) / block);
        this.#compress(this.#state, this.#words, new DataView(bytes.buffer, bytes.byteOffset + at, whole * block), whole);
        at += whole * block;
        this.#pending.set(bytes.subarray(at));
        this.#filled = bytes.length - at;
        return this;
    }

    /** Returns the hash in hexadecimal digits; no bytes may follow. */
    digest() {
        const length = this.#length;
        const padding = new Uint8Array((this.#filled < block - 8 ? block : 2 * block) - this.#filled);
        padding[0] = 0x80;
        const view = new DataView(padding.buffer);
        view.setUint32(padding.length - 8, Math.floor(length / 2 ** 29));  // the length in bits
        view.setUint32(padding.length - 4, (length << 3) >>> 0);
        this.update(padding);
        return Array.from(this.#state, (word) => (word >>> 0).toString(16).padStart(8, '0')).join('');
    }
}

export const sha256 = () => new Sha(starts, compress256);
export const sha1 = () => new Sha([0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0], compress1);

/**
 * Makes the check that a file is the one that the hub lists: large files by SHA-256, others by Git's SHA-1 of
 * their kind, length and bytes.
 *
 * @param {{size: number, sha256: string, sha1: string}} file
 */
export function checkOf(file) {
    const sha = file.sha256 ? sha256() : sha1().update(new TextEncoder().encode(`blob ${file.size}\0`));
    return {
        /** @param {Uint8Array} bytes */
        update(bytes) { sha.update(bytes); },
        holds: () => sha.digest() === (file.sha256 || file.sha1),
    };
}
