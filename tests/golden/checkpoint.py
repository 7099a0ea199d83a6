"""Reads checkpoints for the generator scripts."""

import json
import struct

import numpy
import torch


def read_safetensors(path):
    """Returns the F32 tensors of a file by name, as doubles."""
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        array = numpy.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
        tensors[name] = torch.from_numpy(array.copy()).double()
    return tensors
