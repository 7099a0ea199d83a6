"""Has what is used of a tensor of PyTorch, and of the module."""

from __future__ import annotations

import contextlib
import types
from typing import Any

import numpy as np


class Tensor:
    """Numbers of bfloat16 are bits, in uint16."""

    def __init__(self, data: np.ndarray, dtype: str) -> None:
        self.data, self.dtype, self.shape = data, dtype, data.shape

    def detach(self) -> Tensor:
        return self

    cpu = contiguous = detach

    def numpy(self) -> np.ndarray:
        if self.dtype in ("torch.bfloat16", "torch.float8_e4m3fn"):
            raise TypeError("Got unsupported ScalarType")
        return self.data

    def float(self) -> Tensor:
        return Tensor(self.data.astype(np.float32), "torch.float32")

    def view(self, dtype: Any) -> Tensor:
        return Tensor(self.data.view(dtype), "torch.int16")

    def data_ptr(self) -> int:
        return self.data.__array_interface__["data"][0]

    def stride(self) -> tuple[int, ...]:
        return tuple(size // self.data.itemsize for size in self.data.strides)


class Module:
    training = True

    def eval(self) -> None:
        self.train(False)

    def train(self, mode: bool) -> None:
        self.training = mode


module = types.SimpleNamespace(int16=np.int16, no_grad=contextlib.nullcontext, nn=types.SimpleNamespace(Module=Module))
