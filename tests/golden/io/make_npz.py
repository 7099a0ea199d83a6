#!/usr/bin/env python3
"""Writes npz/: archives in the form of NumPy and of other programs.

`q` is element i = i/2 - 1 of shape 2×3×4, in row-major order; the other arrays' names describe them. Made with
NumPy 1.24.2, Python 3.11 and zlib 1.2.13.
"""
import io
import pathlib
import struct
import zipfile
import zlib

import numpy as np

folder = pathlib.Path(__file__).parent / "npz"
folder.mkdir(exist_ok=True)
q = (np.arange(24) / 2 - 1).reshape(2, 3, 4).astype("<f4")
arrays = {
    "q": q,
    "half": q.astype("<f2"),
    "bfloat16": (q.view("<u4") >> 16).astype("<u2").view("V2"),
    "double_big": q.astype(">f8"),
    "fortran": np.asfortranarray(q),
    "fortran_big": np.asfortranarray(q.astype(">f2")),
    "int32": np.arange(24, dtype="<i4").reshape(2, 3, 4),
    "mask": np.tri(3, dtype=bool),
    "scalar": np.float64(7),
    "empty": np.zeros((0, 4), "<f4"),
}
np.savez(folder / "stored.npz", **arrays)
np.savez_compressed(folder / "deflated.npz", **arrays)
np.savez(folder / "unnamed.npz", q, q[0])
np.savez(folder / "with_strings.npz", q=q, tokens=np.array(["The", " cat"]))


def npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


# Every size and offset is in zip64 fields, with a zip64 directory, like Python's archives beyond 4 GB.
limit, zipfile.ZIP64_LIMIT = zipfile.ZIP64_LIMIT, 10
zipfile.ZIP_FILECOUNT_LIMIT = 1
for name, method in [("zip64_stored", zipfile.ZIP_STORED), ("zip64_deflated", zipfile.ZIP_DEFLATED)]:
    with zipfile.ZipFile(folder / f"{name}.npz", "w", method) as archive:
        for key in ["q", "half"]:
            with archive.open(f"{key}.npy", "w", force_zip64=True) as entry:
                entry.write(npy(arrays[key]))
zipfile.ZIP64_LIMIT = limit


class Pipe(io.RawIOBase):
    """Cannot seek, so sizes come after the data."""

    def __init__(self):
        self.data = b""

    def writable(self):
        return True

    def write(self, piece):
        self.data += bytes(piece)
        return len(piece)


pipe = Pipe()
np.savez_compressed(pipe, q=q, half=arrays["half"])
(folder / "descriptors.npz").write_bytes(pipe.data)

with zipfile.ZipFile(folder / "by_hand.npz", "w") as archive:
    archive.comment = b"a comment, with PK\5\6 in it"
    archive.mkdir("layer0") if hasattr(archive, "mkdir") else archive.writestr("layer0/", b"")
    archive.writestr("layer0/q.npy", npy(q), zipfile.ZIP_DEFLATED)
    archive.writestr("layer0/k.npy", npy(arrays["half"]))
    archive.writestr("readme.txt", "not an array")

header = "{'descr': '<f4', 'fortran_order': False, 'shape': (24,)}" + " " * 3000
long_header = b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header.encode() + q.tobytes()
with zipfile.ZipFile(folder / "long_header.npz", "w", zipfile.ZIP_DEFLATED) as archive:
    archive.writestr("q.npy", long_header)

for name, method in [("bzip2", zipfile.ZIP_BZIP2), ("lzma", zipfile.ZIP_LZMA)]:
    with zipfile.ZipFile(folder / f"refused_{name}.npz", "w", method) as archive:
        archive.writestr("q.npy", npy(q))
with zipfile.ZipFile(folder / "refused_torch.npz", "w") as archive:
    archive.writestr("archive/data.pkl", b"\x80\2.")


def one_entry(content, packed, method=8, crc=None, size=None):
    """An archive of one entry whose every field is given."""
    name = b"q.npy"
    fields = struct.pack("<HHHHHIIIH", 20, 0, method, 0, 0x21, zlib.crc32(content) if crc is None else crc,
                         len(packed), len(content) if size is None else size, len(name))
    local = b"PK\3\4" + fields + struct.pack("<H", 0) + name + packed
    central = b"PK\1\2" + struct.pack("<H", 20) + fields + struct.pack("<HHHHII", 0, 0, 0, 0, 0, 0) + name
    return local + central + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)


def deflate(content, level, strategy=zlib.Z_DEFAULT_STRATEGY):
    packer = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
    return packer.compress(content) + packer.flush()


content = npy(np.arange(3000, dtype="<f4") % 37)
blocks = {
    "blocks_stored": deflate(content, 0),
    "blocks_fixed": deflate(content, 9, zlib.Z_FIXED),
    "blocks_dynamic": deflate(content, 9),
}
assert blocks["blocks_stored"][0] & 6 == 0 and blocks["blocks_fixed"][0] & 6 == 2
assert blocks["blocks_dynamic"][0] & 6 == 4
for name, packed in blocks.items():
    (folder / f"{name}.npz").write_bytes(one_entry(content, packed))

packed = deflate(content, 9)
lies = {
    "crc": one_entry(content, packed, crc=1),
    "stored_crc": one_entry(content, content, method=0, crc=1),
    "too_short": one_entry(content, packed, size=len(content) - 1),
    "too_long": one_entry(content, packed, size=len(content) + 1),
    "breaks_off": one_entry(content, packed[:-3]),
    "goes_on": one_entry(content, packed + b"abc"),
    "broken": one_entry(content, packed[:40] + b"\xff" * 40 + packed[80:]),
    "bomb": one_entry(content, packed, size=1032 * len(packed) + 1),
}
for name, data in lies.items():
    (folder / f"lie_{name}.npz").write_bytes(data)
