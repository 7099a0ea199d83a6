#!/usr/bin/python3
"""Writes the golden data beside it: two of the golden models, run with forward hooks that change a site.

Every site of core/model/intervention.hpp is an nn.Identity in a plain PyTorch module in float64, and every
operation is a function registered there with register_forward_hook. cases.json has the interventions, MODEL.npz
the last three rows of the logits [cases, 3, vocabulary] and the weights of the changed layer
[cases, heads, n, n], in f32.

    apt install python3-torch; /usr/bin/python3 tests/golden/interventions/generate.py
"""

import json
import math
import struct
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F
from torch import nn

HERE = Path(__file__).parent
MODELS = HERE.parent / "model"
IDS = [3, 1, 4, 1, 5, 9, 2, 6, 5]
TEXTS = [[7, 1, 4, 2, 5, 9, 2, 8, 3], [30, 2, 4, 1, 11, 9, 6, 6, 0]]  # the source texts of means and patches
VECTORS = ["residual_in", "q", "k", "v", "head_output", "attention_output", "residual_middle", "mlp_output",
           "residual_out"]
OF_HEADS = ["q", "k", "v", "head_output", "score", "mask", "weight"]


def read_safetensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        array = numpy.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
        tensors[name.removeprefix("transformer.").removeprefix("model.")] = torch.from_numpy(array.copy()).double()
    return tensors


class Sites(nn.Module):
    """A layer's places to hang a hook on."""

    def __init__(self):
        super().__init__()
        for name in VECTORS + ["score", "mask", "weight"]:
            setattr(self, name, nn.Identity())


def attend(sites, q, k, v, scale):
    """Takes [heads, n, w] and [kv_heads, n, w]; returns the heads side by side, and the weights."""
    q, k, v = sites.q(q), sites.k(k), sites.v(v)
    groups, n = q.shape[0] // k.shape[0], q.shape[1]
    k, v = k.repeat_interleave(groups, 0), v.repeat_interleave(groups, 0)
    causal = torch.ones(n, n, dtype=torch.bool).tril().expand(q.shape[0], n, n)
    sites.allowed = sites.mask(causal)
    scores = sites.score(q @ k.transpose(1, 2) * scale).masked_fill(~sites.allowed, -math.inf)
    weights = sites.weight(torch.nan_to_num(scores.softmax(-1), 0.0))
    output = sites.head_output(weights @ v)
    return output.transpose(0, 1).reshape(n, -1), weights


def split(rows, heads):
    return rows.reshape(rows.shape[0], heads, -1).transpose(0, 1)


class Gpt2(nn.Module):
    def __init__(self, config, weights):
        super().__init__()
        self.config, self.w = config, weights
        self.layers = nn.ModuleList(Sites() for _ in range(config["n_layer"]))

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.w[name + ".weight"], self.w[name + ".bias"],
                            self.config["layer_norm_epsilon"])

    def linear(self, x, name):
        return x @ self.w[name + ".weight"] + self.w[name + ".bias"]

    def forward(self, ids):
        heads, maps = self.config["n_head"], []
        x = self.w["wte.weight"][ids] + self.w["wpe.weight"][: len(ids)]
        for l, sites in enumerate(self.layers):
            x = sites.residual_in(x)
            qkv = self.linear(self.norm(x, f"h.{l}.ln_1"), f"h.{l}.attn.c_attn").chunk(3, 1)
            q, k, v = (split(part, heads) for part in qkv)
            merged, weights = attend(sites, q, k, v, 1 / math.sqrt(q.shape[-1]))
            maps.append(weights)
            x = sites.residual_middle(x + sites.attention_output(self.linear(merged, f"h.{l}.attn.c_proj")))
            hidden = F.gelu(self.linear(self.norm(x, f"h.{l}.ln_2"), f"h.{l}.mlp.c_fc"), approximate="tanh")
            x = sites.residual_out(x + sites.mlp_output(self.linear(hidden, f"h.{l}.mlp.c_proj")))
        return self.norm(x, "ln_f") @ self.w["wte.weight"].T, maps


class Llama(nn.Module):
    def __init__(self, config, weights):
        super().__init__()
        self.config, self.w = config, weights
        self.layers = nn.ModuleList(Sites() for _ in range(config["num_hidden_layers"]))
        width, scaling = config["head_dim"], config["rope_scaling"]
        f = config["rope_theta"] ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
        turns = scaling["original_max_position_embeddings"] * f / (2 * math.pi)
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        smooth = ((turns - low) / (high - low)).clamp(0, 1)
        self.frequencies = (1 - smooth) * f / scaling["factor"] + smooth * f

    def norm(self, x, name):
        scale = (x.pow(2).mean(-1, keepdim=True) + self.config["rms_norm_eps"]).rsqrt()
        return x * scale * self.w[name + ".weight"]

    def linear(self, x, name):
        return F.linear(x, self.w[name + ".weight"], self.w.get(name + ".bias"))

    def rotate(self, x):
        angle = torch.arange(x.shape[1], dtype=torch.float64)[:, None] * self.frequencies
        a, b = x.chunk(2, -1)
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin()], -1)

    def forward(self, ids):
        heads, kv_heads, maps = self.config["num_attention_heads"], self.config["num_key_value_heads"], []
        x = self.w["embed_tokens.weight"][ids]
        for l, sites in enumerate(self.layers):
            p = f"layers.{l}."
            x = sites.residual_in(x)
            h = self.norm(x, p + "input_layernorm")
            q = self.rotate(split(self.linear(h, p + "self_attn.q_proj"), heads))
            k = self.rotate(split(self.linear(h, p + "self_attn.k_proj"), kv_heads))
            v = split(self.linear(h, p + "self_attn.v_proj"), kv_heads)
            merged, weights = attend(sites, q, k, v, 1 / math.sqrt(q.shape[-1]))
            maps.append(weights)
            x = sites.residual_middle(x + sites.attention_output(self.linear(merged, p + "self_attn.o_proj")))
            h = self.norm(x, p + "post_attention_layernorm")
            hidden = F.silu(self.linear(h, p + "mlp.gate_proj")) * self.linear(h, p + "mlp.up_proj")
            x = sites.residual_out(x + sites.mlp_output(self.linear(hidden, p + "mlp.down_proj")))
        return self.linear(self.norm(x, "norm"), "lm_head"), maps


def listened(model, layer, site, ids):
    """A run's numbers at a site; for scores, only where the mask allows them."""
    heard = []
    handle = getattr(model.layers[layer], site).register_forward_hook(lambda m, i, out: heard.append(out))
    model(ids)
    handle.remove()
    if site == "score":
        return heard[0].masked_fill(~model.layers[layer].allowed, -math.inf)
    return heard[0]


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
    for name, kind in {"gpt2-f32": Gpt2, "llama3-scaled-f32": Llama}.items():
        config = json.loads((MODELS / name / "config.json").read_text())
        model = kind(config, read_safetensors(MODELS / name / "model.safetensors"))
        cases = cases_of(config.get("num_key_value_heads", config.get("n_head")))
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
