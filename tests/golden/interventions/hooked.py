"""Two of the golden models as plain PyTorch modules in float64, with a place to hang a hook on at every site."""

import json
import math
import sys
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.insert(0, str(Path(__file__).parent.parent))
from checkpoint import read_safetensors  # noqa: E402

MODELS = Path(__file__).parent.parent / "model"
VECTORS = ["residual_in", "q", "k", "v", "head_output", "attention_output", "residual_middle", "mlp_output",
           "residual_out"]


def weights_of(name):
    return {each.removeprefix("transformer.").removeprefix("model."): tensor
            for each, tensor in read_safetensors(MODELS / name / "model.safetensors").items()}


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


def hooked_models():
    """Returns GPT-2 and a Llama with grouped heads, by name."""
    models = {}
    for name, kind in {"gpt2-f32": Gpt2, "llama3-scaled-f32": Llama}.items():
        config = json.loads((MODELS / name / "config.json").read_text())
        models[name] = kind(config, weights_of(name))
    return models
