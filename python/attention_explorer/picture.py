"""Draws attention weights as a PNG, for viewers that run nothing: a row of maps for each layer, a map for each
head."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .arrays import Tensor

# The page's colours from 0 to the largest weight, where it is light (web/widgets/theme.cpp).
_stops = np.array([[int(stop[i:i + 2], 16) for i in (0, 2, 4)] for stop in (
    "e6eef8", "d5e4f4", "bcd6ec", "9dc6e2", "70aed4", "4793c6", "2676b4", "0f5a9c", "0a3a70")], np.float64)
_nan = (0xFF, 0x00, 0xC8)

_width = 960
_gap = 6
_most_columns = 12
_least_map, _most_map = 48, 400  # pixels
_most_maps = 144
_most_cells = 20_000_000  # takes about a second


@dataclass(frozen=True)
class Picture:
    png: bytes
    drawn: int  # the first of the heads
    heads: int


def softmax(scores: np.ndarray) -> np.ndarray:
    """Over the last axis. A query without a key has zeros."""
    top = scores.max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):  # a row with NaN or inf has none
        grown = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = grown.sum(axis=-1, keepdims=True)
    return grown / np.where(total == 0, 1, total)


def weights_of(q: Tensor, k: Tensor, mask: Tensor | None, causal: bool | str, scaled: bool) -> Iterator[np.ndarray]:
    """Gives each head's weights in double; q and k are [layers, heads, n, d], and heads of k may be shared."""
    layers, heads, queries, d = q.shape
    keys, shared = k.shape[2], heads // k.shape[1]
    after = np.arange(keys) > np.arange(queries)[:, None] + (keys - queries if causal == "past" else 0)
    for layer in range(layers):
        for head in range(heads):
            scores = _head_of(q, layer, head) @ _head_of(k, layer, head // shared).T * (d ** -0.5 if scaled else 1)
            if mask is not None:
                part = Tensor(_element(_element(mask.data, 0, layer), 0, head), mask.dtype)
                scores = np.where(part.data, scores, -np.inf) if mask.dtype == "BOOL" else scores + part.double()
            if causal:
                scores = np.where(after, -np.inf, scores)
            yield softmax(scores)


def _head_of(tensor: Tensor, layer: int, head: int) -> np.ndarray:
    return Tensor(tensor.data[layer, head], tensor.dtype).double()


def _element(array: np.ndarray, axis: int, at: int) -> np.ndarray:
    return array.take(at if array.shape[axis] > 1 else 0, axis)


def maps_of(weights: Tensor) -> Iterator[np.ndarray]:
    """Gives each head's map of weights that are [layers, heads, n, m]."""
    for layer in range(weights.shape[0]):
        for head in range(weights.shape[1]):
            yield _head_of(weights, layer, head)


def draw(maps: Iterator[np.ndarray], shape: tuple[int, int, int, int]) -> Picture | None:
    """Draws the first maps of [layers, heads, n, m] on one scale, or nothing if one map takes too long."""
    layers, heads, rows, columns = shape
    taken = min(layers * heads, _most_maps, _most_cells // (rows * columns))
    if taken == 0:
        return None
    across = min(heads, taken, _most_columns)
    side = int(np.clip((_width - _gap) // across - _gap, _least_map, _most_map))
    edge = max(rows, columns)
    cell = max(1, side // edge)  # pixels
    pooled = [_pool(each, min(1.0, side / edge)) for _, each in zip(range(taken), maps)]
    finite = [each[np.isfinite(each)] for each in pooled]
    high = max((float(each.max()) for each in finite if each.size), default=0.0)

    places = [divmod(i, heads) for i in range(taken)]
    lines = -(-heads // across)  # of each layer
    height, width = (size * cell for size in pooled[0].shape)
    down = max(layer * lines + head // across for layer, head in places) + 1
    image = np.full((down * (height + _gap) + _gap, across * (width + _gap) + _gap, 3), 255, np.uint8)
    for values, (layer, head) in zip(pooled, places):
        y = _gap + (layer * lines + head // across) * (height + _gap)
        x = _gap + head % across * (width + _gap)
        image[y:y + height, x:x + width] = _coloured(values, high).repeat(cell, 0).repeat(cell, 1)
    return Picture(encode(image), taken, layers * heads)


def _pool(values: np.ndarray, share: float) -> np.ndarray:
    """Keeps the largest of the cells that share a pixel, and NaN before all others."""
    for axis in (0, 1):
        size = values.shape[axis]
        pixels = max(1, int(size * share))
        if pixels < size:
            values = np.maximum.reduceat(values, np.arange(pixels) * size // pixels, axis)
    return values


def _coloured(values: np.ndarray, high: float) -> np.ndarray:
    share = np.clip(np.nan_to_num(values / high if high > 0 else 0 * values), 0, 1) * (len(_stops) - 1)
    at = np.minimum(share.astype(int), len(_stops) - 2)
    part = (share - at)[..., None]
    colours = (_stops[at] * (1 - part) + _stops[at + 1] * part + 0.5).astype(np.uint8)
    colours[np.isnan(values)] = _nan
    return colours


def encode(image: np.ndarray) -> bytes:
    """Encodes RGB, [height, width, 3], as a PNG."""
    height, width, _ = image.shape
    rows = np.concatenate([np.zeros((height, 1), np.uint8), image.reshape(height, width * 3)], axis=1)  # no filter

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b""))
