#!/usr/bin/python3
"""Writes the golden data beside it: tiny seeded models laid out like on a model hub, and their results.

The forward passes are plain PyTorch in float64, written from the papers and from the published behaviour of
Hugging Face transformers; transformers itself is not needed. Each folder holds config.json, the weights in the
dtype that its name says, and expect.safetensors (F32) with the tensors of one run under the names that
attn::Trace gives them, the attention weights, the logits, a greedy continuation, and gradients of a logit.

    apt install python3-torch; /usr/bin/python3 tests/golden/model/generate.py
"""

import json
import math
import struct
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F

HERE = Path(__file__).parent
DTYPES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.bool: "BOOL"}
STEPS = 8  # length of the greedy continuation
RAISE, OVER = 7, 3  # the gradient is that of the difference of these tokens' logits


def raw(tensor):
    tensor = tensor.contiguous()
    if tensor.dtype == torch.bfloat16:  # NumPy lacks this type
        tensor = tensor.view(torch.int16)
    return tensor.numpy().tobytes()


def write_safetensors(path, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in tensors.items():
        blob = raw(tensor)
        header[name] = {"dtype": DTYPES[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(blob)]}
        data += blob
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def attention(q, k, v, scale, window=None):
    """q [heads, n, w], k and v [kv_heads, n, w]; causal; query i sees the `window` keys up to itself."""
    k, v = (x.repeat_interleave(q.shape[0] // x.shape[0], 0) for x in (k, v))
    n = q.shape[1]
    i, j = torch.arange(n)[:, None], torch.arange(n)
    allowed = j <= i
    if window is not None:
        allowed &= j > i - window
    scores = (q @ k.transpose(1, 2) * scale).masked_fill(~allowed, -math.inf)
    weights = scores.softmax(-1)
    return weights, weights @ v


def merge(heads):  # [heads, n, w] -> [n, heads·w]
    return heads.transpose(0, 1).reshape(heads.shape[1], -1)


def split(rows, heads):  # [n, heads·w] -> [heads, n, w]
    return rows.reshape(rows.shape[0], heads, -1).transpose(0, 1)


def gpt2(config, w, ids):
    d, heads, layers, eps = config["n_embd"], config["n_head"], config["n_layer"], config["layer_norm_epsilon"]
    activation = {"gelu_new": lambda x: F.gelu(x, approximate="tanh"), "gelu": F.gelu}[config["activation_function"]]
    out = {}

    def norm(x, name):
        return F.layer_norm(x, (d,), w[name + ".weight"], w[name + ".bias"], eps)

    out["token_embedding"] = w["wte.weight"][ids]
    out["position_embedding"] = w["wpe.weight"][: len(ids)]
    x = out["token_embedding"] + out["position_embedding"]
    for l in range(layers):
        p, t = f"h.{l}.", f"layers.{l}."
        out[t + "residual_in"] = x
        out[t + "attention_input"] = norm(x, p + "ln_1")
        qkv = out[t + "attention_input"] @ w[p + "attn.c_attn.weight"] + w[p + "attn.c_attn.bias"]
        q, k, v = (split(part, heads) for part in qkv.split(d, 1))
        scale = 1 / math.sqrt(d // heads) if config.get("scale_attn_weights", True) else 1
        if config.get("scale_attn_by_inverse_layer_idx"):
            scale /= l + 1
        weights, y = attention(q, k, v, scale)
        out |= {t + "attention.q": q, t + "attention.k": k, t + "attention.v": v, t + "attention.output": y,
                t + "weights": weights}
        out[t + "attention_output"] = merge(y) @ w[p + "attn.c_proj.weight"] + w[p + "attn.c_proj.bias"]
        x = x + out[t + "attention_output"]
        out[t + "residual_middle"] = x
        out[t + "mlp_input"] = norm(x, p + "ln_2")
        out[t + "mlp_hidden"] = activation(out[t + "mlp_input"] @ w[p + "mlp.c_fc.weight"] + w[p + "mlp.c_fc.bias"])
        out[t + "mlp_output"] = out[t + "mlp_hidden"] @ w[p + "mlp.c_proj.weight"] + w[p + "mlp.c_proj.bias"]
        x = x + out[t + "mlp_output"]
    out["final_residual"] = x
    out["final_norm"] = norm(x, "ln_f")
    out["logits"] = out["final_norm"] @ w.get("lm_head.weight", w["wte.weight"]).T
    return out


def inverse_frequencies(config, width):
    rope = config.get("rope_parameters") or {}
    theta = rope.get("rope_theta", config.get("rope_theta", 10000.0))
    frequencies = theta ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    scaling = config.get("rope_scaling") or rope
    kind = scaling.get("rope_type", scaling.get("type", "default"))
    if kind == "linear":
        return frequencies / scaling["factor"]
    if kind == "llama3":  # long waves are stretched, short ones stay, and others are mixed
        factor, low, high = scaling["factor"], scaling["low_freq_factor"], scaling["high_freq_factor"]
        turns = scaling["original_max_position_embeddings"] * frequencies / (2 * math.pi)
        smooth = ((turns - low) / (high - low)).clamp(0, 1)
        return (1 - smooth) * frequencies / factor + smooth * frequencies
    assert kind == "default", kind
    return frequencies


def rotate(x, frequencies):  # [heads, n, w], pairs (a, a + w/2)
    angle = torch.arange(x.shape[1], dtype=torch.float64)[:, None] * frequencies
    cosine, sine = angle.cos(), angle.sin()
    a, b = x.chunk(2, -1)
    return torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1)


def llama(config, w, ids):
    heads, layers, eps = config["num_attention_heads"], config["num_hidden_layers"], config["rms_norm_eps"]
    kv_heads = config.get("num_key_value_heads", heads)
    width = config.get("head_dim") or config["hidden_size"] // heads
    frequencies = inverse_frequencies(config, width)
    out = {}

    def norm(x, name):
        return x * (x.pow(2).mean(-1, keepdim=True) + eps).rsqrt() * w[name + ".weight"]

    def linear(x, name):
        return F.linear(x, w[name + ".weight"], w.get(name + ".bias"))

    x = out["token_embedding"] = w["embed_tokens.weight"][ids]
    for l in range(layers):
        p, t = f"layers.{l}.", f"layers.{l}."
        out[t + "residual_in"] = x
        h = out[t + "attention_input"] = norm(x, p + "input_layernorm")
        q = rotate(split(linear(h, p + "self_attn.q_proj"), heads), frequencies)
        k = rotate(split(linear(h, p + "self_attn.k_proj"), kv_heads), frequencies)
        v = split(linear(h, p + "self_attn.v_proj"), kv_heads)
        weights, y = attention(q, k, v, 1 / math.sqrt(width), config.get("sliding_window"))
        out |= {t + "attention.q": q, t + "attention.k": k, t + "attention.v": v, t + "attention.output": y,
                t + "weights": weights}
        out[t + "attention_output"] = linear(merge(y), p + "self_attn.o_proj")
        x = x + out[t + "attention_output"]
        out[t + "residual_middle"] = x
        h = out[t + "mlp_input"] = norm(x, p + "post_attention_layernorm")
        out[t + "mlp_hidden"] = F.silu(linear(h, p + "mlp.gate_proj")) * linear(h, p + "mlp.up_proj")
        out[t + "mlp_output"] = linear(out[t + "mlp_hidden"], p + "mlp.down_proj")
        x = x + out[t + "mlp_output"]
    out["final_residual"] = x
    out["final_norm"] = norm(x, "norm")
    out["logits"] = out["final_norm"] @ w.get("lm_head.weight", w["embed_tokens.weight"]).T
    return out


def gpt2_shapes(c):
    d, hidden = c["n_embd"], c["n_inner"] or 4 * c["n_embd"]
    shapes = {"wte.weight": (c["vocab_size"], d), "wpe.weight": (c["n_positions"], d)}
    for l in range(c["n_layer"]):
        block = {"ln_1.weight": (d,), "ln_1.bias": (d,), "attn.c_attn.weight": (d, 3 * d),
                 "attn.c_attn.bias": (3 * d,), "attn.c_proj.weight": (d, d), "attn.c_proj.bias": (d,),
                 "ln_2.weight": (d,), "ln_2.bias": (d,), "mlp.c_fc.weight": (d, hidden), "mlp.c_fc.bias": (hidden,),
                 "mlp.c_proj.weight": (hidden, d), "mlp.c_proj.bias": (d,)}
        shapes |= {f"h.{l}.{name}": shape for name, shape in block.items()}
    shapes |= {"ln_f.weight": (d,), "ln_f.bias": (d,)}
    if not c["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (c["vocab_size"], d)
    return shapes


def llama_shapes(c):
    d, hidden, heads = c["hidden_size"], c["intermediate_size"], c["num_attention_heads"]
    kv_heads = c.get("num_key_value_heads", heads)
    width = c.get("head_dim") or d // heads
    biased = {"q_proj", "k_proj", "v_proj"} if c["model_type"] == "qwen2" else set()
    if c.get("attention_bias"):
        biased |= {"q_proj", "k_proj", "v_proj", "o_proj"}
    shapes = {"embed_tokens.weight": (c["vocab_size"], d)}
    for l in range(c["num_hidden_layers"]):
        p = f"layers.{l}."
        shapes[p + "input_layernorm.weight"] = (d,)
        for name, out, inner in [("q_proj", heads * width, d), ("k_proj", kv_heads * width, d),
                                 ("v_proj", kv_heads * width, d), ("o_proj", d, heads * width)]:
            shapes[p + f"self_attn.{name}.weight"] = (out, inner)
            if name in biased:
                shapes[p + f"self_attn.{name}.bias"] = (out,)
        shapes[p + "post_attention_layernorm.weight"] = (d,)
        shapes[p + "mlp.gate_proj.weight"] = shapes[p + "mlp.up_proj.weight"] = (hidden, d)
        shapes[p + "mlp.down_proj.weight"] = (d, hidden)
    shapes["norm.weight"] = (d,)
    if not c["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (c["vocab_size"], d)
    return shapes


def random_weights(shapes, dtype):
    weights = {}
    for name, shape in shapes.items():
        value = torch.randn(shape, dtype=torch.float64)
        if "ln_" in name or "norm" in name:
            value = 0.2 * value + (1 if name.endswith("weight") else 0)
        elif name.endswith("bias"):
            value = 0.3 * value
        else:
            value = value * 1.5 / math.sqrt(shape[-1])
        weights[name] = value.to(dtype)
    return weights


def logit_gradients(config, weights, ids, forward):
    """Gradients of the last logit[RAISE] - logit[OVER] by each head's and each attention's output."""
    out = forward(config, {n: t.clone().requires_grad_() for n, t in weights.items()}, ids)
    names = [n for n in out if n.endswith(("attention.output", "attention_output"))]
    loss = out["logits"][-1, RAISE] - out["logits"][-1, OVER]
    return {"gradient." + n: g.float() for n, g in zip(names, torch.autograd.grad(loss, [out[n] for n in names]))}


def write_model(name, seed, dtype, config, forward, shapes, prefix="", shards=1, extra=None):
    torch.manual_seed(seed)
    weights = random_weights(shapes(config), dtype)
    ids = torch.randint(config["vocab_size"], (9,))

    folder = HERE / name
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    files = {("" if n == "lm_head.weight" else prefix) + n: t for n, t in weights.items()} | (extra or {})
    if shards == 1:
        write_safetensors(folder / "model.safetensors", files)
    else:
        index = {"metadata": {"total_size": sum(t.numel() * t.element_size() for t in files.values())},
                 "weight_map": {}}
        names = list(files)
        for s in range(shards):
            file = f"model-{s + 1:05}-of-{shards:05}.safetensors"
            part = names[s * len(names) // shards:(s + 1) * len(names) // shards]
            write_safetensors(folder / file, {n: files[n] for n in part})
            index["weight_map"] |= {n: file for n in part}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1) + "\n")

    exact = {n: t.double() for n, t in weights.items()}
    expect = {n: t.float() for n, t in forward(config, exact, ids).items()}
    expect |= logit_gradients(config, exact, ids, forward)
    continued, gap = ids, math.inf
    for _ in range(STEPS):
        logits = forward(config, exact, continued)["logits"][-1]
        best = logits.topk(2).values
        gap = min(gap, float(best[0] - best[1]))
        continued = torch.cat([continued, logits.argmax()[None]])
    assert gap > 0.01, (name, gap)  # otherwise float32 might choose differently; take another seed
    expect |= {"ids": ids.float(), "greedy": continued[len(ids):].float()}
    write_safetensors(folder / "expect.safetensors", expect)


def gpt2_config(**changes):
    return {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": 31, "n_positions": 18,
            "n_embd": 18, "n_head": 3, "n_layer": 2, "n_inner": None, "activation_function": "gelu_new",
            "layer_norm_epsilon": 1e-5, "scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False,
            "tie_word_embeddings": True} | changes


def llama_config(**changes):
    return {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": 31, "hidden_size": 16,
            "intermediate_size": 28, "num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2,
            "max_position_embeddings": 64, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "rope_scaling": None,
            "hidden_act": "silu", "attention_bias": False, "mlp_bias": False, "tie_word_embeddings": True} | changes


def main():
    mask = torch.ones(18, 18, dtype=torch.bool).tril()[None, None]
    buffers = {f"transformer.h.{l}.attn.bias": mask for l in range(2)}
    write_model("gpt2-f32", 1, torch.float32, gpt2_config(), gpt2, gpt2_shapes, "transformer.", extra=buffers)
    write_model("gpt2-untied-f16", 2, torch.float16,
                gpt2_config(tie_word_embeddings=False, n_inner=40, activation_function="gelu",
                            scale_attn_by_inverse_layer_idx=True), gpt2, gpt2_shapes)
    write_model("llama-sharded-bf16", 3, torch.bfloat16, llama_config(head_dim=6), llama, llama_shapes, "model.",
                shards=3)
    write_model("llama3-scaled-f32", 4, torch.float32,
                llama_config(head_dim=8, attention_bias=True,
                             tie_word_embeddings=False, rope_theta=100.0,
                             rope_scaling={"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                                           "high_freq_factor": 4.0, "original_max_position_embeddings": 32}),
                llama, llama_shapes, "model.")
    write_model("qwen2-linear-f32", 5, torch.float32,
                llama_config(model_type="qwen2", architectures=["Qwen2ForCausalLM"], use_sliding_window=False,
                             sliding_window=None, num_key_value_heads=1, rope_theta=1000000.0,
                             rope_scaling={"type": "linear", "factor": 2.5}), llama, llama_shapes, "model.")
    mistral = llama_config(model_type="mistral", architectures=["MistralForCausalLM"], sliding_window=4,
                           rope_parameters={"rope_type": "default", "rope_theta": 100000.0})
    del mistral["rope_theta"], mistral["rope_scaling"]
    write_model("mistral-window-f16", 6, torch.float16, mistral, llama, llama_shapes)
    (HERE / "versions.json").write_text(json.dumps(
        {"torch": torch.__version__, "numpy": numpy.__version__}, indent=1) + "\n")


main()
