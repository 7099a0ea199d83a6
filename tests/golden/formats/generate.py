#!/usr/bin/python3
"""Writes formats.json beside it: what the numbers of small formats are, and what others round to; and chain.json.

A number is worked out in exact fractions from the fields of its code, as the definitions say: IEEE 754-2019 (f16), the
upper half of an f32 (bf16), and "OCP 8-bit Floating Point Specification (OFP8)", revision 1.0, table 1 (e5m2, e4m3). The
f16 and bf16 tables are compared with NumPy's float16 and float32 before they are written. Rounding searches the sorted
table for the two neighbours, and takes the nearer one or, between them, the one with the even code; it knows nothing of
bits. TF32, which no file holds, is a table of the 2 ** 19 codes of an f32 whose lower 13 bits are 0.

Tables of 16 bits are written as the SHA-256 of their doubles, little-endian, in the order of the codes; NaN is
0x7ff8000000000000 there, whatever its sign.

chain.json has causal attention in NumPy's float16, in which each operation is rounded, in order; exponentials are those
of Python's math.exp, rounded.

    apt install python3-numpy; /usr/bin/python3 tests/golden/formats/generate.py
"""

import bisect
import hashlib
import json
import math
import platform
import random
import struct
from fractions import Fraction
from pathlib import Path

import numpy

HERE = Path(__file__).parent
# Exponent bits, fraction bits, and whether all ones in the exponent are infinities and NaN.
FORMATS = {"f16": (5, 10, True), "bf16": (8, 7, True), "e5m2": (5, 2, True), "e4m3": (4, 3, False), "tf32": (8, 10, True)}


def decoded(code, exponent_bits, fraction_bits, ieee):
    """Returns a Fraction, or an infinity or NaN as a float."""
    fraction = code % 2**fraction_bits
    exponent = code // 2**fraction_bits % 2**exponent_bits
    sign = -1 if code // 2 ** (fraction_bits + exponent_bits) else 1
    if exponent == 2**exponent_bits - 1:
        if ieee:
            return sign * math.inf if fraction == 0 else math.nan
        if fraction == 2**fraction_bits - 1:
            return math.nan
    bias = 2 ** (exponent_bits - 1) - 1
    if exponent == 0:
        return sign * Fraction(fraction, 2**fraction_bits) * Fraction(2) ** (1 - bias)
    return sign * (1 + Fraction(fraction, 2**fraction_bits)) * Fraction(2) ** (exponent - bias)


class Format:
    def __init__(self, name):
        self.exponent_bits, self.fraction_bits, self.ieee = FORMATS[name]
        self.sign_code = 2 ** (self.exponent_bits + self.fraction_bits)
        self.all = [decoded(code, *FORMATS[name]) for code in range(2 * self.sign_code)]
        # The codes of positive numbers are in their order.
        self.finite = [value for value in self.all[: self.sign_code] if isinstance(value, Fraction)]
        self.overflow = self.finite[-1] + (self.finite[-1] - self.finite[-2]) / 2

    def rounded(self, value):
        """Returns the code of the number nearest to a finite double, sign included."""
        size = abs(Fraction(value))
        sign = self.sign_code if math.copysign(1, value) < 0 else 0
        above = bisect.bisect_left(self.finite, size)
        if above == len(self.finite):
            last = above - 1
            # Between the largest number and the next one, if there were one, whose code would be last + 1.
            ties_up = last % 2 == 1
            if size > self.overflow or (size == self.overflow and ties_up):
                return sign + last + 1  # the infinity's code, or NaN's
            return sign + last
        if self.finite[above] == size:
            return sign + above
        below = above - 1
        up, down = self.finite[above] - size, size - self.finite[below]
        if up != down:
            return sign + (above if up < down else below)
        return sign + (above if above % 2 == 0 else below)


def double_of(value):
    return float(value) if isinstance(value, Fraction) else value


def digest(values):
    data = b"".join(struct.pack("<Q", 0x7FF8 << 48) if math.isnan(v) else struct.pack("<d", v) for v in values)
    return hashlib.sha256(data).hexdigest()


def doubles_of(made):
    """Minus zero is a Fraction without a sign, so the sign comes from the code."""
    return [math.copysign(double_of(v), -1 if code >= made.sign_code else 1) for code, v in enumerate(made.all)]


def check_with_numpy(tables):
    codes = numpy.arange(65536, dtype=numpy.uint16)
    f16 = codes.view(numpy.float16).astype(numpy.float64)
    bf16 = (codes.astype(numpy.uint32) << 16).view(numpy.float32).astype(numpy.float64)
    for name, known in (("f16", f16), ("bf16", bf16)):
        assert numpy.array_equal(numpy.array(doubles_of(tables[name])), known, equal_nan=True), name


def rounding_cases(tables):
    generator = random.Random(11)
    values = [0.0, -0.0, 1.0, -1.0, 65519.0, 65520.0, 61439.0, 61440.0, 464.0, 464.5, -448.0, -480.0, 1e300, 5e-324]
    for made in tables.values():
        for _ in range(60):
            code = generator.randrange(1, len(made.finite))
            middle = double_of((made.finite[code - 1] + made.finite[code]) / 2)
            values += [middle, -math.nextafter(middle, math.inf), math.nextafter(middle, 0)]
    for _ in range(200):
        values.append(generator.choice([-1, 1]) * generator.uniform(1, 2) * 2.0 ** generator.randint(-30, 20))
    for _ in range(60):
        values.append(generator.choice([-1, 1]) * generator.uniform(1, 2) * 2.0 ** generator.randint(-140, 128))
    cases = [[value, *(tables[name].rounded(value) for name in FORMATS)] for value in values]
    with numpy.errstate(over="ignore"):
        for value, code, *_ in cases:
            assert numpy.float64(value).astype(numpy.float16).view(numpy.uint16) == code, value
    return cases


def chain_in_f16(queries, components, scale):
    f16 = numpy.float16
    q, k, v = (numpy.random.default_rng(seed).standard_normal((queries, components)) * 3 for seed in (1, 2, 3))
    q, k, v = (x.astype(numpy.float32) for x in (q, k, v))
    stages = {name: [] for name in ("raw", "scaled", "shifted", "exponential", "sum", "weight", "output")}
    for i in range(queries):
        raw = []
        for j in range(i + 1):
            sum_ = f16(0)
            for a in range(components):
                sum_ = sum_ + f16(q[i, a]) * f16(k[j, a])
            raw.append(sum_)
        scaled = [f16(float(x) * scale) for x in raw]
        shifted = [x - max(scaled) for x in scaled]
        exponential = [f16(math.exp(x)) for x in shifted]
        total = f16(0)
        for x in exponential:
            total = total + x
        weight = [x / total for x in exponential]
        output = []
        for b in range(components):
            sum_ = f16(0)
            for j in range(i + 1):
                sum_ = sum_ + weight[j] * f16(v[j, b])
            output.append(sum_)
        for name, values in (("raw", raw), ("scaled", scaled), ("shifted", shifted), ("exponential", exponential),
                             ("sum", [total]), ("weight", weight), ("output", output)):
            assert all(type(x) is f16 for x in values), name
            stages[name].append([float(x) for x in values])
    return {"scale": scale, "q": q.tolist(), "k": k.tolist(), "v": v.tolist(), **stages}


tables = {name: Format(name) for name in FORMATS}
check_with_numpy(tables)
golden = {
    "sha256": {name: digest(doubles_of(tables[name])) for name in ("f16", "bf16")},
    "tables": {
        name: [v if math.isfinite(v) else str(v) for v in doubles_of(tables[name])] for name in ("e5m2", "e4m3")
    },
    "formats": list(FORMATS),
    "rounded": rounding_cases(tables),
}
# A table of 8 bits, and the cases, a line each.
text = json.dumps(golden).replace("], [", "],\n[").replace('"rounded": ', '\n"rounded": ').replace('"tables": ', '\n"tables": ')
(HERE / "formats.json").write_text(text + "\n")
(HERE / "chain.json").write_text(json.dumps(chain_in_f16(9, 6, 0.375)).replace("]], ", "]],\n") + "\n")
versions = {"python": platform.python_version(), "numpy": numpy.__version__}
(HERE / "versions.json").write_text(json.dumps(versions, indent=2) + "\n")
