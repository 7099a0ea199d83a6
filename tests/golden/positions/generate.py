#!/usr/bin/python3
"""Writes positions.json beside it: ALiBi's slopes, T5's buckets and stretched rotary frequencies.

Each follows its authors' code, in plain Python and double precision: get_slopes of
ofirpress/attention_with_linear_biases, _relative_position_bucket of
google-research/text-to-text-transfer-transformer (also transformers' T5Attention), and transformers'
rope_init_functions for "linear", "yarn" and "llama3".

    python3 tests/golden/positions/generate.py
"""
import json
import math
import pathlib

HERE = pathlib.Path(__file__).parent


def get_slopes(n):
    def power_of_2(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    if math.log2(n).is_integer():
        return power_of_2(n)
    closest = 2 ** math.floor(math.log2(n))
    return power_of_2(closest) + get_slopes(2 * closest)[0::2][: n - closest]


def bucket(relative_position, bidirectional, num_buckets=32, max_distance=128):
    ret, n = 0, -relative_position
    if bidirectional:
        num_buckets //= 2
        ret += int(n < 0) * num_buckets
        n = abs(n)
    else:
        n = max(n, 0)
    max_exact = num_buckets // 2
    if n < max_exact:
        return ret + n
    large = max_exact + int(math.log(n / max_exact) / math.log(max_distance / max_exact) * (num_buckets - max_exact))
    return ret + min(large, num_buckets - 1)


def inverse_frequencies(dim, base):
    return [1.0 / base ** (i / dim) for i in range(0, dim, 2)]


def ntk(dim, base, factor):
    return inverse_frequencies(dim, base * factor ** (dim / (dim - 2)))


def yarn(dim, base, factor, original, beta_fast=32, beta_slow=1):
    def correction_dim(rotations):
        return dim * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(base))

    low = max(math.floor(correction_dim(beta_fast)), 0)
    high = min(math.ceil(correction_dim(beta_slow)), dim - 1)
    if low == high:
        high += 0.001
    result = []
    for i, plain in enumerate(inverse_frequencies(dim, base)):
        ramp = min(max((i - low) / (high - low), 0), 1)
        extrapolated = 1 - ramp
        result.append(plain / factor * (1 - extrapolated) + plain * extrapolated)
    return result


def llama3(dim, base, factor, original, low_freq_factor=1, high_freq_factor=4):
    low_wavelength, high_wavelength = original / low_freq_factor, original / high_freq_factor
    result = []
    for plain in inverse_frequencies(dim, base):
        wavelength = 2 * math.pi / plain
        if wavelength < high_wavelength:
            result.append(plain)
        elif wavelength > low_wavelength:
            result.append(plain / factor)
        else:
            smooth = (original / wavelength - low_freq_factor) / (high_freq_factor - low_freq_factor)
            result.append((1 - smooth) * plain / factor + smooth * plain)
    return result


def rotary():
    for dim, base, factor, original in [(64, 10000.0, 4, 2048), (128, 500000.0, 8, 8192), (20, 10000.0, 32, 256), (2, 10000.0, 4, 64)]:
        case = {"dim": dim, "base": base, "factor": factor, "original": original,
                "none": inverse_frequencies(dim, base),
                "linear": [each / factor for each in inverse_frequencies(dim, base)],
                "yarn": yarn(dim, base, factor, original),
                "llama3": llama3(dim, base, factor, original)}
        if dim > 2:
            case["ntk"] = ntk(dim, base, factor)
        yield case


distances = [*range(-40, 41), -1000, -200, -129, -128, -127, -91, -90, -64, -46, -45, 45, 46, 64, 90, 91, 127, 128, 129, 200, 1000]
(HERE / "positions.json").write_text(json.dumps({
    "slopes": {n: get_slopes(n) for n in [1, 2, 3, 5, 8, 12, 16, 20, 40]},
    "buckets": [{"key_minus_query": d, "both_ways": bucket(d, True), "one_way": bucket(d, False)} for d in distances],
    "rotary": list(rotary()),
}, indent=1) + "\n")
