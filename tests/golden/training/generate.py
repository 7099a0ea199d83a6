#!/usr/bin/python3
"""Writes the golden data beside it: ten steps of training of two small networks, computed by PyTorch in double.

Each case is a folder: config.json, ids.npy [steps, batch, context + 1], a .npy of every weight before training
(start/) and after one and ten steps (after_1/, after_10/), and losses.npy and norms.npy of the gradient before
clipping [steps]. Initial weights are f32 numbers; results are computed in float64 and rounded to f32 once.

    apt install python3-torch; /usr/bin/python3 tests/golden/training/generate.py
"""
import json
import math
import pathlib
import platform
import shutil

import numpy
import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).parent
STEPS, BATCH, CONTEXT = 10, 3, 10
# The same as in training_test.cpp.
RATE, FINAL_RATE, WARMUP = 0.004, 0.001, 3
BETAS, EPSILON, DECAY, CLIP = (0.9, 0.95), 1e-5, 0.1, 0.9


def rate(step):
    if step < WARMUP:
        return RATE * (step + 1) / WARMUP
    done = (min(step, STEPS) - WARMUP) / (STEPS - WARMUP)
    return FINAL_RATE + (RATE - FINAL_RATE) * (1 + math.cos(math.pi * done)) / 2


def attend(q, k, v, groups):
    k, v = (x.repeat_interleave(groups, 1) for x in (k, v))
    scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
    allowed = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(~allowed, -math.inf).softmax(-1) @ v


def split(x, heads):
    return x.view(*x.shape[:2], heads, -1).transpose(1, 2)


def merge(x):
    return x.transpose(1, 2).flatten(2)


def gpt2(w, config, ids):
    x = w["wte.weight"][ids] + w["wpe.weight"][: ids.shape[1]]
    norm = lambda x, name: F.layer_norm(x, x.shape[-1:], w[name + ".weight"], w[name + ".bias"], config["layer_norm_epsilon"])
    conv = lambda x, name: x @ w[name + ".weight"] + w[name + ".bias"]
    for i in range(config["n_layer"]):
        h = f"h.{i}."
        q, k, v = (split(part, config["n_head"]) for part in conv(norm(x, h + "ln_1"), h + "attn.c_attn").chunk(3, -1))
        x = x + conv(merge(attend(q, k, v, 1)), h + "attn.c_proj")
        z = conv(norm(x, h + "ln_2"), h + "mlp.c_fc")
        z = 0.5 * z * (1 + torch.tanh(math.sqrt(2 / math.pi) * (z + 0.044715 * z ** 3)))
        x = x + conv(z, h + "mlp.c_proj")
    return norm(x, "ln_f") @ w["wte.weight"].T


def llama(w, config, ids):
    heads, kv_heads = config["num_attention_heads"], config["num_key_value_heads"]
    dim = config["hidden_size"] // heads
    angles = torch.arange(ids.shape[1])[:, None] * config["rope_theta"] ** (-torch.arange(0, dim, 2).double() / dim)

    def turn(x):
        a, b = x.chunk(2, -1)
        return torch.cat([a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()], -1)

    def norm(x, name):
        return x * (x.pow(2).mean(-1, keepdim=True) + config["rms_norm_eps"]).rsqrt() * w[name + ".weight"]

    x = w["embed_tokens.weight"][ids]
    for i in range(config["num_hidden_layers"]):
        at = f"layers.{i}."
        lin = lambda x, name: x @ w[at + name + ".weight"].T
        h = norm(x, at + "input_layernorm")
        q, k, v = (split(lin(h, f"self_attn.{p}_proj"), n) for p, n in (("q", heads), ("k", kv_heads), ("v", kv_heads)))
        x = x + lin(merge(attend(turn(q), turn(k), v, heads // kv_heads)), "self_attn.o_proj")
        h = norm(x, at + "post_attention_layernorm")
        x = x + lin(F.silu(lin(h, "mlp.gate_proj")) * lin(h, "mlp.up_proj"), "mlp.down_proj")
    return norm(x, "norm") @ w["lm_head.weight"].T


def shapes_of_gpt2(c):
    d, f = c["n_embd"], c["n_inner"]
    shapes = {"wte.weight": (c["vocab_size"], d), "wpe.weight": (c["n_positions"], d)}
    for i in range(c["n_layer"]):
        h = f"h.{i}."
        for norm in ("ln_1", "ln_2"):
            shapes |= {f"{h}{norm}.weight": (d,), f"{h}{norm}.bias": (d,)}
        for name, i_o in (("attn.c_attn", (d, 3 * d)), ("attn.c_proj", (d, d)), ("mlp.c_fc", (d, f)), ("mlp.c_proj", (f, d))):
            shapes |= {f"{h}{name}.weight": i_o, f"{h}{name}.bias": i_o[1:]}
    return shapes | {"ln_f.weight": (d,), "ln_f.bias": (d,)}


def shapes_of_llama(c):
    d, f, kv = c["hidden_size"], c["intermediate_size"], c["hidden_size"] * c["num_key_value_heads"] // c["num_attention_heads"]
    shapes = {"embed_tokens.weight": (c["vocab_size"], d)}
    for i in range(c["num_hidden_layers"]):
        at = f"layers.{i}."
        shapes |= {at + "input_layernorm.weight": (d,), at + "post_attention_layernorm.weight": (d,)}
        for name, o_i in (("self_attn.q", (d, d)), ("self_attn.k", (kv, d)), ("self_attn.v", (kv, d)), ("self_attn.o", (d, d)),
                          ("mlp.gate", (f, d)), ("mlp.up", (f, d)), ("mlp.down", (d, f))):
            shapes[f"{at}{name}_proj.weight"] = o_i
    return shapes | {"norm.weight": (d,), "lm_head.weight": (c["vocab_size"], d)}


def save(folder, weights):
    folder.mkdir(parents=True)
    for name, value in weights.items():
        numpy.save(folder / f"{name}.npy", value.detach().float().numpy())


def case(name, seed, config, shapes, run):
    g = torch.Generator().manual_seed(seed)
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    # Larger than a network's initial weights, so that softmax, norms and activations
    # are used where they are nonlinear.
    weights = {key: (1 + 0.2 * torch.randn(*shape, generator=g) if len(shape) == 1 and key.endswith("weight")
                     else 0.3 * torch.randn(*shape, generator=g)).double().requires_grad_() for key, shape in shapes.items()}
    ids = torch.randint(config["vocab_size"], (STEPS, BATCH, CONTEXT + 1), generator=g)
    save(folder / "start", weights)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    numpy.save(folder / "ids.npy", ids.int().numpy())
    adam = torch.optim.AdamW([{"params": [w for w in weights.values() if w.ndim > 1], "weight_decay": DECAY},
                              {"params": [w for w in weights.values() if w.ndim == 1], "weight_decay": 0.0}],
                             betas=BETAS, eps=EPSILON)
    losses, norms = [], []
    for step in range(STEPS):
        adam.zero_grad()
        logits = run(weights, config, ids[step, :, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[step, :, 1:].flatten())
        loss.backward()
        losses.append(loss.item())
        norms.append(torch.nn.utils.clip_grad_norm_(weights.values(), CLIP).item())
        for group in adam.param_groups:
            group["lr"] = rate(step)
        adam.step()
        if step + 1 in (1, STEPS):
            save(folder / f"after_{step + 1}", weights)
    numpy.save(folder / "losses.npy", numpy.array(losses, numpy.float32))
    numpy.save(folder / "norms.npy", numpy.array(norms, numpy.float32))


torch.use_deterministic_algorithms(True)
GPT2 = {"model_type": "gpt2", "vocab_size": 23, "n_positions": 12, "n_embd": 12, "n_layer": 2, "n_head": 3, "n_inner": 20,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5, "tie_word_embeddings": True}
LLAMA = {"model_type": "llama", "vocab_size": 19, "hidden_size": 16, "intermediate_size": 22, "num_hidden_layers": 2,
         "num_attention_heads": 4, "num_key_value_heads": 2, "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
         "max_position_embeddings": 12, "tie_word_embeddings": False}
case("gpt2", 1, GPT2, shapes_of_gpt2(GPT2), gpt2)
case("llama", 2, LLAMA, shapes_of_llama(LLAMA), llama)
(HERE / "versions.json").write_text(json.dumps(
    {"python": platform.python_version(), "torch": torch.__version__, "numpy": numpy.__version__}, indent=1) + "\n")
