"""Writes tensors in the safetensors format: https://github.com/huggingface/safetensors#format"""

from __future__ import annotations

import json
from collections.abc import Mapping

from .arrays import Tensor


def write(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    header: dict[str, object] = {"__metadata__": dict(metadata)} if metadata else {}
    parts, at = [], 0
    for name, tensor in tensors.items():
        part = tensor.to_bytes()
        header[name] = {"dtype": tensor.dtype, "shape": list(tensor.shape), "data_offsets": [at, at + len(part)]}
        parts.append(part)
        at += len(part)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)  # the numbers begin at a multiple of eight
    return b"".join([len(head).to_bytes(8, "little"), head, *parts])
