#!/usr/bin/python3
"""Writes the golden data beside it: attention and multi-head attention, computed by PyTorch in double.

Inputs are f32 numbers; results are computed in float64 and rounded to f32 once. Each case is a folder of .npy
files with a case.json that has the test's settings.

    apt install python3-torch; /usr/bin/python3 tests/golden/attention/generate.py
"""
import json
import math
import pathlib
import platform
import shutil

import numpy
import torch

HERE = pathlib.Path(__file__).parent


def normal(generator, *shape):
    return torch.randn(*shape, generator=generator, dtype=torch.float32).double()


def write(name, case, tensors):
    folder = HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "case.json").write_text(json.dumps(case, indent=1) + "\n")
    for key, value in tensors.items():
        numpy.save(folder / f"{key}.npy", value.detach().float().numpy())


def attention(name, seed, heads, kv_heads, n_q, n_k, d_k, d_v, mask="everything", allowed=None, scale=None,
              softcap=0.0, bias_shape=None):
    """allowed: bool [n_q, n_k], the same as `mask` in the project's own notation."""
    g = torch.Generator().manual_seed(seed)
    q, k, v = normal(g, heads, n_q, d_k), normal(g, kv_heads, n_k, d_k), normal(g, kv_heads, n_k, d_v)
    tensors = {"q": q, "k": k, "v": v}
    group = heads // kv_heads
    k, v = k.repeat_interleave(group, 0), v.repeat_interleave(group, 0)
    scores = q @ k.transpose(1, 2) * (scale if scale is not None else 1 / math.sqrt(d_k))
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if bias_shape:
        tensors["bias"] = normal(g, *bias_shape)
        scores = scores + tensors["bias"]
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -math.inf)
    # torch gives NaN for a row of −inf; here such a row is zero.
    tensors["weights"] = torch.nan_to_num(torch.softmax(scores, -1), nan=0.0)
    tensors["output"] = tensors["weights"] @ v
    case = {"kind": "attention", "mask": mask, "softcap": softcap}
    if scale is not None:
        case["scale"] = scale
    write(name, case, tensors)


def multi_head(name, seed, d_model, d_memory, heads, n_q, n_k, bias=True, mask="everything", allowed=None):
    torch.manual_seed(seed)
    g = torch.Generator().manual_seed(seed + 1)
    cross = d_memory != d_model
    layer = torch.nn.MultiheadAttention(d_model, heads, bias=bias, kdim=d_memory if cross else None,
                                        vdim=d_memory if cross else None, batch_first=True)
    if bias:  # PyTorch starts with zeros
        with torch.no_grad():
            layer.in_proj_bias.copy_(0.3 * torch.randn(3 * d_model, generator=g))
            layer.out_proj.bias.copy_(0.3 * torch.randn(d_model, generator=g))
    layer = layer.double().eval()
    x_q, x_kv = normal(g, n_q, d_model), normal(g, n_k, d_memory)
    if not cross and n_q == n_k:
        x_kv = x_q
    forbidden = None if allowed is None else ~allowed
    output, weights = layer(x_q[None], x_kv[None], x_kv[None], attn_mask=forbidden, average_attn_weights=False)
    if cross:
        w_q, w_k, w_v = layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight
    else:
        w_q, w_k, w_v = layer.in_proj_weight.chunk(3)
    tensors = {"x_q": x_q, "x_kv": x_kv, "w_q": w_q.T, "w_k": w_k.T, "w_v": w_v.T, "w_o": layer.out_proj.weight.T,
               "weights": weights[0], "output": output[0]}
    if bias:
        tensors |= dict(zip(("b_q", "b_k", "b_v"), layer.in_proj_bias.chunk(3)))
        tensors["b_o"] = layer.out_proj.bias
    write(name, {"kind": "multi_head", "heads": heads, "mask": mask}, {k: t.contiguous() for k, t in tensors.items()})


def below_diagonal(n_q, n_k, offset):
    return torch.ones(n_q, n_k, dtype=torch.bool).tril(offset)


attention("self", 1, heads=2, kv_heads=2, n_q=9, n_k=9, d_k=8, d_v=8)
attention("causal", 2, 2, 2, 9, 9, 8, 8, "causal(0)", below_diagonal(9, 9, 0))
attention("past", 3, 2, 2, 4, 11, 8, 8, "causal(7)", below_diagonal(4, 11, 7))
attention("negative-offset", 4, 1, 1, 6, 4, 8, 8, "causal(-2)", below_diagonal(6, 4, -2))
attention("cross", 5, 2, 2, 5, 13, 6, 10)
attention("grouped", 6, 6, 2, 7, 7, 8, 8, "causal(0)", below_diagonal(7, 7, 0))
attention("multi-query", 7, 4, 1, 7, 9, 8, 5)
attention("softcap-scale-bias", 8, 2, 2, 7, 7, 8, 8, "causal(0)", below_diagonal(7, 7, 0), scale=0.9, softcap=2.5,
          bias_shape=(2, 1, 7))
attention("window", 9, 1, 1, 90, 90, 4, 4, "window(5,2)",
          torch.ones(90, 90, dtype=torch.bool).tril(2).triu(-5))
attention("long", 10, 1, 1, 3, 200, 16, 4)
multi_head("multi-head-self", 11, 24, 24, 4, 7, 7)
multi_head("multi-head-causal", 12, 24, 24, 3, 7, 7, mask="causal(0)", allowed=below_diagonal(7, 7, 0))
multi_head("multi-head-cross", 13, 24, 24, 4, 5, 9)
multi_head("multi-head-memory", 14, 24, 10, 2, 5, 9, bias=False)

(HERE / "versions.json").write_text(json.dumps(
    {"torch": torch.__version__, "numpy": numpy.__version__, "python": platform.python_version()}, indent=1) + "\n")
