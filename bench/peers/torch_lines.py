"""PyTorch as a contestant: a request and its answer are lines of JSON, as bench/contestant.hpp describes them."""
import json
import math
import sys
import time

import numpy
import torch
import torch.nn.functional as F


def attention(task, tensors):
    heads, n, d = task["heads"], task["n"], task["d"]
    q = tensors["q"] / math.sqrt(d)
    k, v = (tensors[name].repeat_interleave(heads // task["kv_heads"], 0) for name in "kv")
    if hasattr(F, "scaled_dot_product_attention") and not task["window"]:
        return lambda: F.scaled_dot_product_attention(tensors["q"], k, v, is_causal=task["causal"])
    if not task["causal"]:
        return lambda: torch.bmm(torch.softmax(torch.bmm(q, k.transpose(1, 2)), -1), v)
    i = torch.arange(n)
    apart = i[:, None] - i[None, :]
    forbidden = (apart < 0) | (apart >= (task["window"] or n))
    mask = torch.zeros(n, n).masked_fill(forbidden, -math.inf)
    return lambda: torch.bmm(torch.softmax(torch.baddbmm(mask, q, k.transpose(1, 2)), -1), v)


def linear(task, tensors):
    return lambda: torch.addmm(tensors["bias"], tensors["x"], tensors["weight"])


def exp(task, tensors):
    return lambda: torch.exp(tensors["x"])


def gpt2(task, tensors):
    """From ids to the logits of the last token; the attention weights of every layer are kept."""
    n = task["n"]
    ids = tensors["ids"].long()
    mask = torch.full((n, n), -math.inf).triu(1)

    def project(x, name):
        return torch.addmm(tensors[name + ".bias"], x, tensors[name + ".weight"])

    def norm(x, name):
        return F.layer_norm(x, (768,), tensors[name + ".weight"], tensors[name + ".bias"], 1e-5)

    def run():
        kept = []
        residual = tensors["wte.weight"][ids] + tensors["wpe.weight"][:n]
        for layer in range(12):
            h = f"h.{layer}."
            qkv = project(norm(residual, h + "ln_1"), h + "attn.c_attn")
            q, k, v = (part.reshape(n, 12, 64).transpose(0, 1) for part in qkv.split(768, 1))
            kept.append(torch.softmax(torch.baddbmm(mask, q, k.transpose(1, 2), alpha=1 / 8), -1))
            heads = torch.bmm(kept[-1], v).transpose(0, 1).reshape(n, 768)
            residual = residual + project(heads, h + "attn.c_proj")
            hidden = F.gelu(project(norm(residual, h + "ln_2"), h + "mlp.c_fc"), approximate="tanh")
            residual = residual + project(hidden, h + "mlp.c_proj")
        return norm(residual[-1:], "ln_f") @ tensors["wte.weight"].T

    return run


def training(task, tensors):
    """A step of AdamW on 12 sequences; the loss of the first step is the output."""
    with torch.inference_mode(False), torch.enable_grad():
        weights = {name: tensor.clone().requires_grad_() for name, tensor in tensors.items() if name != "ids"}
        ids = tensors["ids"].clone().long()
        d, heads, n = 160, 8, 256
        mask = torch.full((n, n), -math.inf).triu(1)
        adam = torch.optim.AdamW([{"params": [w for w in weights.values() if w.ndim > 1], "weight_decay": 0.1},
                                  {"params": [w for w in weights.values() if w.ndim == 1], "weight_decay": 0.0}],
                                 lr=1e-3, betas=(0.9, 0.99))
    first = None

    def project(x, name):
        return torch.addmm(weights[name + ".bias"], x, weights[name + ".weight"])

    def norm(x, name):
        return F.layer_norm(x, (d,), weights[name + ".weight"], weights[name + ".bias"], 1e-5)

    def run():
        nonlocal first
        with torch.inference_mode(False), torch.enable_grad():
            batch = len(ids)
            x = (weights["wte.weight"][ids[:, :-1]] + weights["wpe.weight"]).flatten(0, 1)
            for layer in range(5):
                h = f"h.{layer}."
                qkv = project(norm(x, h + "ln_1"), h + "attn.c_attn")
                q, k, v = (part.view(batch, n, heads, -1).transpose(1, 2).reshape(batch * heads, n, -1)
                           for part in qkv.split(d, 1))
                attended = torch.bmm(torch.softmax(torch.baddbmm(mask, q, k.transpose(1, 2), alpha=(d // heads) ** -0.5), -1), v)
                x = x + project(attended.view(batch, heads, n, -1).transpose(1, 2).reshape(batch * n, d), h + "attn.c_proj")
                x = x + project(F.gelu(project(norm(x, h + "ln_2"), h + "mlp.c_fc"), approximate="tanh"), h + "mlp.c_proj")
            loss = F.cross_entropy(norm(x, "ln_f") @ weights["wte.weight"].T, ids[:, 1:].flatten())
            adam.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights.values(), 1.0)
            adam.step()
        if first is None:
            first = loss.detach().reshape(1)
        return first

    return run


kinds = {"attention": attention, "linear": linear, "exp": exp, "gpt2": gpt2, "training": training}
call = output = None


def answer(request):
    global call, output
    wish = request["do"]
    if wish == "open":
        torch.set_num_threads(request["threads"])
        data = numpy.fromfile(request["file"], numpy.uint8)
        tensors = {}
        for name, place in request["inputs"].items():
            values = data[place["offset"] : place["offset"] + place["bytes"]]
            values = values.view(numpy.int32 if name == "ids" else numpy.float32)
            tensors[name] = torch.from_numpy(values.reshape(place["shape"]))
        call = kinds[request["kind"]](request, tensors)
        return {}
    if wish == "run":
        times, start = [], time.perf_counter()
        while not times or time.perf_counter() - start < request["seconds"]:
            begin = time.perf_counter()
            output = call()
            times.append(1000 * (time.perf_counter() - begin))
        return {"times": times}
    if wish == "output":
        output.contiguous().numpy().tofile(request["file"])
        return {}
    if wish == "close":
        call = output = None
        return {}
    if wish == "version":
        return {"version": torch.__version__}
    return {"error": "unknown request " + wish}


with torch.inference_mode():
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), flush=True)
