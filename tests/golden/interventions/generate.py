#!/usr/bin/python3
"""Writes the golden data beside it: two of the golden models, run with forward hooks that change a site.

Every site of core/model/intervention.hpp is an nn.Identity in a plain PyTorch module in float64, and every
operation is a function registered there with register_forward_hook. cases.json has the interventions, MODEL.npz
the last three rows of the logits [cases, 3, vocabulary] and the weights of the changed layer
[cases, heads, n, n], in f32.

    apt install python3-torch; /usr/bin/python3 tests/golden/interventions/generate.py
"""

import json
from pathlib import Path

import numpy
import torch

from hooked import VECTORS, hooked_models, listened

HERE = Path(__file__).parent
IDS = [3, 1, 4, 1, 5, 9, 2, 6, 5]
TEXTS = [[7, 1, 4, 2, 5, 9, 2, 8, 3], [30, 2, 4, 1, 11, 9, 6, 6, 0]]  # the source texts of means and patches
OF_HEADS = ["q", "k", "v", "head_output", "score", "mask", "weight"]


def changed(model, case):
    """The logits and weights of a run with hooks for the case's interventions."""
    layer, site, operation = case["attention"], case["site"], case["operation"]
    sites = model.layers[layer]
    own = listened(model, layer, site, IDS)
    others = [listened(model, layer, site, text) for text in (TEXTS if operation == "mean_of_texts" else TEXTS[:1])]

    def hook(module, inputs, x):
        x = x.clone()
        of_heads = site in OF_HEADS
        if not of_heads:
            x = x[None]
        rows = case.get("rows", list(range(x.shape[1])))
        columns = case.get("columns", list(range(x.shape[2])))
        from_rows = case.get("from_rows", rows)
        values = torch.tensor(case.get("values", [0.0]), dtype=torch.float64)
        values = values.reshape(len(rows), -1) if values.numel() == len(rows) * len(columns) else values[None]
        values = values.expand(len(rows), len(columns))
        for head in [case["head"]] if "head" in case else range(x.shape[0]):
            theirs = [other[head] if of_heads else other for other in others]
            mine = own[head] if of_heads else own
            for i, row in enumerate(rows):
                seen = sites.allowed[head, row] if site in ("score", "weight") else None
                mean = x[head, row][seen].mean() if seen is not None else None
                for j, column in enumerate(columns):
                    if site == "weight" and not seen[column]:
                        continue
                    was = x[head, row, column]
                    if operation == "zero":
                        value = 0
                    elif operation == "scale":
                        value = was * values[i, j]
                    elif operation == "add":
                        value = was + values[i, j]
                    elif operation == "set":
                        value = values[i, j]
                    elif operation == "mean":
                        value = mean if seen is not None else mine[:, column].mean()
                    elif operation == "mean_of_texts" and seen is not None:
                        value = torch.stack([each[row, column] for each in theirs]).mean()
                    elif operation == "mean_of_texts":
                        value = torch.cat(theirs)[:, column].mean()
                    else:
                        value = theirs[0][from_rows[i], column]
                    x[head, row, column] = value
        return x if of_heads else x[0]

    handle = getattr(sites, site).register_forward_hook(hook)
    logits, maps = model(IDS)
    handle.remove()
    return logits[-3:].float().numpy(), maps[layer].float().numpy()


def cases_of(kv_heads):
    """Every operation of every site: some numbers of a head in the first layer, all rows in the second."""
    cases = []
    for site in VECTORS + ["score", "weight"]:
        cells = site in ("score", "weight")
        head = {"head": kv_heads - 1} if site in OF_HEADS else {}
        some = {"attention": 0, "site": site, **head, "rows": [4, 6, 8], "columns": [0, 3, 4]}
        whole = {"attention": 1, "site": site}
        by_operation = {
            "zero": {}, "scale": {"values": [-0.5]}, "add": {"values": [0.75, -1.25, 0.5]},
            "set": {"values": [0.5, 0.25, -1.0, 2.0, 0.125, -0.75, 1.5, 0.0, 1.0]}, "mean": {}, "mean_of_texts": {},
            "patch": {"from_rows": [5, 2, 8]}}
        for operation, more in by_operation.items():
            cases.append({**some, "operation": operation, **more})
            one = {"values": [0.5]} if operation in ("scale", "add", "set") else {}
            cases.append({**whole, "operation": operation, **one})
    some = {"attention": 0, "site": "mask", "head": 1, "rows": [4, 6, 8], "columns": [0, 3, 7]}
    cases += [{**some, "operation": "zero"}, {**some, "operation": "set", "values": [1]},
              {**some, "operation": "set", "values": [0, 0, 1]}, {**some, "operation": "patch"},
              {"attention": 1, "site": "mask", "rows": [8], "operation": "zero"}]
    return cases


def main():
    described = {}
    for name, model in hooked_models().items():
        cases = cases_of(model.config.get("num_key_value_heads", model.config.get("n_head")))
        runs = [changed(model, case) for case in cases]
        numpy.savez_compressed(HERE / (name + ".npz"), logits=numpy.stack([logits for logits, _ in runs]),
                               weights=numpy.stack([weights for _, weights in runs]))
        described[name] = cases
    lines = [f' "{name}": [\n' + ",\n".join("  " + json.dumps(case) for case in cases) + "\n ]"
             for name, cases in described.items()]
    (HERE / "cases.json").write_text(
        f'{{"ids": {IDS}, "texts": {TEXTS},\n' + ",\n".join(lines) + "\n}\n")
    (HERE / "versions.json").write_text(
        json.dumps({"torch": torch.__version__, "numpy": numpy.__version__}, indent=1) + "\n")


main()
