"""Takes the numbers of NumPy, PyTorch and whatever else turns into an array, with their precision."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

# NumPy's types by the names that .safetensors files have for them.
_names = {
    "bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "uint32": "U32", "int32": "I32",
    "uint64": "U64", "int64": "I64", "float16": "F16", "float32": "F32", "float64": "F64",
}


@dataclass(frozen=True)
class Tensor:
    """Numbers in C order. NumPy lacks bfloat16, so its numbers (dtype BF16) lie in uint16."""

    data: np.ndarray
    dtype: str

    @property
    def shape(self) -> tuple[int, ...]:
        return self.data.shape

    def reshaped(self, *shape: int) -> Tensor:
        return Tensor(self.data.reshape(shape), self.dtype)

    def double(self) -> np.ndarray:
        if self.dtype == "BF16":
            return (self.data.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
        return self.data.astype(np.float64)

    def to_bytes(self) -> bytes:
        return np.ascontiguousarray(self.data, self.data.dtype.newbyteorder("<")).tobytes()


def tensor_of(value: Any, name: str) -> Tensor:
    """Names the value in what it raises."""
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            return Tensor(value.contiguous().view(sys.modules["torch"].int16).numpy().view(np.uint16), "BF16")
        try:
            value = value.numpy()
        except TypeError:  # NumPy has no 8-bit floats
            value = value.float().numpy()
    try:
        data = np.asarray(value)
    except ValueError:
        raise ValueError(f"{name} has rows of different lengths: give an array whose rows have one length.") from None
    kind = data.dtype.name
    if kind == "bfloat16":  # JAX has it in NumPy's arrays
        return Tensor(np.ascontiguousarray(data).view(np.uint16), "BF16")
    if kind in ("longdouble", "float128", "float96"):
        return Tensor(data.astype(np.float64), "F64")
    if kind not in _names:
        kinds = {"U": "text", "S": "text", "c": "complex numbers", "O": "objects", "M": "dates"}
        raise TypeError(f"{name} holds {kinds.get(data.dtype.kind, kind)}: give an array of real numbers.")
    return Tensor(data, _names[kind])
