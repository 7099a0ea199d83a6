#!/usr/bin/python3
"""Writes directions.json beside it: directions of the residual stream, and the logits of runs that they steer.

The models are those of tests/golden/interventions, in float64 with hooks. An embedding is what the first block reads,
less the position's; an unembedding is the gradient of a logit through the last norm held, times its deviation; and what
a head writes is what attention gives when the layer reads the token's embedding alone, less what it gives without the
head. Differences are means of a site over the tokens of texts. The steered run adds dial * stream / length * direction
at a hook, where stream is the mean length of the text's tokens there.

    apt install python3-torch; /usr/bin/python3 tests/golden/steering/generate.py
"""

import json
import sys
from pathlib import Path

import numpy
import torch

HERE = Path(__file__).parent
sys.path += [str(HERE.parent / "interventions"), str(HERE.parent / "sources")]
from hooked import hooked_models, listened  # noqa: E402
from models import MAKERS  # noqa: E402

IDS = [3, 1, 4, 1, 5, 9, 2, 6, 5]
SECOND = [7, 1, 4, 2, 5, 9, 2]
POSITIVE = [[30, 2, 4, 1], [11, 9, 6, 6, 0, 12], [8]]
NEGATIVE = [[14, 3, 14], [2, 27, 18, 28, 1]]
CASES = [
    {"kind": "embedding", "token": 12, "attention": 1, "site": "residual_in", "dial": 0.8},
    {"kind": "unembedding", "token": 7, "attention": 1, "site": "residual_out", "row": 8, "dial": -1.5},
    {"kind": "unembedding", "token": 30, "attention": 0, "site": "residual_middle", "dial": 0.5},
    {"kind": "written", "token": 9, "head": [0, 2], "attention": 0, "site": "residual_middle", "dial": 1.25},
    {"kind": "written", "token": 17, "head": [1, 1], "attention": 1, "site": "residual_in", "dial": -0.75},
    {"kind": "second", "attention": 1, "site": "residual_in", "dial": 1.0},
    {"kind": "second", "place": 3, "attention": 0, "site": "residual_out", "row": 5, "dial": 2.0},
    {"kind": "texts", "attention": 1, "site": "residual_in", "dial": -1.0},
    {"kind": "contrast", "attention": 1, "site": "residual_in", "dial": 0.5},
    {"kind": "contrast", "attention": 0, "site": "residual_middle", "dial": -2.0},
]


def with_hooks(model, hooks, run):
    handles = [getattr(model.layers[layer], site).register_forward_hook(lambda m, i, x, change=change: change(x))
               for layer, site, change in hooks]
    result = run()
    for handle in handles:
        handle.remove()
    return result


def embedding(model, token):
    found = listened(model, 0, "residual_in", [token])[0]
    return found - model.w["wpe.weight"][0] if "wpe.weight" in model.w else found


def unembedding(built, token):
    x = torch.linspace(-1, 2, built.head.w.shape[0]).reshape(1, -1)
    y = x.clone().requires_grad_()
    (built.final.held(y, x) @ built.head.w)[0, token].backward()
    if built.final.centred:
        return y.grad[0] * (x.var(-1, unbiased=False) + built.final.epsilon).sqrt()
    return y.grad[0] * (x.pow(2).mean(-1) + built.final.epsilon).sqrt()


def written(model, token, layer, head):
    """What attention gives for the embedding alone, less the same without the head."""
    read = embedding(model, token)[None]

    def given(kept):
        def keep(x):
            return torch.stack([each if h in kept else torch.zeros_like(each) for h, each in enumerate(x)])

        return with_hooks(model, [(layer, "residual_in", lambda x: read), (layer, "head_output", keep)],
                          lambda: listened(model, layer, "attention_output", [token]))[0]

    return given([head]) - given([])


def mean_over(model, case, texts):
    return torch.cat([listened(model, case["attention"], case["site"], text) for text in texts]).mean(0)


def direction(model, built, case):
    kind = case["kind"]
    if kind == "embedding":
        return embedding(model, case["token"])
    if kind == "unembedding":
        return unembedding(built, case["token"])
    if kind == "written":
        return written(model, case["token"], *case["head"])
    if kind == "second" and "place" in case:
        here, there = (listened(model, case["attention"], case["site"], text) for text in (IDS, SECOND))
        return here[case["place"]] - there[case["place"]]
    more, less = {"second": ([IDS], [SECOND]), "texts": ([IDS], POSITIVE), "contrast": (POSITIVE, NEGATIVE)}[kind]
    return mean_over(model, case, more) - mean_over(model, case, less)


def steered(model, case, added):
    def add(x):
        x = x.clone()
        x[case.get("row", slice(None))] += added
        return x

    return with_hooks(model, [(case["attention"], case["site"], add)], lambda: model(IDS)[0])[-3:]


def numbers(tensor):
    return [float(f"{each:.9g}") for each in tensor.flatten()]


def main():
    cases = []
    for name, model in hooked_models().items():
        built = MAKERS[name](None)
        for case in CASES:
            d = direction(model, built, case)
            stream = listened(model, case["attention"], case["site"], IDS).norm(dim=1).mean()
            logits = steered(model, case, case["dial"] * stream / d.norm() * d)
            cases.append({"model": name, **case, "stream": float(stream), "direction": numbers(d),
                          "logits": numbers(logits)})
    texts = {"ids": IDS, "second": SECOND, "positive": POSITIVE, "negative": NEGATIVE}
    lines = ",\n".join("  " + json.dumps(case) for case in cases)
    (HERE / "directions.json").write_text(json.dumps(texts)[:-1] + ', "cases": [\n' + lines + "\n]}\n")
    versions = {"python": sys.version.split()[0], "torch": torch.__version__, "numpy": numpy.__version__}
    (HERE / "versions.json").write_text(json.dumps(versions, indent=4) + "\n")
    for case in cases:
        print(case["model"], case["kind"], case["stream"], numpy.linalg.norm(case["direction"]))


if __name__ == "__main__":
    main()
