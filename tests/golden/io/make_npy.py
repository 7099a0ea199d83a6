#!/usr/bin/env python3
"""Writes npy/: one small array for every version, element type and order that NumPy writes.

Element i of an array, counted in row-major order, is i - 2 for signed integers, i for unsigned ones, i/2 - 1
for floats, i odd for booleans. Made with NumPy 1.24.2.
"""
import pathlib

import numpy as np

folder = pathlib.Path(__file__).parent / "npy"
folder.mkdir(exist_ok=True)


def counted(dtype, shape):
    i = np.arange(int(np.prod(shape)))
    kind = np.dtype(dtype).kind
    values = {"b": i % 2, "u": i, "i": i - 2, "f": i / 2 - 1}[kind]
    return values.reshape(shape).astype(dtype)


for name in ["b1", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"]:
    np.save(folder / f"little_{name}.npy", counted("<" + name, (2, 3)))
for name in ["u2", "i4", "i8", "f2", "f4", "f8"]:
    np.save(folder / f"big_{name}.npy", counted(">" + name, (2, 3)))
np.save(folder / "fortran_f4.npy", np.asfortranarray(counted("<f4", (2, 3, 4))))
np.save(folder / "fortran_big_i8.npy", np.asfortranarray(counted(">i8", (3, 1, 2))))
np.save(folder / "rank_0.npy", np.float32(2.5))
np.save(folder / "rank_0_i8.npy", np.array(-7))
np.save(folder / "rank_1.npy", counted("<f4", (5,)))
np.save(folder / "rank_5.npy", counted("<f4", (1, 2, 1, 3, 1)))
np.save(folder / "empty.npy", np.zeros((0, 3), np.float32))
np.save(folder / "empty_fortran.npy", np.zeros((2, 0, 3), np.float32, order="F"))
np.save(folder / "special_f4.npy", np.array([np.inf, -np.inf, np.nan, -0.0, 1e-45], np.float32))
np.save(folder / "extremes_i8.npy", np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max]))
np.save(folder / "extremes_u8.npy", np.array([np.iinfo(np.uint64).max]))
for version in [(2, 0), (3, 0)]:
    with open(folder / f"version_{version[0]}.npy", "wb") as file:
        np.lib.format.write_array(file, counted("<f4", (2, 3)), version)

# The 16 high bits of 1, -2 and 0.5, which NumPy sees when it reads the bfloat16 of ml_dtypes.
np.save(folder / "bfloat16.npy", np.array([0x3F80, 0xC000, 0x3F00], "<u2").view("V2"))

np.save(folder / "refused_object.npy", np.array([{}], object))
np.save(folder / "refused_complex.npy", np.zeros(2, np.complex64))
np.save(folder / "refused_text.npy", np.array(["text"]))
np.save(folder / "refused_bytes.npy", np.array([b"text"]))
np.save(folder / "refused_date.npy", np.array(["2020-01-01"], "M8[D]"))
np.save(folder / "refused_structure.npy", np.zeros(2, [("a", "f4"), ("b", "i4")]))
np.save(folder / "refused_long_double.npy", np.zeros(2, np.longdouble))
