"""Plants mistakes in attention computed by NumPy, and writes cases for `attn check`.

    plant.py FOLDER [--seed 1] [--every 1]

Each file is MISTAKE.SHAPE.PRECISION.npz: a mistake of `mistakes` ("right": none) in one of eight shapes and in
f64, f32, f16 or bf16 (inputs, weights and outputs rounded to it, sums in f32). --every N writes each Nth case.
Written for NumPy 1.24; independent of the core, whose verdicts tests/docs/check.test.mjs compares with the names.
"""
import argparse
import os

import numpy as np

# batch, heads, kv_heads, queries, keys, width of a head
shapes = [(1, 4, 4, 7, 7, 8), (2, 4, 2, 5, 9, 8), (2, 4, 4, 12, 12, 16), (1, 8, 2, 16, 16, 10),
          (3, 2, 2, 6, 6, 6), (1, 4, 2, 20, 137, 63), (2, 3, 3, 33, 33, 5), (1, 6, 3, 8, 8, 8)]
mistakes = """right heads_merged_without_transpose heads_split_without_transpose mask_inverted scale_d_model scale_d_k
scale_missing scale_twice scale_multiplied rope_interleaved rope_halves rope_base rope_position_from_one rope_on_v
causal_top_left causal_strict causal_one_more kv_heads_tiled dropout_left_on empty_rows_nan empty_rows_uniform
softmax_over_queries softmax_over_heads k_not_transposed mask_after_softmax mask_added_as_01 padding_ignored
bias_left_out softcap_after_mask window_off_by_one qkv_order_swapped batch_and_sequence_swapped
weights_averaged_over_heads base_2_exponential tile_remainder_ignored""".split()


def bf16(x):
    bits = np.asarray(x, np.float32).view(np.uint32).astype(np.uint64)
    bits = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000
    return np.where(np.isfinite(x), bits.astype(np.uint32).view(np.float32), x)


def f16(x):
    with np.errstate(all='ignore'):
        return np.asarray(x, np.float32).astype(np.float16).astype(np.float32)


# How numbers are rounded, and in what they are computed.
precisions = {'f64': (np.float64, np.float64), 'f32': (np.float32, np.float32), 'f16': (f16, np.float32),
              'bf16': (bf16, np.float32)}


def softmax(scores, axis, empty):
    with np.errstate(all='ignore'):
        most = scores.max(axis, keepdims=True)
        e = np.exp(scores - (most if empty == 'nan' else np.where(np.isinf(most), 0, most)))
        total = e.sum(axis, keepdims=True)
        weights = e / total
    if empty == 'nan':
        return weights
    return np.where(total == 0, 1 / scores.shape[axis] if empty == 'uniform' else 0, weights)


def rope(x, interleaved, base, first):
    n, d = x.shape[-2:]
    angle = np.outer(np.arange(n) + first, base ** (-np.arange(0, d, 2) / d))
    cos, sin = np.cos(angle).astype(x.dtype), np.sin(angle).astype(x.dtype)
    y = np.empty_like(x)
    a, b = (np.s_[..., 0::2], np.s_[..., 1::2]) if interleaved else (np.s_[..., :d // 2], np.s_[..., d // 2:])
    y[a], y[b] = x[a] * cos - x[b] * sin, x[a] * sin + x[b] * cos
    return y


def merged(x):
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], -1)


def read(case, mistake, precision):
    """q, k and v as the program reads them."""
    rounded, kind = precisions[precision]
    q, k, v = (np.asarray(rounded(case[name]), kind) for name in 'qkv')
    if mistake == 'heads_split_without_transpose':
        q, k, v = (merged(x).reshape(x.shape) for x in (q, k, v))
    if mistake == 'qkv_order_swapped':
        q, k, v = k, q, v
    if mistake == 'batch_and_sequence_swapped':
        q, k, v = (x.transpose(2, 1, 0, 3) for x in (q, k, v))
    if 'rope' in case:
        past = k.shape[2] - q.shape[2]
        kind_of = {'rope_interleaved': True, 'rope_halves': False}.get(mistake, case['rope'] == 'interleaved')
        base = 500000. if mistake == 'rope_base' else 10000.
        q = rope(q, kind_of, base, past + (mistake == 'rope_position_from_one'))
        k = rope(k, kind_of, base, 0)
        v = rope(v, kind_of, base, 0) if mistake == 'rope_on_v' else v
        q, k, v = (np.asarray(rounded(x), kind) for x in (q, k, v))
    if k.shape[1] != q.shape[1]:
        times = q.shape[1] // k.shape[1]
        k, v = (np.tile(x, (1, times, 1, 1)) if mistake == 'kv_heads_tiled' else np.repeat(x, times, 1) for x in (k, v))
    return q, k, v


def allowed(case, mistake, shape):
    batch, heads, queries, keys = shape
    i, j = np.arange(queries)[:, None], np.arange(keys)[None]
    past = keys - queries
    may = np.ones(shape, bool)
    if case.get('causal'):
        offset = {'causal_top_left': 0, 'causal_strict': past - 1, 'causal_one_more': past + 1}.get(mistake, past)
        may &= j <= i + offset
    if 'window' in case:
        may &= i + past - j < case['window'] + (mistake == 'window_off_by_one')
    if 'mask' in case and mistake not in ('padding_ignored', 'batch_and_sequence_swapped'):
        may &= ~case['mask'] if mistake == 'mask_inverted' else case['mask']
    return may


def attention(case, mistake, precision, random):
    rounded, kind = precisions[precision]
    q, k, v = read(case, mistake, precision)
    heads, d = q.shape[1], q.shape[3]
    scale = case.get('scale', 1 / np.sqrt(d))
    scale = {'scale_d_model': 1 / np.sqrt(heads * d), 'scale_d_k': 1 / d, 'scale_missing': 1,
             'scale_twice': scale ** 2, 'scale_multiplied': np.sqrt(d)}.get(mistake, scale)
    transposed = k.reshape(*k.shape[:2], d, -1) if mistake == 'k_not_transposed' else k.transpose(0, 1, 3, 2)
    scores = (q @ transposed) * kind(scale)
    cap = case.get('softcap')
    if cap and mistake != 'softcap_after_mask':
        scores = cap * np.tanh(scores / cap)
    if 'bias' in case and mistake != 'bias_left_out':
        scores = scores + case['bias']
    may = allowed(case, mistake, scores.shape)
    if mistake == 'mask_added_as_01':
        scores = scores + may
    elif mistake != 'mask_after_softmax':
        scores = np.where(may, scores, -np.inf)
    if cap and mistake == 'softcap_after_mask':
        scores = cap * np.tanh(scores / cap)
    if mistake == 'base_2_exponential':
        scores = scores * np.log(2)
    if mistake == 'tile_remainder_ignored':
        scores[..., scores.shape[-1] // 16 * 16:] = -np.inf
    axis = {'softmax_over_queries': -2, 'softmax_over_heads': 1}.get(mistake, -1)
    weights = softmax(scores.astype(kind), axis, mistake.removeprefix('empty_rows_'))
    if mistake == 'mask_after_softmax':
        weights = np.where(may, weights, 0)
    if mistake == 'weights_averaged_over_heads':
        weights = np.broadcast_to(weights.mean(1, keepdims=True), weights.shape)
    if mistake == 'dropout_left_on':
        weights = weights * (random.random(weights.shape) >= 0.1) / 0.9
    output = rounded((np.asarray(rounded(weights), kind) @ v).astype(kind))
    if mistake == 'batch_and_sequence_swapped':
        output = output.transpose(2, 1, 0, 3)
    if mistake == 'heads_merged_without_transpose':
        return output.reshape(output.shape[0], output.shape[2], -1)
    return merged(output)


def case_of(mistake, number, random):
    """The inputs, with what the mistake concerns; nothing where the shape cannot show it."""
    batch, heads, kv_heads, queries, keys, d = shapes[number]
    odd, square = number % 2 == 1, queries == keys
    if ((mistake == 'causal_top_left' and square) or (mistake == 'kv_heads_tiled' and kv_heads in (1, heads)) or
            (mistake == 'batch_and_sequence_swapped' and (batch < 2 or not square)) or
            (mistake == 'qkv_order_swapped' and (not square or kv_heads != heads)) or
            (mistake == 'tile_remainder_ignored' and (keys < 17 or keys % 16 == 0))):
        return None
    case = {}
    if mistake.startswith('rope'):
        d = d // 2 * 2
        case['rope'] = 'interleaved' if mistake == 'rope_halves' else 'halves'
    for name, h, n in ('q', heads, queries), ('k', kv_heads, keys), ('v', kv_heads, keys):
        case[name] = random.standard_normal((batch, h, n, d)).astype(np.float32)
    if mistake.startswith(('causal', 'window')) or (mistake in ('right', 'dropout_left_on', 'padding_ignored') and odd):
        case['causal'] = True
    if mistake in ('mask_inverted', 'mask_after_softmax', 'mask_added_as_01', 'softcap_after_mask') or 'empty' in mistake:
        case['mask'] = random.random((queries, keys)) > 0.3
        case['mask'][:, 0] = True
        if 'empty' in mistake:
            case['mask'][queries // 2] = False
    if mistake == 'padding_ignored':
        case['mask'] = np.ones((batch, 1, 1, keys), bool)
        case['mask'][..., -2:] = False
    if mistake == 'bias_left_out':
        case['bias'] = random.standard_normal((heads, queries, keys)).astype(np.float32)
    if mistake == 'softcap_after_mask':
        case['softcap'] = 2.
    if mistake == 'window_off_by_one':
        case['window'] = 3
    if mistake == 'scale_twice':
        case['scale'] = 0.2
    return case


def arrays_of(case, output, precision, by_head):
    """The case as a person saves it: heads in front, or merged with their number beside them."""
    heads, kv_heads = case['q'].shape[1], case['k'].shape[1]
    stored = np.float16 if precision == 'f16' else np.float32
    arrays = {name: case[name].astype(stored) for name in 'qkv'}
    batch, queries = output.shape[:2]
    if by_head:
        arrays['output'] = output.reshape(batch, queries, heads, -1).transpose(0, 2, 1, 3)
    else:
        arrays.update({name: merged(x) for name, x in arrays.items()}, heads=heads, kv_heads=kv_heads, output=output)
    if precision == 'f16':
        arrays['output'] = arrays['output'].astype(np.float16)
    if 'rope' in case:
        arrays.update(rope_base=10000., rope_interleaved=case['rope'] == 'interleaved')
    return arrays | {name: case[name] for name in ('causal', 'window', 'mask', 'bias', 'softcap', 'scale') if name in case}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument('folder')
    arguments.add_argument('--seed', type=int, default=1)
    arguments.add_argument('--every', type=int, default=1)
    given = arguments.parse_args()
    random = np.random.default_rng(given.seed)
    os.makedirs(given.folder, exist_ok=True)
    written = 0
    for number in range(len(shapes)):
        for mistake in mistakes:
            case = case_of(mistake, number, random)
            if case is None:
                continue
            for precision, (rounded, _) in precisions.items():
                for name in 'qkv':
                    case[name] = np.asarray(rounded(case[name]), np.float32)
                output = attention(case, mistake, precision, random)
                by_head = written % 2 == 1 and mistake != 'heads_merged_without_transpose'
                if written % given.every == 0:
                    np.savez(f'{given.folder}/{mistake}.{number}.{precision}.npz', **arrays_of(case, output, precision, by_head))
                written += 1


main()
