#!/usr/bin/python3
"""Writes graphs.json beside it: logits of seven models as graphs of nodes and edges, by PyTorch's autograd.

Each model of tests/golden/sources is run in float64. Then it is run again with a gate for every edge: a reader's
stream is the sum over what its writers give, each times its gate, or a replacement times one less the gate. Attention
patterns are those of the run. With the statistics of norms and the activations of MLPs held, the derivatives of the
target by the gates, all 1, are the effects of the edges, and a node's effect is their sum over the edges that leave
it. With gates of 0 outside some edges, the same function gives what flows through these edges, and with live norms
and activations the value of the model in which all others are ablated: by zero, by the mean over the tokens of the
run, or by another text's.

    apt install python3-torch; /usr/bin/python3 tests/golden/paths/generate.py SHARED
"""

import json
import sys
from pathlib import Path

import numpy
import torch

sys.path.insert(0, str(Path(__file__).parent.parent / "sources"))
from frozen import Attention  # noqa: E402
from models import MAKERS  # noqa: E402

HERE = Path(__file__).parent
# The target's row, the token and the one that its logit is compared with.
TARGETS = {"gpt2-f32": (8, 5, 17), "llama3-scaled-f32": (8, 11, None), "qwen3": (15, 21, 40), "gemma2": (15, 9, 77),
           "gpt_neox": (12, 30, None), "bert": (5, 14, 90), "t5": (10, 61, 7)}
STRONGEST, KEPT, SAMPLE = 40, (6, 30, 120), 30


class Writers:
    """A stream's writers in the order of the arithmetic: their nodes, and what they give, [n, d] each."""

    def __init__(self, stream):
        self.stream, self.names = stream, [("embedding", stream.first_number, 0)]
        for layer, parts in enumerate(stream.layers):
            for which, part in enumerate(parts):
                number = stream.number(layer, which if isinstance(part, Attention) else 0)
                if isinstance(part, Attention):
                    self.names += [("head", number, head) for head in range(part.heads)]
                else:
                    self.names.append(("mlp", number, 0))
        x = stream.embedding_sum
        self.embedded = x if stream.embedding_norm is None else stream.embedding_norm.held(x, x)

    def of_run(self):
        given = [self.embedded]
        for parts in self.stream.layers:
            for part in parts:
                given += list(part.writes) if isinstance(part, Attention) else [part.out]
        return given


class Ablated:
    def __init__(self, built, gates, replacements, held):
        """gates(reader, shape) gives the gates of a reader's edges; replacements are those of each stream's writers."""
        self.built, self.gates, self.replacements, self.held = built, gates, replacements, held
        self.streams = [each for each in (built.encoder, built.stream) if each is not None]
        self.writers = [Writers(each) for each in self.streams]
        self.given = [[each.embedded] for each in self.writers]

    def norm(self, norm, y, x):
        """Takes y through a norm, which may be held at x."""
        if norm is None:
            return y
        if not self.held:
            return norm(y)
        y = norm.held(y, x)
        return y if norm.bias is None else y + norm.bias

    def stream(self, index, until, gates, tokens=slice(None)):
        """The stream before a part, as readers see it: gates are [..., n, writers], the result is [..., n, d]."""
        stream, given, other = self.streams[index], self.given[index], self.replacements[index]

        def mixed(w):
            gate = gates[..., w:w + 1]
            return gate * given[w][tokens] + (1 - gate) * other[w][tokens]

        x, w = mixed(0), 1
        if stream.embedding_norm is not None:
            x = x + stream.embedding_norm.bias
        for parts in stream.layers:
            for part in parts:
                if part is until:
                    return x
                if isinstance(part, Attention):
                    y = sum(mixed(w + head) for head in range(part.heads))
                    y = y if part.biases[3] is None else y + part.biases[3]
                    w += part.heads
                else:
                    y = mixed(w)
                    w += 1
                x = x + self.norm(part.post_sublayer, y, part.out[tokens])
                x = self.norm(part.post_residual, x, part.between[tokens])
        return x

    def readable(self, index, until):
        count = 1
        for parts in self.streams[index].layers:
            for part in parts:
                if part is until:
                    return count
                count += part.heads if isinstance(part, Attention) else 1
        return count

    def attend(self, index, part, number, cross):
        source, until = (0, None) if cross else (index, part)
        n_q, n_k = part.weights.shape[1:]
        gates = self.gates(("head", number), (part.heads, n_q, n_k, self.readable(source, until)), self.writers[source])
        x = self.stream(source, until, gates)  # [heads, n_q, n_k, d]
        if cross:
            x = self.norm(self.built.encoder_final, x, self.streams[0].end)
        else:
            x = self.norm(part.norm, x, part.before)
        group, width = part.heads // part.kv_heads, part.w_v.shape[1] // part.kv_heads
        for head in range(part.heads):
            columns = slice(head // group * width, (head // group + 1) * width)
            v = x[head] @ part.w_v[:, columns]
            v = v if part.biases[2] is None else v + part.biases[2][columns]
            out = (part.weights[head][..., None] * v).sum(1)
            self.given[index].append(out @ part.w_o.reshape(part.heads, -1, part.w_o.shape[1])[head])

    def feed_forward(self, index, parts, part, number):
        until = parts[0] if part.parallel else part
        n = part.out.shape[0]
        gates = self.gates(("mlp", number), (n, self.readable(index, until)), self.writers[index])
        before = until.before
        x = self.norm(part.norm, self.stream(index, until, gates), before)
        read = before if part.norm is None else part.norm(before)
        self.given[index].append(part.compute(x, part.held(read) if self.held else None))

    def value(self, row, raise_, over):
        for index, stream in enumerate(self.streams):
            for layer, parts in enumerate(stream.layers):
                for which, part in enumerate(parts):
                    if isinstance(part, Attention):
                        self.attend(index, part, stream.number(layer, which), which == 1)
                    else:
                        self.feed_forward(index, parts, part, stream.number(layer, 0))
        last, built, head = len(self.streams) - 1, self.built, self.built.head
        end = built.stream.end[row:row + 1]
        gates = self.gates(("target", 0), (1, self.readable(last, None)), self.writers[last])
        x = self.norm(built.final, self.stream(last, None, gates, slice(row, row + 1)), end)
        if head.transform is not None:
            w, b, act, norm = head.transform
            z, z_run = x @ w + b, (end if built.final is None else built.final(end)) @ w + b
            x = self.norm(norm, z * (act(z_run) / z_run) if self.held else act(z), act(z_run))
        z = head.scale * (x @ head.w) + (0 if head.b is None else head.b)
        if head.cap and not self.held:
            z = head.cap * torch.tanh(z / head.cap)
        z = z[0]
        if head.cap and self.held:
            run = torch.atanh(built.logits()[row] / head.cap) * head.cap
            z = z * (built.logits()[row] / run)
        return z[raise_] - (0 if over is None else z[over])


class Gates:
    """Gates of all edges, 1 at first, and which edges they belong to."""

    def __init__(self, row, number):
        self.row, self.number, self.all = row, number, {}

    def __call__(self, reader, shape, writers):
        if reader not in self.all:
            self.all[reader] = (torch.ones(shape, requires_grad=True), writers)
        return self.all[reader][0]

    def edges(self):
        """Yields all edges with the derivatives by their gates."""
        for (kind, number), (gate, writers) in self.all.items():
            for place in gate.grad.nonzero().tolist():
                effect = float(gate.grad[tuple(place)])
                w = place[-1]
                if kind == "head":
                    head, query, key = place[:3]
                    yield (*writers.names[w], key), (kind, number, head, query), effect
                else:
                    token = self.row if kind == "target" else place[0]
                    to = (kind, self.number if kind == "target" else number, 0, token)
                    yield (*writers.names[w], token), to, effect


class Kept:
    def __init__(self, row, edges):
        self.row = row
        self.kept = set(edges)

    def __call__(self, reader, shape, writers):
        kind, number = reader
        gate = torch.zeros(shape)
        for source, to in self.kept:
            if to[0] != kind or (kind != "target" and to[1] != number) or source[:3] not in writers.names:
                continue
            w = writers.names.index(source[:3])
            if kind == "head":
                gate[to[2], to[3], source[3], w] = 1
            else:
                gate[0 if kind == "target" else to[3], w] = 1
        return gate


def pruned(edges):
    """Drops edges on no path from an embedding to the target."""
    edges = set(edges)
    while True:
        fed = {to for _, to in edges}
        feeding = {source for source, _ in edges}
        left = {(source, to) for source, to in edges
                if (source[0] == "embedding" or source in fed) and (to[0] == "target" or to in feeding)}
        if left == edges:
            return edges
        edges = left


def short(number):
    return float(f"{float(number):.10g}")


def graph(make, shared):
    built = make(shared)
    row, raise_, over = TARGETS[built.name]
    other = make(shared, built.ids[1:] + built.ids[:1], built.decoder_ids[:1] + built.decoder_ids[:0:-1]) \
        if built.decoder_ids else make(shared, built.ids[1:] + built.ids[:1])
    streams = [each for each in (built.encoder, built.stream) if each is not None]
    of_run = [Writers(each).of_run() for each in streams]
    others = {"zero": [[torch.zeros_like(each) for each in all] for all in of_run],
              "mean": [[each.mean(0, keepdim=True).expand_as(each) for each in all] for all in of_run],
              "counterfactual": [Writers(each).of_run() for each in (other.encoder, other.stream) if each is not None]}
    gates = Gates(row, built.stream.number(len(built.stream.layers) - 1, 0))
    value = Ablated(built, gates, others["zero"], True).value(row, raise_, over)
    logits = built.logits()[row]
    expected = logits[raise_] - (0 if over is None else logits[over])
    assert abs(value - expected) < 1e-10 * (1 + abs(expected)), (built.name, value, expected)
    value.backward()
    edges = sorted(gates.edges(), key=lambda edge: -abs(edge[2]))
    nodes = {}
    for source, _, effect in edges:
        nodes[source] = nodes.get(source, 0.0) + effect
    sample = edges[:STRONGEST] + edges[STRONGEST::max(1, len(edges) // SAMPLE)]
    ablated = []
    for count in KEPT:
        kept = pruned((source, to) for source, to, _ in edges[:count])
        with torch.no_grad():
            values = {name: short(Ablated(built, Kept(row, kept), each, False).value(row, raise_, over))
                      for name, each in others.items()}
            flow = short(Ablated(built, Kept(row, kept), others["zero"], True).value(row, raise_, over))
        ablated.append({"count": count, "kept": len(kept), "flow": flow, **values})
    return {"model": built.name, "row": row, "raise": raise_, "over": over, "value": short(value),
            "edges": [[*source, *to, short(effect)] for source, to, effect in sample], "edge_count": len(edges),
            "nodes": [[*node, short(effect)] for node, effect in nodes.items()], "ablated": ablated}


def main():
    cases = [graph(make, Path(sys.argv[1])) for make in MAKERS.values()]
    lines = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (HERE / "graphs.json").write_text("[\n" + lines + "\n]\n")
    versions = {"python": sys.version.split()[0], "torch": torch.__version__, "numpy": numpy.__version__}
    (HERE / "versions.json").write_text(json.dumps(versions, indent=4) + "\n")
    for case in cases:
        print(case["model"], len(case["nodes"]), case["edge_count"], case["value"],
              [(each["kept"], each["flow"], each["zero"], each["mean"]) for each in case["ablated"]])


if __name__ == "__main__":
    main()
