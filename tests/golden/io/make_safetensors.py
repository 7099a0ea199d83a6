#!/usr/bin/env python3
"""Writes safetensors/: files made from the format's description alone, with nothing but struct and json."""
import json
import pathlib
import struct

folder = pathlib.Path(__file__).parent / "safetensors"
folder.mkdir(exist_ok=True)


def write(name, tensors, metadata=None, padding=0):
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for key, dtype, shape, body in tensors:
        header[key] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(body)]}
        data += body
    text = json.dumps(header, separators=(",", ":")).encode() + b" " * padding
    (folder / name).write_bytes(struct.pack("<Q", len(text)) + text + data)


write(
    "every_type.safetensors",
    [
        ("f64", "F64", [2], struct.pack("<2d", 1.5, -0.1)),
        ("i64", "I64", [2], struct.pack("<2q", -1, 2**40)),
        ("u64", "U64", [1], struct.pack("<Q", 2**63)),
        ("c64", "C64", [1], struct.pack("<2f", 1, -1)),
        ("f32", "F32", [2, 3], struct.pack("<6f", 0, 1, 2, 3, 4, float("inf"))),
        ("i32", "I32", [1, 1], struct.pack("<i", -5)),
        ("u32", "U32", [1], struct.pack("<I", 5)),
        ("f16", "F16", [3], struct.pack("<3e", 1, -2, 0.1)),
        ("bf16", "BF16", [2], bytes([0x80, 0x3F, 0x00, 0xC0])),
        ("i16", "I16", [1], struct.pack("<h", -300)),
        ("u16", "U16", [1], struct.pack("<H", 60000)),
        ("i8", "I8", [1], struct.pack("<b", -7)),
        ("u8", "U8", [1], struct.pack("<B", 200)),
        ("bool", "BOOL", [2], bytes([1, 0])),
        ("f8_e5m2", "F8_E5M2", [1], b"\x3c"),
        ("f8_e4m3", "F8_E4M3", [1], b"\x38"),
        ("f8_e5m2fnuz", "F8_E5M2FNUZ", [1], b"\x40"),
        ("f8_e4m3fnuz", "F8_E4M3FNUZ", [1], b"\x40"),
        ("f8_e8m0", "F8_E8M0", [1], b"\x7f"),
        ("f6_e2m3", "F6_E2M3", [4], b"\0\0\0"),
        ("f6_e3m2", "F6_E3M2", [2, 2], b"\0\0\0"),
        ("f4", "F4", [2], b"\0"),
        ("scalar", "F32", [], struct.pack("<f", 7)),
        ("empty", "F32", [0, 4], b""),
        ("a \"strange\"\nname é", "U8", [1], b"\1"),
    ],
    metadata={"format": "pt", "note": "by hand"},
    padding=5,
)
write("no_tensors.safetensors", [])
write("only_metadata.safetensors", [], metadata={"format": "np"})
