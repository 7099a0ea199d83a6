"""Seven models in float64 as their files say, with what their heads do to the last stream."""

import json
import math
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy
import torch
import torch.nn.functional as F

from frozen import Attention, Mlp, Norm, Stream

sys.path.insert(0, str(Path(__file__).parent.parent))
from checkpoint import read_safetensors  # noqa: E402

MODELS = Path(__file__).parent.parent / "model"
torch.set_default_dtype(torch.float64)


@dataclass
class Head:
    """logits = cap tanh(z / cap), where z = scale x w + b. A transform (w, b, act, norm) comes before that."""

    w: Any  # [d, vocabulary]
    b: Any = None
    scale: float = 1.0
    cap: float = 0.0
    transform: Any = None


@dataclass
class Built:
    name: str
    ids: list
    stream: Stream  # of an encoder-decoder, the decoder's
    final: Any  # the norm at its end
    head: Head
    decoder_ids: Any = None
    encoder: Any = None  # its stream
    encoder_final: Any = None

    def logits(self):
        x = self.stream.end if self.final is None else self.final(self.stream.end)
        if self.head.transform is not None:
            w, b, act, norm = self.head.transform
            x = norm(act(x @ w + b))
        z = self.head.scale * (x @ self.head.w)
        z = z if self.head.b is None else z + self.head.b
        return self.head.cap * torch.tanh(z / self.head.cap) if self.head.cap else z


def compared_weights(folder, layers, which=0, array="attention"):
    expected = numpy.load(folder / "expect.npz")[array]
    for layer, parts in enumerate(layers):
        assert numpy.abs(parts[which].weights.numpy() - expected[layer]).max() < 1e-6, (folder.name, array, layer)


def compared_logits(folder, built):
    assert numpy.abs(built.logits().numpy() - numpy.load(folder / "expect.npz")["logits"]).max() < 1e-9, folder.name
    return built


def compared(folder, built):
    """Checks the run against what other people's code gave, and returns it."""
    compared_weights(folder, built.stream.layers)
    return compared_logits(folder, built)


def text_of(folder):
    return json.loads((folder / "expect.json").read_text())["ids"]


def gelu_tanh(x):
    return F.gelu(x, approximate="tanh")


def rope(width, base):
    return base ** (-torch.arange(0, width, 2).double() / width)


def gpt2(shared, ids=None):
    folder = MODELS / "gpt2-f32"
    config, w = json.loads((folder / "config.json").read_text()), read_safetensors(folder / "model.safetensors")
    w = {name.removeprefix("transformer."): each for name, each in w.items()}
    ids, e = ids or [3, 1, 4, 1, 5, 9, 2, 6, 5], config["layer_norm_epsilon"]
    layers = []
    for l in range(config["n_layer"]):
        p = f"h.{l}."
        norm = [Norm(w[p + n + ".weight"], w[p + n + ".bias"], e) for n in ("ln_1", "ln_2")]
        w_q, w_k, w_v = w[p + "attn.c_attn.weight"].chunk(3, 1)
        b = w[p + "attn.c_attn.bias"].chunk(3)
        heads = config["n_head"]
        attention = Attention(heads, heads, w_q, w_k, w_v, w[p + "attn.c_proj.weight"],
                              (*b, w[p + "attn.c_proj.bias"]), norm[0],
                              scale=1 / math.sqrt(w_q.shape[1] // heads))
        up, down = ((w[p + f"mlp.{n}.weight"], w[p + f"mlp.{n}.bias"]) for n in ("c_fc", "c_proj"))
        layers.append([attention, Mlp(gelu_tanh, up, down, norm=norm[1])])
    stream = Stream([(("token_embedding", 0, 0), w["wte.weight"][ids]),
                     (("position_embedding", 0, 0), w["wpe.weight"][:len(ids)])], layers)
    return Built("gpt2-f32", ids, stream, Norm(w["ln_f.weight"], w["ln_f.bias"], e), Head(w["wte.weight"].T))


def llama_like(folder, ids, frequencies, config, plus_one=False, embedding_scale=1.0, sandwich=False, qk_norm=False,
               scale=None, softcap=0.0, windows=None, act=F.silu):
    w = {name.removeprefix("model."): each for name, each in read_safetensors(folder / "model.safetensors").items()}
    e, heads, kv = config["rms_norm_eps"], config["num_attention_heads"], config["num_key_value_heads"]
    width = config.get("head_dim", config["hidden_size"] // heads)

    def norm(name):
        return Norm(w[name + ".weight"] + (1 if plus_one else 0), None, e, False)

    layers = []
    for l in range(config["num_hidden_layers"]):
        p = f"layers.{l}."
        a = p + "self_attn."
        matrix = [w[a + n + "_proj.weight"].T for n in "qkvo"]
        biases = [w.get(a + n + "_proj.bias") for n in "qkvo"]
        attention = Attention(heads, kv, *matrix, biases, norm(p + "input_layernorm"),
                              norm(a + "q_norm") if qk_norm else None, norm(a + "k_norm") if qk_norm else None,
                              frequencies, scale or 1 / math.sqrt(width), softcap,
                              window=windows(l) if windows else 0,
                              post_sublayer=norm(p + "post_attention_layernorm") if sandwich else None)
        gate, up, down = ((w[p + f"mlp.{n}_proj.weight"].T, None) for n in ("gate", "up", "down"))
        before = "pre_feedforward_layernorm" if sandwich else "post_attention_layernorm"
        layers.append([attention, Mlp(act, up, down, gate, norm(p + before),
                                      norm(p + "post_feedforward_layernorm") if sandwich else None)])
    stream = Stream([(("token_embedding", 0, 0), w["embed_tokens.weight"][ids] * embedding_scale)], layers)
    of_head = w.get("lm_head.weight", w["embed_tokens.weight"]).T
    return Built(folder.name, ids, stream, norm("norm"), Head(of_head, cap=config.get("final_logit_softcapping", 0.0)))


def llama(shared, ids=None):
    folder, ids = MODELS / "llama3-scaled-f32", ids or [3, 1, 4, 1, 5, 9, 2, 6, 5]
    config = json.loads((folder / "config.json").read_text())
    scaling, f = config["rope_scaling"], rope(config["head_dim"], config["rope_theta"])
    turns = scaling["original_max_position_embeddings"] * f / (2 * math.pi)
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    smooth = ((turns - low) / (high - low)).clamp(0, 1)
    return llama_like(folder, ids, (1 - smooth) * f / scaling["factor"] + smooth * f, config)


def qwen3(shared, ids=None):
    folder = shared / "families/qwen3"
    config = json.loads((folder / "config.json").read_text())
    built = llama_like(folder, ids or text_of(folder), rope(config["head_dim"], config["rope_theta"]), config, qk_norm=True)
    return built if ids else compared(folder, built)


def gemma2(shared, ids=None):
    folder = shared / "families/gemma2"
    config = json.loads((folder / "config.json").read_text())
    built = llama_like(
        folder, ids or text_of(folder), rope(config["head_dim"], config["rope_theta"]), config, plus_one=True,
        embedding_scale=math.sqrt(config["hidden_size"]), sandwich=True,
        scale=config["query_pre_attn_scalar"] ** -0.5, softcap=config["attn_logit_softcapping"],
        windows=lambda l: config["sliding_window"] if l % 2 == 0 else 0,
        act=gelu_tanh)
    return built if ids else compared(folder, built)


def gpt_neox(shared, ids=None):
    folder = shared / "families/gpt_neox"
    config, own_ids = json.loads((folder / "config.json").read_text()), ids or text_of(folder)
    w = {name.removeprefix("gpt_neox."): each for name, each in read_safetensors(folder / "model.safetensors").items()}
    heads, d, e = config["num_attention_heads"], config["hidden_size"], config["layer_norm_eps"]
    width, layers = d // heads, []
    for l in range(config["num_hidden_layers"]):
        p = f"layers.{l}."
        by_head = w[p + "attention.query_key_value.weight"].reshape(heads, 3, width, d)
        biases = w[p + "attention.query_key_value.bias"].reshape(heads, 3, width)
        matrix = [by_head[:, i].reshape(d, d).T for i in range(3)]
        norm = [Norm(w[p + n + ".weight"], w[p + n + ".bias"], e) for n in ("input_layernorm", "post_attention_layernorm")]
        attention = Attention(heads, heads, *matrix, w[p + "attention.dense.weight"].T,
                              (*(biases[:, i].reshape(d) for i in range(3)), w[p + "attention.dense.bias"]), norm[0],
                              frequencies=rope(int(width * config["rotary_pct"]), config["rotary_emb_base"]),
                              scale=1 / math.sqrt(width))
        up, down = ((w[p + f"mlp.{n}.weight"].T, w[p + f"mlp.{n}.bias"]) for n in ("dense_h_to_4h", "dense_4h_to_h"))
        layers.append([attention, Mlp(F.gelu, up, down, norm=norm[1], parallel=True)])
    stream = Stream([(("token_embedding", 0, 0), w["embed_in.weight"][own_ids])], layers)
    final = Norm(w["final_layer_norm.weight"], w["final_layer_norm.bias"], e)
    built = Built("gpt_neox", own_ids, stream, final, Head(w["embed_out.weight"].T))
    return built if ids else compared(folder, built)


def bert(shared, ids=None):
    folder = shared / "families/bert"
    config, expect = json.loads((folder / "config.json").read_text()), json.loads((folder / "expect.json").read_text())
    w = {name.removeprefix("bert."): each for name, each in read_safetensors(folder / "model.safetensors").items()}
    own_ids, e, heads = ids or expect["ids"], config["layer_norm_eps"], config["num_attention_heads"]

    def linear(name):
        return w[name + ".weight"].T, w[name + ".bias"]

    def norm(name):
        return Norm(w[name + ".weight"], w[name + ".bias"], e)

    layers = []
    for l in range(config["num_hidden_layers"]):
        p = f"encoder.layer.{l}."
        pairs = [linear(p + f"attention.self.{n}") for n in ("query", "key", "value")] + [linear(p + "attention.output.dense")]
        attention = Attention(heads, heads, *(m for m, _ in pairs), tuple(b for _, b in pairs), causal=False,
                              scale=1 / math.sqrt(config["hidden_size"] // heads),
                              post_residual=norm(p + "attention.output.LayerNorm"))
        layers.append([attention, Mlp(F.gelu, linear(p + "intermediate.dense"), linear(p + "output.dense"),
                                      post_residual=norm(p + "output.LayerNorm"))])
    p = "embeddings."
    stream = Stream([(("token_embedding", 0, 0), w[p + "word_embeddings.weight"][own_ids]),
                     (("position_embedding", 0, 0), w[p + "position_embeddings.weight"][:len(own_ids)]),
                     (("segment_embedding", 0, 0), w[p + "token_type_embeddings.weight"][expect["token_type_ids"]])],
                    layers, norm(p + "LayerNorm"))
    p = "cls.predictions.transform."
    head = Head(w["embeddings.word_embeddings.weight"].T, w["cls.predictions.bias"],
                transform=(*linear(p + "dense"), F.gelu, norm(p + "LayerNorm")))
    built = Built("bert", own_ids, stream, None, head)
    return built if ids else compared(folder, built)


def t5(shared, ids=None, decoder_ids=None):
    folder = shared / "families/t5"
    config, expect = json.loads((folder / "config.json").read_text()), json.loads((folder / "expect.json").read_text())
    w, e, heads = read_safetensors(folder / "model.safetensors"), config["layer_norm_epsilon"], config["num_heads"]
    count = config["num_layers"]

    def norm(name):
        return Norm(w[name + ".weight"], None, e, False)

    def relative_bias(name, n, both_ways):
        buckets, far = config["relative_attention_num_buckets"], 128
        distance = torch.arange(n)[None, :] - torch.arange(n)[:, None]
        found = torch.zeros_like(distance)
        if both_ways:
            buckets //= 2
            found = (distance > 0).long() * buckets
            distance = distance.abs()
        else:
            distance = (-distance).clamp(min=0)
        exact = buckets // 2
        wide = exact + (torch.log(distance.double() / exact) / math.log(far / exact) * (buckets - exact)).long()
        found = found + torch.where(distance < exact, distance, wide.clamp(max=buckets - 1))
        return w[name][found].permute(2, 0, 1)

    def attention(p, of_norm, bias=None, causal=False):
        matrix = [w[f"{p}.{n}.weight"].T for n in "qkvo"]
        return Attention(heads, heads, *matrix, norm=norm(of_norm), bias=bias, causal=causal)

    def mlp(p):
        up, down = ((w[f"{p}.DenseReluDense.{n}.weight"].T, None) for n in ("wi", "wo"))
        return Mlp(F.relu, up, down, norm=norm(p + ".layer_norm"))

    is_own = ids is None
    ids, decoder_ids = ids or expect["ids"], decoder_ids or expect["decoder_ids"]
    table = "{}.block.0.layer.0.SelfAttention.relative_attention_bias.weight"
    encoder_bias = relative_bias(table.format("encoder"), len(ids), True)
    decoder_bias = relative_bias(table.format("decoder"), len(decoder_ids), False)
    encoder_layers, decoder_layers = [], []
    for l in range(count):
        p, d = f"encoder.block.{l}.layer.", f"decoder.block.{l}.layer."
        encoder_layers.append([attention(p + "0.SelfAttention", p + "0.layer_norm", encoder_bias), mlp(p + "1")])
        decoder_layers.append([attention(d + "0.SelfAttention", d + "0.layer_norm", decoder_bias, True),
                               attention(d + "1.EncDecAttention", d + "1.layer_norm"), mlp(d + "2")])
    encoder = Stream([(("token_embedding", 0, 0), w["shared.weight"][ids])], encoder_layers)
    final = norm("encoder.final_layer_norm")
    decoder = Stream([(("token_embedding", 0, 0), w["shared.weight"][decoder_ids])], decoder_layers,
                     first_number=count, first_cross=2 * count, encoded=final(encoder.end))
    head = Head(w["shared.weight"].T, scale=config["d_model"] ** -0.5)
    built = Built("t5", ids, decoder, norm("decoder.final_layer_norm"), head, decoder_ids, encoder, final)
    if not is_own:
        return built
    for array, layers, which in (("attention", encoder_layers, 0), ("cross_attention", decoder_layers, 1)):
        compared_weights(folder, layers, which, array)
    compared_weights(folder, decoder_layers, 0, "decoder_attention")
    return compared_logits(folder, built)


MAKERS = {"gpt2-f32": gpt2, "llama3-scaled-f32": llama, "qwen3": qwen3, "gemma2": gemma2, "gpt_neox": gpt_neox,
          "bert": bert, "t5": t5}
