"""Runs blocks of transformers in float64, and again for one row from gated sources with frozen norms."""

import math

import torch


class Norm:
    def __init__(self, gain, bias=None, epsilon=1e-5, centred=True):
        self.gain, self.bias, self.epsilon, self.centred = gain, bias, epsilon, centred

    def held(self, y, x):
        """Takes y through the norm with the statistics of x; without the bias."""
        x = x.detach()
        if self.centred:
            deviation = (x.var(-1, unbiased=False, keepdim=True) + self.epsilon).sqrt()
            return self.gain * (y - y.mean(-1, keepdim=True)) / deviation
        return self.gain * y / (x.pow(2).mean(-1, keepdim=True) + self.epsilon).sqrt()

    def __call__(self, x):
        y = self.held(x, x)
        return y if self.bias is None else y + self.bias


class Attention:
    """One attention: matrices are [in, out], q and k of all heads side by side."""

    def __init__(self, heads, kv_heads, w_q, w_k, w_v, w_o, biases=(None, None, None, None), norm=None, q_norm=None,
                 k_norm=None, frequencies=None, scale=1.0, softcap=0.0, causal=True, window=0, post_sublayer=None,
                 post_residual=None, bias=None):
        self.__dict__.update(locals())
        self.width = w_q.shape[1] // heads

    def rotate(self, x, positions):
        """Takes [..., n, width] and n positions; the first components turn, in halves."""
        if self.frequencies is None:
            return x
        turned = 2 * len(self.frequencies)
        angle = positions[:, None] * self.frequencies
        a, b = x[..., :turned].chunk(2, -1)
        return torch.cat([a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin(), x[..., turned:]], -1)

    def run(self, x, key_input):
        """Takes the normalised rows; keeps q, k, the weights, and what each head writes [heads, n, d]."""
        def split(rows, heads):
            return rows.reshape(rows.shape[0], heads, -1).transpose(0, 1)

        def project(rows, w, b, heads, norm):
            out = rows @ w if b is None else rows @ w + b
            out = split(out, heads)
            return out if norm is None else norm(out)

        q = project(x, self.w_q, self.biases[0], self.heads, self.q_norm)
        k = project(key_input, self.w_k, self.biases[1], self.kv_heads, self.k_norm)
        v = project(key_input, self.w_v, self.biases[2], self.kv_heads, None)
        self.q = self.rotate(q, torch.arange(q.shape[1]).double())
        self.k = self.rotate(k, torch.arange(k.shape[1]).double())
        group = self.heads // self.kv_heads
        scores = self.q @ self.k.repeat_interleave(group, 0).transpose(1, 2) * self.scale
        self.scaled = scores
        if self.softcap:
            scores = self.softcap * torch.tanh(scores / self.softcap)
        if self.bias is not None:
            scores = scores + self.bias
        if self.causal:
            n_q, n_k = scores.shape[1:]
            seen = torch.ones(n_q, n_k, dtype=torch.bool).tril()
            if self.window:
                seen &= ~torch.ones(n_q, n_k, dtype=torch.bool).tril(-self.window)
            scores = scores.masked_fill(~seen, -math.inf)
        self.weights = scores.softmax(-1)
        out = self.weights @ v.repeat_interleave(group, 0)
        w_o = self.w_o.reshape(self.heads, -1, self.w_o.shape[1])
        self.writes = out @ w_o
        self.output = self.writes.sum(0) if self.biases[3] is None else self.writes.sum(0) + self.biases[3]
        return self.output


class Mlp:
    """act(x up) down, or with a gate act(x gate) (x up) down. Matrices are pairs of [in, out] and a bias or None."""

    def __init__(self, act, up, down, gate=None, norm=None, post_sublayer=None, post_residual=None, parallel=False):
        self.__dict__.update(locals())

    @staticmethod
    def linear(x, matrix):
        w, b = matrix
        return x @ w if b is None else x @ w + b

    def held(self, x):
        """What is held of the activations at x: act(h) / h, or the activated gate."""
        if self.gate is not None:
            return self.act(self.linear(x, self.gate))
        h = self.linear(x, self.up)
        return torch.where(h == 0, torch.zeros_like(h), self.act(h) / h)

    def compute(self, x, held=None):
        """Takes rows; with `held` in place of the activations if it is given."""
        units = self.linear(x, self.up)
        if held is not None or self.gate is not None:
            units = units * (self.held(x) if held is None else held)
        else:
            units = self.act(units)
        return self.linear(units, self.down)


class Stream:
    """A stack of blocks over one text. `layers` are lists of Attention and Mlp; an encoder's final rows feed cross."""

    def __init__(self, embeddings, layers, embedding_norm=None, first_number=0, first_cross=None, encoded=None):
        self.__dict__.update(locals())
        self.embedding_sum = sum(rows for _, rows in embeddings)
        x = self.embedding_sum if embedding_norm is None else embedding_norm(self.embedding_sum)
        for parts in layers:
            for part in parts:
                part.before = x
                if isinstance(part, Attention):
                    read = x if part.norm is None else part.norm(x)
                    part.read = read
                    out = part.run(read, encoded if part is not parts[0] else read)
                    attended = read
                else:
                    read = attended if part.parallel and part.norm is None else x if not part.parallel else parts[0].before
                    out = part.compute(read if part.norm is None else part.norm(read))
                part.out = out
                given = out if part.post_sublayer is None else part.post_sublayer(out)
                part.between = x + given
                x = part.between if part.post_residual is None else part.post_residual(part.between)
        self.end = x

    def number(self, layer, which):
        return self.first_number + layer if which == 0 else self.first_cross + layer

    def replay(self, row, until, gate):
        """The row's stream before `until` (an Attention; None: at the end), from gated sources."""
        y = sum(gate(name) * rows[row] for name, rows in self.embeddings)
        if self.embedding_norm is not None:
            y = self.held(self.embedding_norm, y, self.embedding_sum[row], gate, ("embedding_norm", 0, 0))
        for layer, parts in enumerate(self.layers):
            for which, part in enumerate(parts):
                if part is until:
                    return y
                if isinstance(part, Attention):
                    number = self.number(layer, which)
                    out = sum(gate(("head", number, h)) * part.writes[h][row] for h in range(part.heads))
                    if part.biases[3] is not None:
                        out = out + gate(("attention_bias", number, 0)) * part.biases[3]
                    bias = ("attention_norm", number, 0)
                else:
                    out = gate(("mlp", self.number(layer, 0), 0)) * part.out[row]
                    bias = ("mlp_norm", self.number(layer, 0), 0)
                if part.post_sublayer is not None:
                    out = self.held(part.post_sublayer, out, part.out[row], gate, bias)
                y = y + out
                if part.post_residual is not None:
                    y = self.held(part.post_residual, y, part.between[row], gate, bias)
        return y

    @staticmethod
    def held(norm, y, x, gate, bias):
        y = norm.held(y, x)
        return y if norm.bias is None else y + gate(bias) * norm.bias
