#!/usr/bin/python3
"""Writes the golden data beside it: gradients and steps of AdamW, computed by PyTorch in double.

Inputs are f32 numbers; results are computed in float64 by autograd and torch.optim and rounded to f32 once. Each
case is a folder of .npy files; d_NAME.npy is the gradient of the sum of output · d_output by NAME.

    apt install python3-torch; /usr/bin/python3 tests/golden/backward/generate.py
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


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float32).double()


def write(name, tensors):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for key, value in tensors.items():
        value = value.detach()
        numpy.save(folder / f"{key}.npy", (value.float() if value.is_floating_point() else value).numpy())


def gradients(name, seed, inputs, function, **more):
    """inputs: shapes by name; function returns the output."""
    g = torch.Generator().manual_seed(seed)
    tensors = {key: normal(g, *shape).requires_grad_() for key, shape in inputs.items()}
    output = function(**tensors)
    d_output = normal(g, *output.shape)
    (output * d_output).sum().backward()
    write(name, tensors | {"output": output, "d_output": d_output} | more
          | {f"d_{key}": tensor.grad for key, tensor in tensors.items()})


def causal_attention(q, k, v, softcap):
    """Causal: query i sees the keys up to i; q [heads, n, d], k and v [kv_heads, n, d]."""
    k, v = (x.repeat_interleave(q.shape[0] // x.shape[0], 0) for x in (k, v))
    scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[2])
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    allowed = torch.ones(q.shape[1], k.shape[1], dtype=torch.bool).tril()
    return scores.masked_fill(~allowed, -math.inf).softmax(-1) @ v


def attention(name, seed, heads, kv_heads, n, d_k, d_v, softcap=0.0):
    gradients(name, seed, {"q": (heads, n, d_k), "k": (kv_heads, n, d_k), "v": (kv_heads, n, d_v)},
              lambda q, k, v: causal_attention(q, k, v, softcap), softcap=torch.tensor([softcap]))


def cross_entropy(name, seed, n, vocabulary):
    g = torch.Generator().manual_seed(seed)
    logits = (3 * normal(g, n, vocabulary)).float().double().requires_grad_()
    targets = torch.randint(vocabulary, (n,), generator=g)
    targets[::5] = -1
    loss = F.cross_entropy(logits, targets, ignore_index=-1, reduction="none")
    F.cross_entropy(logits, targets, ignore_index=-1).backward()  # the mean over the targets that count
    write(name, {"logits": logits, "targets": targets.int(), "loss": loss, "d_logits": logits.grad})


def adamw(name, seed, size, steps):
    g = torch.Generator().manual_seed(seed)
    parameters, slopes = normal(g, size), 0.1 * normal(g, steps, size)
    slopes = slopes.float().double()
    weights = torch.nn.Parameter(parameters.clone())
    optimizer = torch.optim.AdamW([weights], lr=0.01, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    tensors = {"parameters": parameters, "gradients": slopes}
    for step in range(1, steps + 1):
        weights.grad = slopes[step - 1].clone()
        optimizer.step()
        state = optimizer.state[weights]
        if step in (1, steps):
            tensors |= {f"parameters_{step}": weights.clone(), f"m_{step}": state["exp_avg"].clone(),
                        f"v_{step}": state["exp_avg_sq"].clone()}
    write(name, tensors)


attention("attention-causal", 1, heads=2, kv_heads=2, n=70, d_k=8, d_v=8)
attention("attention-softcap-grouped", 2, heads=4, kv_heads=2, n=67, d_k=6, d_v=5, softcap=1.5)
gradients("layer-norm", 3, {"x": (9, 33), "gain": (33,), "bias": (33,)},
          lambda x, gain, bias: F.layer_norm(x, (33,), gain, bias, 1e-5))
gradients("rms-norm", 4, {"x": (9, 33), "gain": (33,)},
          lambda x, gain: x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * gain)
gradients("linear", 5, {"x": (70, 33), "weight": (35, 33), "bias": (35,)}, F.linear)
gradients("relu", 6, {"z": (130,)}, lambda z: F.relu(z))
gradients("gelu", 7, {"z": (130,)}, lambda z: F.gelu(z))
gradients("gelu-tanh", 8, {"z": (130,)}, lambda z: F.gelu(z, approximate="tanh"))
gradients("silu", 9, {"z": (130,)}, lambda z: F.silu(z))
cross_entropy("cross-entropy", 10, 21, 67)
adamw("adamw", 11, 37, 10)

(HERE / "versions.json").write_text(json.dumps(
    {"torch": torch.__version__, "numpy": numpy.__version__, "python": platform.python_version()}, indent=1) + "\n")
