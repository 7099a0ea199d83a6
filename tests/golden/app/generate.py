#!/usr/bin/python3
"""Writes seeded_normal.json beside it: example J, the tutorial's demo, computed by NumPy in double precision.

    apt install python3-numpy; /usr/bin/python3 tests/golden/app/generate.py
"""

import json
from pathlib import Path

import numpy as np

seq_len, d_k = 4, 8
np.random.seed(42)
q, k, v = (np.random.randn(seq_len, d_k) for _ in range(3))


def attention(mask):
    raw = q @ k.T
    scaled = raw / np.sqrt(d_k)
    masked = np.where(mask, scaled, -np.inf)
    exponentials = np.exp(masked - masked.max(axis=-1, keepdims=True))
    weight = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return {"scores": raw, "scaled": scaled, "weight": weight, "output": weight @ v}


golden = {
    "numpy": np.__version__,
    "inputs": {"Q": q, "K": k, "V": v},
    "none": attention(np.ones((seq_len, seq_len), dtype=bool)),
    "causal": attention(np.tril(np.ones((seq_len, seq_len), dtype=bool))),
}
text = json.dumps(golden, default=lambda array: array.tolist(), indent=1)
(Path(__file__).parent / "seeded_normal.json").write_text(text + "\n")
