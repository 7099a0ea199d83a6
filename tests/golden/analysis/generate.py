#!/usr/bin/python3
"""Writes einsum.json and forms.json beside it: Einstein sums, singular values and inverses, computed by NumPy.

Inputs are f32 numbers; results are computed in float64. The first sums are common in texts about attention; the
others are random, and some have diagonals, operands without a common index, or no arrow.

    apt install python3-numpy; /usr/bin/python3 tests/golden/analysis/generate.py
"""

import json
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
generator = np.random.default_rng(7)


def normal(*shape):
    return generator.standard_normal(shape).astype(np.float32).astype(np.float64)


def case(subscripts, sizes):
    operands = [normal(*(sizes[c] for c in indices)) for indices in subscripts.split("->")[0].split(",")]
    result = np.asarray(np.einsum(subscripts, *operands))
    return {
        "subscripts": subscripts,
        "operands": [{"shape": list(o.shape), "values": o.ravel().tolist()} for o in operands],
        "shape": list(result.shape),
        "values": result.ravel().tolist(),
    }


def random_case():
    letters = list("ijkAb")
    sizes = {c: int(generator.integers(1, 5)) for c in letters}
    operands = ["".join(generator.choice(letters, int(generator.integers(1, 4)))) for _ in range(generator.integers(1, 4))]
    used = sorted(set("".join(operands)))
    text = ",".join(operands)
    if generator.random() < 0.4:
        once = [c for c in used if text.count(c) == 1]
        return case(text, sizes) if len(once) <= 3 else random_case()
    kept = list(generator.permutation(used))[: int(generator.integers(0, 4))]
    return case(text + "->" + "".join(kept), sizes)


known = [
    ("ik,jk->ij", {"i": 3, "j": 4, "k": 5}),
    ("ij,jd->id", {"i": 3, "j": 4, "d": 2}),
    ("hik,hjk->hij", {"h": 2, "i": 3, "j": 4, "k": 5}),
    ("ib,ba,ca,jc->ij", {"i": 3, "j": 2, "a": 4, "b": 5, "c": 5}),
    ("ii->", {"i": 4}),
    ("ii->i", {"i": 4}),
    ("ii", {"i": 4}),
    ("ij->ji", {"i": 3, "j": 2}),
    ("ba", {"a": 2, "b": 3}),
    ("bA", {"A": 2, "b": 3}),
    ("i,i->", {"i": 6}),
    ("i,j", {"i": 2, "j": 3}),
    ("iij,j->i", {"i": 3, "j": 4}),
]
sums = [case(*each) for each in known] + [random_case() for _ in range(40)]
(HERE / "einsum.json").write_text(json.dumps({"numpy": np.__version__, "cases": sums}) + "\n")


def form(rows, cols, rank):
    left, right = normal(rows, rank), normal(cols, rank)
    m = left @ right.T
    made = {
        "rows": rows,
        "cols": cols,
        "rank": rank,
        "left": left.ravel().tolist(),
        "right": right.ravel().tolist(),
        "singular": np.linalg.svd(m, compute_uv=False)[: min(rows, cols, rank)].tolist(),
        "whole": float(np.sum(m**2)),
    }
    if rows == cols:
        made["symmetric"] = float(np.sum(((m + m.T) / 2) ** 2))
        made["antisymmetric"] = float(np.sum(((m - m.T) / 2) ** 2))
    return made


def metric(size):
    g = normal(size, size)
    g = g + g.T
    values = np.linalg.eigvalsh(g)
    return {
        "size": size,
        "g": g.ravel().tolist(),
        "inverse": np.linalg.inv(g).ravel().tolist(),
        "negative": int(np.sum(values < 0)),
        "condition": float(np.linalg.cond(g)),
    }


forms = {
    "numpy": np.__version__,
    "forms": [form(*shape) for shape in [(12, 12, 3), (4, 4, 4), (3, 5, 7), (40, 40, 20), (9, 2, 4), (1, 1, 1)]],
    "metrics": [metric(size) for size in (1, 2, 4, 8)],
}
(HERE / "forms.json").write_text(json.dumps(forms) + "\n")
