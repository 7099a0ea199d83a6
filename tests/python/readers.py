"""Reads what the package writes, by code of its own."""

from __future__ import annotations

import base64
import gzip
import json
import re
import struct
import zlib

import numpy as np

_types = {"BOOL": np.bool_, "F16": "<f2", "F32": "<f4", "F64": "<f8", "BF16": "<u2", "I64": "<i8"}


def safetensors(content: bytes) -> dict[str, tuple[str, np.ndarray]]:
    (length,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8:8 + length])
    header.pop("__metadata__", None)
    tensors, at = {}, 0
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        assert begin == at, f"{name} begins at {begin}, not at {at}"
        at = end
        data = np.frombuffer(content[8 + length + begin:8 + length + end], _types[entry["dtype"]])
        tensors[name] = (entry["dtype"], data.reshape(entry["shape"]))
    assert 8 + length + at == len(content) and (8 + length) % 8 == 0
    return tensors


def png(content: bytes) -> np.ndarray:
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = [], 8
    while at < len(content):
        (size,) = struct.unpack_from(">I", content, at)
        kind, data = content[at + 4:at + 8], content[at + 8:at + 8 + size]
        assert struct.unpack_from(">I", content, at + 8 + size)[0] == zlib.crc32(kind + data)
        chunks.append((kind, data))
        at += 12 + size
    assert [kind for kind, _ in chunks] == [b"IHDR", b"IDAT", b"IEND"]
    width, height, depth, colours = struct.unpack(">IIBB", chunks[0][1][:10])
    assert (depth, colours) == (8, 2)
    rows = zlib.decompress(chunks[1][1])
    assert len(rows) == height * (1 + 3 * width)
    lines = [rows[y * (1 + 3 * width):(y + 1) * (1 + 3 * width)] for y in range(height)]
    assert all(line[0] == 0 for line in lines)
    return np.array([list(line[1:]) for line in lines], np.uint8).reshape(height, width, 3)


def blocks(page: str) -> dict[str, bytes]:
    found = re.findall(r'<script type="text/plain" data-file="([^"]*)">([^<]*)</script>', page)
    assert len({path for path, _ in found}) == len(found)
    return {path: gzip.decompress(base64.b64decode(content)) for path, content in found}
