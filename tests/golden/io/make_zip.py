#!/usr/bin/env python3
"""Writes zip/stored.zip: stored entries, dated 1 January 1980, without attributes.

Made with Python 3.11.7's zipfile.
"""
import pathlib
import zipfile

folder = pathlib.Path(__file__).parent / "zip"
folder.mkdir(exist_ok=True)
entries = {
    "model/config.json": b'{"a": 1}\n',
    "model/every-byte": bytes(range(256)) * 3,
    "model/empty": b"",
    "check": b"123456789",  # its CRC-32 is CBF43926
}
with zipfile.ZipFile(folder / "stored.zip", "w") as archive:
    for path, content in entries.items():
        entry = zipfile.ZipInfo(path)
        entry.create_system = 0
        archive.writestr(entry, content)
        entry.external_attr = 0
