#!/usr/bin/python3
"""Writes terms.json beside it: scores of seven models as sums over pairs of sources, by PyTorch's autograd.

Each model is run in float64 as its files say. Then one row of its residual stream is computed again from what
was written into it, each source multiplied by a gate of 1, with the statistics of every norm detached: frozen.
A query and a key are linear in their gates, so that their Jacobians by the gates are the sources' parts of q and
k, and scale * q_s . k_t are the terms of the score. Where the checkpoints have expected attention weights of
other authors, the runs are compared with them first.

    apt install python3-torch; /usr/bin/python3 tests/golden/sources/generate.py SHARED

SHARED is the folder that has families/; GPT-2 and Llama are those of tests/golden/model.
"""

import json
import sys
from pathlib import Path

import numpy
import torch

from frozen import Stream
from models import MAKERS

HERE = Path(__file__).parent


def vector_sources(compute):
    """Runs compute(gate), a linear function of its gates at 1; returns their names and parts [sources, width]."""
    names = []

    def note(name):
        if name not in names:
            names.append(name)
        return torch.tensor(1.0)

    compute(note)

    def at(gates):
        return compute(lambda name: gates[names.index(name)])

    parts = torch.autograd.functional.jacobian(at, torch.ones(len(names))).T
    return names, parts


def side(stream, part, row, of_query, head, source_stream, final_norm):
    """The computation of q or k of one head as a function of gates."""
    w, b = (part.w_q, part.biases[0]) if of_query else (part.w_k, part.biases[1])
    norm = part.q_norm if of_query else part.k_norm
    own = head if of_query else head * part.kv_heads // part.heads
    columns = slice(own * part.width, (own + 1) * part.width)

    def compute(gate):
        if of_query or source_stream is stream:
            y = stream.replay(row, part, gate)
            if part.norm is not None:
                y = Stream.held(part.norm, y, part.before[row], gate, ("input_norm", 0, 0))
        else:
            y = source_stream.replay(row, None, gate)
            y = Stream.held(final_norm, y, source_stream.end[row], gate, ("input_norm", 0, 0))
        y = y @ w[:, columns]
        if b is not None:
            y = y + gate(("projection_bias", 0, 0)) * b[columns]
        if norm is not None:
            y = Stream.held(norm, y, y, gate, ("vector_norm", 0, 0))
        return part.rotate(y[None], torch.tensor([float(row)]))[0]

    return compute


def terms(name, stream, part, number, head, query, key, source_stream=None, final_norm=None):
    source_stream = source_stream or stream
    q_names, q = vector_sources(side(stream, part, query, True, head, source_stream, final_norm))
    k_names, k = vector_sources(side(stream, part, key, False, head, source_stream, final_norm))
    matrix = q @ k.T * part.scale
    score = part.scaled[head, query, key]
    assert abs(matrix.sum() - score) < 1e-10 * (1 + matrix.abs().sum()), (name, matrix.sum(), score)
    return {"model": name, "attention": number, "head": head, "query": query, "key": key, "score": float(score),
            "query_sources": q_names, "key_sources": k_names,
            "terms": [[float(f"{each:.12g}") for each in row] for row in matrix]}


# Attentions by which, layer; their number, head, query and key.
PLACES = {"gpt2-f32": [(0, 1, 1, 1, 7, 4), (0, 1, 1, 0, 8, 8)], "llama3-scaled-f32": [(0, 1, 1, 3, 7, 4)],
          "qwen3": [(0, 2, 2, 3, 12, 5)], "gemma2": [(0, 3, 3, 2, 14, 3)], "gpt_neox": [(0, 2, 2, 1, 11, 6)],
          "bert": [(0, 2, 2, 3, 4, 11)]}


def cases_of(built):
    stream, encoder = built.stream, built.encoder
    if encoder is None:
        return [terms(built.name, stream, stream.layers[layer][which], *place)
                for which, layer, *place in PLACES[built.name]]
    count, last = len(stream.layers), len(stream.layers) - 1
    return [terms("t5", encoder, encoder.layers[last][0], last, 2, 9, 3),
            terms("t5", stream, stream.layers[last][0], count + last, 1, 8, 2),
            terms("t5", stream, stream.layers[last][1], 2 * count + last, 3, 8, 12, encoder, built.encoder_final)]


def main():
    cases = [case for make in MAKERS.values() for case in cases_of(make(Path(sys.argv[1])))]
    lines = ",\n".join(json.dumps(case) for case in cases)
    (HERE / "terms.json").write_text("[\n" + lines + "\n]\n")
    versions = {"python": sys.version.split()[0], "torch": torch.__version__, "numpy": numpy.__version__}
    (HERE / "versions.json").write_text(json.dumps(versions, indent=4) + "\n")
    for case in cases:
        print(case["model"], case["attention"], len(case["query_sources"]), len(case["key_sources"]), case["score"])


if __name__ == "__main__":
    main()
