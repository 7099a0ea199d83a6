#!/usr/bin/python3
"""Writes terms.json beside it: scores of seven models as sums over pairs of sources, by PyTorch's autograd.

Each model is run in float64 as its files say. Then one row of its residual stream is computed again from what
was written into it, each source multiplied by a gate of 1, with the statistics of every norm detached: frozen.
A query and a key are linear in their gates, so that their Jacobians by the gates are the sources' parts of q and
k, and scale * q_s . k_t are the terms of the score. Where the checkpoints have expected attention weights of
other authors, the runs are compared with them first.

    apt install python3-torch; /usr/bin/python3 tests/golden/sources/generate.py SHARED

SHARED is the folder that has families/; GPT-2 and Llama are those of tests/golden/model.
"""

import json
import math
import struct
import sys
from pathlib import Path

import numpy
import torch
import torch.nn.functional as F

from frozen import Attention, Mlp, Norm, Stream

HERE = Path(__file__).parent
MODELS = HERE.parent / "model"
torch.set_default_dtype(torch.float64)


def read_safetensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        array = numpy.frombuffer(data[begin:end], "<f4").reshape(entry["shape"])
        tensors[name] = torch.from_numpy(array.copy()).double()
    return tensors


def vector_sources(compute):
    """Runs compute(gate), a linear function of its gates at 1; returns their names and parts [sources, width]."""
    names = []

    def note(name):
        if name not in names:
            names.append(name)
        return torch.tensor(1.0)

    compute(note)

    def at(gates):
        return compute(lambda name: gates[names.index(name)])

    parts = torch.autograd.functional.jacobian(at, torch.ones(len(names))).T
    return names, parts


def side(stream, part, row, of_query, head, source_stream, final_norm):
    """The computation of q or k of one head as a function of gates."""
    w, b = (part.w_q, part.biases[0]) if of_query else (part.w_k, part.biases[1])
    norm = part.q_norm if of_query else part.k_norm
    own = head if of_query else head * part.kv_heads // part.heads
    columns = slice(own * part.width, (own + 1) * part.width)

    def compute(gate):
        if of_query or source_stream is stream:
            y = stream.replay(row, part, gate)
            if part.norm is not None:
                y = Stream.held(part.norm, y, part.before[row], gate, ("input_norm", 0, 0))
        else:
            y = source_stream.replay(row, None, gate)
            y = Stream.held(final_norm, y, source_stream.end[row], gate, ("input_norm", 0, 0))
        y = y @ w[:, columns]
        if b is not None:
            y = y + gate(("projection_bias", 0, 0)) * b[columns]
        if norm is not None:
            y = Stream.held(norm, y, y, gate, ("vector_norm", 0, 0))
        return part.rotate(y[None], torch.tensor([float(row)]))[0]

    return compute


def terms(name, stream, part, number, head, query, key, source_stream=None, final_norm=None):
    source_stream = source_stream or stream
    q_names, q = vector_sources(side(stream, part, query, True, head, source_stream, final_norm))
    k_names, k = vector_sources(side(stream, part, key, False, head, source_stream, final_norm))
    matrix = q @ k.T * part.scale
    score = part.scaled[head, query, key]
    assert abs(matrix.sum() - score) < 1e-10 * (1 + matrix.abs().sum()), (name, matrix.sum(), score)
    return {"model": name, "attention": number, "head": head, "query": query, "key": key, "score": float(score),
            "query_sources": q_names, "key_sources": k_names,
            "terms": [[float(f"{each:.12g}") for each in row] for row in matrix]}


def compared(folder, weights, array="attention"):
    expected = numpy.load(folder / "expect.npz")[array]
    for layer, each in enumerate(weights):
        assert numpy.abs(each.numpy() - expected[layer]).max() < 1e-6, (folder.name, array, layer)


def rope(width, base):
    return base ** (-torch.arange(0, width, 2).double() / width)


def gpt2():
    folder = MODELS / "gpt2-f32"
    config, w = json.loads((folder / "config.json").read_text()), read_safetensors(folder / "model.safetensors")
    w = {name.removeprefix("transformer."): each for name, each in w.items()}
    ids, e = [3, 1, 4, 1, 5, 9, 2, 6, 5], config["layer_norm_epsilon"]
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

        def mlp(x, p=p):
            hidden = F.gelu(x @ w[p + "mlp.c_fc.weight"] + w[p + "mlp.c_fc.bias"], approximate="tanh")
            return hidden @ w[p + "mlp.c_proj.weight"] + w[p + "mlp.c_proj.bias"]

        layers.append([attention, Mlp(mlp, norm[1])])
    stream = Stream([(("token_embedding", 0, 0), w["wte.weight"][ids]),
                     (("position_embedding", 0, 0), w["wpe.weight"][:len(ids)])], layers)
    return ids, [terms("gpt2-f32", stream, layers[1][0], 1, 1, 7, 4), terms("gpt2-f32", stream, layers[1][0], 1, 0, 8, 8)]


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

        def mlp(x, p=p):
            return (act(x @ w[p + "mlp.gate_proj.weight"].T) * (x @ w[p + "mlp.up_proj.weight"].T)) \
                @ w[p + "mlp.down_proj.weight"].T

        before = "pre_feedforward_layernorm" if sandwich else "post_attention_layernorm"
        layers.append([attention, Mlp(mlp, norm(p + before),
                                      norm(p + "post_feedforward_layernorm") if sandwich else None)])
    stream = Stream([(("token_embedding", 0, 0), w["embed_tokens.weight"][ids] * embedding_scale)], layers)
    return stream, layers


def llama():
    folder, ids = MODELS / "llama3-scaled-f32", [3, 1, 4, 1, 5, 9, 2, 6, 5]
    config = json.loads((folder / "config.json").read_text())
    scaling, f = config["rope_scaling"], rope(config["head_dim"], config["rope_theta"])
    turns = scaling["original_max_position_embeddings"] * f / (2 * math.pi)
    low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
    smooth = ((turns - low) / (high - low)).clamp(0, 1)
    stream, layers = llama_like(folder, ids, (1 - smooth) * f / scaling["factor"] + smooth * f, config)
    return ids, [terms(folder.name, stream, layers[1][0], 1, 3, 7, 4)]


def qwen3(shared):
    folder = shared / "families/qwen3"
    config, ids = json.loads((folder / "config.json").read_text()), json.loads((folder / "expect.json").read_text())["ids"]
    stream, layers = llama_like(folder, ids, rope(config["head_dim"], config["rope_theta"]), config, qk_norm=True)
    compared(folder, [parts[0].weights for parts in layers])
    return ids, [terms("qwen3", stream, layers[2][0], 2, 3, 12, 5)]


def gemma2(shared):
    folder = shared / "families/gemma2"
    config, ids = json.loads((folder / "config.json").read_text()), json.loads((folder / "expect.json").read_text())["ids"]
    stream, layers = llama_like(
        folder, ids, rope(config["head_dim"], config["rope_theta"]), config, plus_one=True,
        embedding_scale=math.sqrt(config["hidden_size"]), sandwich=True,
        scale=config["query_pre_attn_scalar"] ** -0.5, softcap=config["attn_logit_softcapping"],
        windows=lambda l: config["sliding_window"] if l % 2 == 0 else 0,
        act=lambda x: F.gelu(x, approximate="tanh"))
    compared(folder, [parts[0].weights for parts in layers])
    return ids, [terms("gemma2", stream, layers[3][0], 3, 2, 14, 3)]


def gpt_neox(shared):
    folder = shared / "families/gpt_neox"
    config, ids = json.loads((folder / "config.json").read_text()), json.loads((folder / "expect.json").read_text())["ids"]
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

        def mlp(x, p=p):
            hidden = F.gelu(x @ w[p + "mlp.dense_h_to_4h.weight"].T + w[p + "mlp.dense_h_to_4h.bias"])
            return hidden @ w[p + "mlp.dense_4h_to_h.weight"].T + w[p + "mlp.dense_4h_to_h.bias"]

        layers.append([attention, Mlp(mlp, norm[1], parallel=True)])
    stream = Stream([(("token_embedding", 0, 0), w["embed_in.weight"][ids])], layers)
    compared(folder, [parts[0].weights for parts in layers])
    return ids, [terms("gpt_neox", stream, layers[2][0], 2, 1, 11, 6)]


def bert(shared):
    folder = shared / "families/bert"
    config, expect = json.loads((folder / "config.json").read_text()), json.loads((folder / "expect.json").read_text())
    w = {name.removeprefix("bert."): each for name, each in read_safetensors(folder / "model.safetensors").items()}
    ids, e, heads = expect["ids"], config["layer_norm_eps"], config["num_attention_heads"]

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

        def mlp(x, p=p):
            (up, b_up), (down, b_down) = linear(p + "intermediate.dense"), linear(p + "output.dense")
            return F.gelu(x @ up + b_up) @ down + b_down

        layers.append([attention, Mlp(mlp, post_residual=norm(p + "output.LayerNorm"))])
    p = "embeddings."
    stream = Stream([(("token_embedding", 0, 0), w[p + "word_embeddings.weight"][ids]),
                     (("position_embedding", 0, 0), w[p + "position_embeddings.weight"][:len(ids)]),
                     (("segment_embedding", 0, 0), w[p + "token_type_embeddings.weight"][expect["token_type_ids"]])],
                    layers, norm(p + "LayerNorm"))
    compared(folder, [parts[0].weights for parts in layers])
    return ids, [terms("bert", stream, layers[2][0], 2, 3, 4, 11)]


def t5(shared):
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
        return Mlp(lambda x: F.relu(x @ w[p + ".DenseReluDense.wi.weight"].T) @ w[p + ".DenseReluDense.wo.weight"].T,
                   norm(p + ".layer_norm"))

    ids, decoder_ids = expect["ids"], expect["decoder_ids"]
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
    compared(folder, [parts[0].weights for parts in encoder_layers])
    compared(folder, [parts[0].weights for parts in decoder_layers], "decoder_attention")
    compared(folder, [parts[1].weights for parts in decoder_layers], "cross_attention")
    last = count - 1
    return ids, [terms("t5", encoder, encoder_layers[last][0], last, 2, 9, 3),
                 terms("t5", decoder, decoder_layers[last][0], count + last, 1, 8, 2),
                 terms("t5", decoder, decoder_layers[last][1], 2 * count + last, 3, 8, 12, encoder, final)]


def main():
    shared = Path(sys.argv[1])
    cases = []
    for make in (gpt2, llama):
        cases += make()[1]
    for make in (qwen3, gemma2, gpt_neox, bert, t5):
        cases += make(shared)[1]
    lines = ",\n".join(json.dumps(case) for case in cases)
    (HERE / "terms.json").write_text("[\n" + lines + "\n]\n")
    versions = {"python": sys.version.split()[0], "torch": torch.__version__, "numpy": numpy.__version__}
    (HERE / "versions.json").write_text(json.dumps(versions, indent=4) + "\n")
    for case in cases:
        print(case["model"], case["attention"], len(case["query_sources"]), len(case["key_sources"]), case["score"])


if __name__ == "__main__":
    main()
