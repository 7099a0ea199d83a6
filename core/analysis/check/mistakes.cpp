#include "analysis/check/mistakes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace attn {

namespace {

using Variants = std::vector<MistakeVariant>;
using How = Implementation;

MistakeVariant variant(auto apply, std::string detail = "") { return {std::move(detail), apply}; }

bool several_heads(const AttentionCase& c) { return c.heads() > 1; }
bool has_mask(const AttentionCase& c) { return !c.mask.empty(); }
bool has_bits(const AttentionCase& c) { return !c.mask.painted.empty() || !c.mask.padding.empty(); }

Variants merged_without_transpose(const AttentionCase& c) {
    if (!several_heads(c)) return {};
    return {variant([](How& how) { how.merge_transposed = false; })};
}
Variants split_without_transpose(const AttentionCase& c) {
    if (!several_heads(c)) return {};
    using Split = InputReading::Split;
    return {variant([](How& how) { how.inputs.split = Split::viewed; }),
            variant([](How& how) { how.inputs.split = Split::heads_last; }, "as [n, d, heads]")};
}
Variants mask_inverted(const AttentionCase& c) {
    Variants out;
    if (has_bits(c)) {
        out.push_back(variant([](How& how) { how.inverts_painted = true; }));
        out.push_back(variant(
            [](How& how) {
                how.inverts_painted = true;
                how.empty_row = How::EmptyRow::nan;
            },
            "with NaN for a query without keys"));
    }
    // A window alone is rarely written as a mask that could be inverted.
    if (c.mask.causal) out.push_back(variant([](How& how) { how.inverts_all = true; }));
    return out;
}

Variants scale_d_model(const AttentionCase& c) {
    const double d = static_cast<double>(c.heads() * c.d_k());
    return {variant([d](How& how) { how.scale = 1 / std::sqrt(d); })};
}
Variants scale_d_k(const AttentionCase& c) {
    const double d = static_cast<double>(c.d_k());
    return {variant([d](How& how) { how.scale = 1 / d; })};
}
Variants scale_missing(const AttentionCase&) {
    return {variant([](How& how) { how.scale = 1; })};
}
Variants scale_twice(const AttentionCase& c) {
    const double s = c.scale;
    return {variant([s](How& how) { how.scale = s * s; })};
}
Variants scale_multiplied(const AttentionCase& c) {
    const double s = c.scale;
    if (s == 0) return {};
    return {variant([s](How& how) { how.scale = 1 / s; })};
}

Variants rope_pairs(const AttentionCase& c, bool interleaved) {
    if (c.rope && c.rope->interleaved == interleaved) return {};
    // Where a case names no rotation, both kinds are tried with the usual base.
    CaseRope rope = c.rope.value_or(CaseRope{.dim = c.d_k() / 2 * 2});
    if (rope.dim < 2 || (!c.rope && c.d_k() % 2 != 0)) return {};
    rope.interleaved = interleaved;
    const double first = static_cast<double>(c.mask.offset);
    return {variant([=](How& how) {
        how.inputs.rope = rope;
        how.inputs.first_query = first;
    })};
}
Variants rope_interleaved(const AttentionCase& c) { return rope_pairs(c, true); }
Variants rope_halves(const AttentionCase& c) { return rope_pairs(c, false); }
Variants rope_base(const AttentionCase& c) {
    Variants out;
    if (!c.rope) return out;
    for (const double base : {10000.0, 500000.0, 1000000.0, 100000.0, 1000.0, 100.0, 160000.0, 8000000.0})
        if (base != c.rope->base)
            out.push_back(variant([base](How& how) { how.inputs.rope->base = base; },
                                  "base " + std::to_string(static_cast<long>(base))));
    return out;
}
Variants rope_position_from_one(const AttentionCase& c) {
    if (!c.rope) return {};
    return {variant([](How& how) { how.inputs.first_query += 1; }, "of the queries"),
            variant([](How& how) { how.inputs.first_key += 1; }, "of the keys"), variant([](How& how) {
                how.inputs.first_query += 1;
                how.inputs.first_key += 1;
            })};
}
Variants rope_without_past(const AttentionCase& c) {
    if (!c.rope || c.mask.offset == 0) return {};
    return {variant([](How& how) { how.inputs.first_query = 0; })};
}
Variants rope_on_v(const AttentionCase& c) {
    if (!c.rope || c.rope->dim > c.d_v()) return {};
    return {variant([](How& how) { how.inputs.rotates_values = true; })};
}
Variants rope_missing(const AttentionCase& c) {
    if (!c.rope) return {};
    return {variant([](How& how) { how.inputs.rope.reset(); })};
}

Variants causal_at(const AttentionCase& c, Index offset) {
    if (!c.mask.causal || *c.mask.causal == offset) return {};
    return {variant([offset](How& how) { how.causal = offset; })};
}
Variants causal_top_left(const AttentionCase& c) { return causal_at(c, 0); }
Variants causal_bottom_right(const AttentionCase& c) { return causal_at(c, c.keys() - c.queries()); }
Variants causal_strict(const AttentionCase& c) {
    if (!c.mask.causal) return {};
    const Index offset = *c.mask.causal - 1;
    return {variant([offset](How& how) { how.causal = offset; }), variant(
                                                                      [offset](How& how) {
                                                                          how.causal = offset;
                                                                          how.empty_row = How::EmptyRow::nan;
                                                                      },
                                                                      "with NaN for a query without keys")};
}
Variants causal_one_more(const AttentionCase& c) {
    return c.mask.causal ? causal_at(c, *c.mask.causal + 1) : Variants{};
}
Variants causal_missing(const AttentionCase& c) {
    if (!c.mask.causal) return {};
    return {variant([](How& how) { how.causal.reset(); })};
}
Variants causal_added(const AttentionCase& c) {
    if (c.mask.causal) return {};
    const Index past = c.keys() - c.queries();
    Variants out{variant([](How& how) { how.causal = 0; })};
    if (past > 0) out.push_back(variant([past](How& how) { how.causal = past; }, "aligned bottom right"));
    return out;
}

Variants kv_heads_tiled(const AttentionCase& c) {
    if (c.kv_heads() == 1 || c.kv_heads() == c.heads()) return {};
    return {variant([](How& how) { how.tiled_kv = true; })};
}

Variants empty_rows_nan(const AttentionCase& c) {
    if (!has_mask(c)) return {};
    return {variant([](How& how) { how.empty_row = How::EmptyRow::nan; })};
}
Variants empty_rows_uniform(const AttentionCase& c) {
    if (!has_mask(c)) return {};
    return {variant([](How& how) { how.empty_row = How::EmptyRow::uniform; })};
}
// Where the mask hides a whole column, the softmax is 0 or NaN.
Variants over(How::Axis axis) {
    return {variant([axis](How& how) { how.axis = axis; }), variant([axis](How& how) {
                how.axis = axis;
                how.empty_row = How::EmptyRow::nan;
            })};
}
Variants softmax_over_queries(const AttentionCase&) { return over(How::Axis::queries); }
Variants softmax_over_heads(const AttentionCase& c) {
    if (!several_heads(c)) return {};
    return over(How::Axis::heads);
}
Variants k_not_transposed(const AttentionCase&) {
    return {variant([](How& how) { how.keys = How::Keys::viewed; })};
}

Variants masked_by(const AttentionCase& c, How::Masking masking) {
    if (!has_mask(c)) return {};
    return {variant([masking](How& how) { how.masking = masking; })};
}
Variants mask_after_softmax(const AttentionCase& c) { return masked_by(c, How::Masking::after_softmax); }
Variants mask_added_as_01(const AttentionCase& c) {
    if (!has_mask(c)) return {};
    return {variant([](How& how) { how.masking = How::Masking::added; }),
            variant([](How& how) { how.masking = How::Masking::added_hidden; }, "1 where it is hidden")};
}
Variants mask_multiplied(const AttentionCase& c) { return masked_by(c, How::Masking::multiplied); }
Variants mask_value_finite(const AttentionCase& c) {
    if (!has_mask(c)) return {};
    const auto with = [](double value, NumberFormat format, std::string detail) {
        return variant(
            [=](How& how) {
                how.masking = How::Masking::finite;
                how.mask_value = value;
                how.mask_format = format;
            },
            std::move(detail));
    };
    return {with(-1e4, NumberFormat::f32, "−1e4"),        with(-1e4, NumberFormat::f64, "−1e4 in f64"),
            with(-1e4, NumberFormat::f16, "−1e4 in f16"), with(-1e4, NumberFormat::bf16, "−1e4 in bf16"),
            with(-1e9, NumberFormat::f32, "−1e9"),        with(-1e9, NumberFormat::f64, "−1e9 in f64"),
            with(-100, NumberFormat::f64, "−100"),        with(-10, NumberFormat::f64, "−10")};
}
Variants padding_ignored(const AttentionCase& c) {
    if (c.mask.padding.empty()) return {};
    return {variant([](How& how) { how.padding = false; })};
}
Variants mask_ignored(const AttentionCase& c) {
    if (c.mask.painted.empty()) return {};
    return {variant([](How& how) { how.painted = how.padding = false; })};
}
Variants bias_left_out(const AttentionCase& c) {
    Variants out;
    if (!c.bias.empty()) out.push_back(variant([](How& how) { how.adds_bias = false; }, "of the scores"));
    if (const auto& p = c.projections; p && !(p->b_q.empty() && p->b_k.empty() && p->b_v.empty()))
        out.push_back(variant([](How& how) { how.inputs.projection_bias = false; }, "of the projections"));
    if (!c.b_o.empty()) {
        out.push_back(variant([](How& how) { how.output_bias = false; }, "of the output"));
        if (c.projections)
            out.push_back(variant([](How& how) { how.output_bias = how.inputs.projection_bias = false; },
                                  "of all projections"));
    }
    return out;
}
Variants softcap_after_mask(const AttentionCase& c) {
    if (c.softcap == 0 || (!has_mask(c) && c.bias.empty())) return {};
    Variants out;
    if (has_mask(c)) out.push_back(variant([](How& how) { how.cap_after_mask = true; }));
    if (!c.bias.empty())
        out.push_back(variant([](How& how) { how.cap_after_bias = true; }, "after the bias"));
    return out;
}
Variants softcap_missing(const AttentionCase& c) {
    if (c.softcap == 0) return {};
    return {variant([](How& how) { how.softcap = 0; })};
}
Variants window_off_by_one(const AttentionCase& c) {
    if (!c.mask.window) return {};
    const auto by = [](Index n) {
        return [n](How& how) {
            how.window->before += n;
            if (how.window->after > 0 || !how.causal) how.window->after += n;
        };
    };
    return {variant(by(1), "one key too many"), variant(by(-1), "one key too few")};
}
Variants window_missing(const AttentionCase& c) {
    if (!c.mask.window) return {};
    return {variant([](How& how) { how.window.reset(); })};
}

Variants qkv_order_swapped(const AttentionCase& c) {
    Variants out;
    const bool square = c.kv_heads() == c.heads() && c.queries() == c.keys();
    const bool same_source = !c.projections || c.projections->x.values == c.projections->x_kv.values;
    const bool values_alike = c.d_k() == c.d_v();
    const auto order = [&](std::array<int, 3> o, std::string detail) {
        out.push_back(variant([o](How& how) { how.inputs.order = o; }, std::move(detail)));
    };
    if (values_alike) order({0, 2, 1}, "k and v exchanged");
    if (!square || !same_source) return out;
    order({1, 0, 2}, "q and k exchanged");
    if (!values_alike) return out;
    order({2, 1, 0}, "q and v exchanged");
    order({1, 2, 0}, "k, v, q read as q, k, v");
    order({2, 0, 1}, "v, q, k read as q, k, v");
    if (!several_heads(c)) return out;
    using Packing = InputReading::Packing;
    out.push_back(variant([](How& how) { how.inputs.packing = Packing::read_by_head; },
                          "[3, heads, d] read as [heads, 3, d]"));
    out.push_back(variant([](How& how) { how.inputs.packing = Packing::read_by_kind; },
                          "[heads, 3, d] read as [3, heads, d]"));
    return out;
}
Variants batch_and_sequence_swapped(const AttentionCase& c) {
    if (c.queries() != c.keys() || c.queries() < 2) return {};
    if (c.batch() < 2) return {variant([](How& how) { how.inputs.swap = InputReading::Swap::transposed; })};
    return {variant([](How& how) { how.inputs.swap = InputReading::Swap::transposed; }),
            variant([](How& how) { how.inputs.swap = InputReading::Swap::viewed; },
                    "viewed without a transpose")};
}
Variants weights_averaged_over_heads(const AttentionCase& c) {
    if (!several_heads(c)) return {};
    Variants out{variant([](How& how) { how.averages_heads = true; })};
    if (!c.weights.empty())
        out.push_back(
            variant([](How& how) { how.averages_heads = how.reports_own = true; }, "in the output alone"));
    if (!c.weights.empty())
        out.push_back(variant([](How& how) { how.reports_mean = true; }, "in the returned weights"));
    return out;
}
Variants base_2_exponential(const AttentionCase&) {
    return {variant([](How& how) { how.exponential_base = 2; })};
}
Variants tile_remainder_ignored(const AttentionCase& c) {
    Variants out;
    for (const Index tile : {16, 32, 64, 128, 8, 4})
        if (c.keys() > tile && c.keys() % tile != 0) {
            out.push_back(variant(
                [tile](How& how) {
                    how.tile = tile;
                    how.remainder = How::Remainder::dropped;
                },
                "tiles of " + std::to_string(tile)));
            out.push_back(variant(
                [tile](How& how) {
                    how.tile = tile;
                    how.remainder = How::Remainder::zeros;
                },
                "tiles of " + std::to_string(tile) + ", filled with zeros"));
        }
    return out;
}
Variants none(const AttentionCase&) { return {}; }

// clang-format off: a mistake a block, its remedy in PyTorch, JAX and NumPy
constexpr std::array all_mistakes{
    Mistake{"heads_merged_without_transpose", "Heads merged without a transpose", "when heads are merged without transposing first", "more than one head and more than one query",
            {"out = out.transpose(1, 2).reshape(B, N, H * D)", "out = out.transpose(0, 2, 1, 3).reshape(B, N, H * D)", "out = out.transpose(0, 2, 1, 3).reshape(B, N, H * D)"}, merged_without_transpose},
    Mistake{"heads_split_without_transpose", "Heads split without a transpose", "when heads are split by a reshape to [B, H, N, D] without a transpose", "more than one head and more than one query",
            {"q = q.view(B, N, H, D).transpose(1, 2)  # likewise k and v", "q = q.reshape(B, N, H, D).transpose(0, 2, 1, 3)  # likewise k and v", "q = q.reshape(B, N, H, D).transpose(0, 2, 1, 3)  # likewise k and v"}, split_without_transpose},
    Mistake{"mask_inverted", "Mask inverted", "when the mask's polarity is reversed, so that hidden keys are attended to and visible ones are not", "a mask that hides some keys",
            {"scores = scores.masked_fill(~mask, float('-inf'))  # True: may attend", "scores = jnp.where(mask, scores, -jnp.inf)  # True: may attend", "scores = np.where(mask, scores, -np.inf)  # True: may attend"}, mask_inverted},
    Mistake{"causal_top_left", "Causal mask aligned top left", "when the causal mask is aligned at the top left, as if the queries were the first tokens", "n_q different from n_k",
            {"mask = torch.ones(n_q, n_k, dtype=torch.bool).tril(n_k - n_q)", "mask = jnp.tril(jnp.ones((n_q, n_k), bool), n_k - n_q)", "mask = np.tril(np.ones((n_q, n_k), bool), n_k - n_q)"}, causal_top_left},
    Mistake{"causal_bottom_right", "Causal mask aligned bottom right", "when the causal mask is aligned at the bottom right, as if the queries were the last tokens", "n_q different from n_k",
            {"mask = torch.ones(n_q, n_k, dtype=torch.bool).tril()", "mask = jnp.tril(jnp.ones((n_q, n_k), bool))", "mask = np.tril(np.ones((n_q, n_k), bool))"}, causal_bottom_right},
    Mistake{"causal_strict", "Causal mask hides the query's own key", "when the causal mask hides the query's own key as well", "a causal mask",
            {"mask = torch.ones(n, n, dtype=torch.bool).tril(0)  # the diagonal stays", "mask = jnp.tril(jnp.ones((n, n), bool), 0)  # the diagonal stays", "mask = np.tril(np.ones((n, n), bool), 0)  # the diagonal stays"}, causal_strict},
    Mistake{"causal_one_more", "Causal mask lets one future key through", "when the causal mask lets each query see one future key", "a causal mask",
            {"mask = torch.ones(n, n, dtype=torch.bool).triu(1)  # True: hidden", "mask = jnp.triu(jnp.ones((n, n), bool), 1)  # True: hidden", "mask = np.triu(np.ones((n, n), bool), 1)  # True: hidden"}, causal_one_more},
    Mistake{"causal_missing", "Causal mask left out", "when the causal mask is left out", "a causal mask",
            {"F.scaled_dot_product_attention(q, k, v, is_causal=True)", "jax.nn.dot_product_attention(q, k, v, is_causal=True)", "scores = np.where(np.tril(np.ones((n, n), bool)), scores, -np.inf)"}, causal_missing},
    Mistake{"padding_ignored", "Padding of the keys ignored", "when padding keys are attended to", "a batch with padding",
            {"scores = scores.masked_fill(~keep[:, None, None, :], float('-inf'))", "scores = jnp.where(keep[:, None, None, :], scores, -jnp.inf)", "scores = np.where(keep[:, None, None, :], scores, -np.inf)"}, padding_ignored},
    Mistake{"mask_ignored", "Mask left out", "when the mask is left out", "a mask that hides some keys",
            {"scores = scores.masked_fill(~mask, float('-inf'))", "scores = jnp.where(mask, scores, -jnp.inf)", "scores = np.where(mask, scores, -np.inf)"}, mask_ignored},
    Mistake{"scale_missing", "Scores not scaled", "when scores are not scaled", "d_k above 1",
            {"scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))", "scores = q @ k.swapaxes(-2, -1) / jnp.sqrt(q.shape[-1])", "scores = q @ k.swapaxes(-2, -1) / np.sqrt(q.shape[-1])"}, scale_missing},
    Mistake{"scale_d_model", "Scaled by the model's width", "when scores are divided by the square root of d_model instead of the head's d_k", "more than one head",
            {"scores = scores / math.sqrt(d_model // heads)", "scores = scores / jnp.sqrt(d_model // heads)", "scores = scores / np.sqrt(d_model // heads)"}, scale_d_model},
    Mistake{"scale_d_k", "Scaled by d_k, not its root", "when scores are divided by d_k instead of its square root", "a scale other than 1/√d_k, and d_k above 1",
            {"scores = scores / math.sqrt(d_k)", "scores = scores / jnp.sqrt(d_k)", "scores = scores / np.sqrt(d_k)"}, scale_d_k},
    Mistake{"scale_twice", "Scaled twice", "when scores are scaled twice", "a scale other than 1/√d_k",
            {"F.scaled_dot_product_attention(q, k, v)  # do not scale q before", "jax.nn.dot_product_attention(q, k, v)  # do not scale q before", "scores = q @ k.swapaxes(-2, -1) * scale  # once"}, scale_twice},
    Mistake{"scale_multiplied", "Multiplied by √d_k", "when scores are multiplied by the square root of d_k instead of divided", "d_k above 1, and scores that do not saturate the softmax",
            {"scores = q @ k.transpose(-2, -1) / math.sqrt(d_k)", "scores = q @ k.swapaxes(-2, -1) / jnp.sqrt(d_k)", "scores = q @ k.swapaxes(-2, -1) / np.sqrt(d_k)"}, scale_multiplied},
    Mistake{"rope_interleaved", "RoPE on interleaved pairs", "when the rotation pairs the components (0, 1), (2, 3), …", "positions beyond the first, and d_k above 2",
            {"x1, x2 = x.chunk(2, -1); rotated = torch.cat((-x2, x1), -1)", "x1, x2 = jnp.split(x, 2, -1); rotated = jnp.concatenate((-x2, x1), -1)", "x1, x2 = np.split(x, 2, -1); rotated = np.concatenate((-x2, x1), -1)"}, rope_interleaved},
    Mistake{"rope_halves", "RoPE on halves", "when the rotation pairs the first half of the components with the second", "positions beyond the first, and d_k above 2",
            {"x1, x2 = x[..., ::2], x[..., 1::2]; rotated = torch.stack((-x2, x1), -1).flatten(-2)", "x1, x2 = x[..., ::2], x[..., 1::2]; rotated = jnp.stack((-x2, x1), -1).reshape(x.shape)", "x1, x2 = x[..., ::2], x[..., 1::2]; rotated = np.stack((-x2, x1), -1).reshape(x.shape)"}, rope_halves},
    Mistake{"rope_base", "RoPE with another base", "when the rotation has another base", "positions beyond the first, and d_k above 2",
            {"inv_freq = rope_theta ** (-torch.arange(0, d, 2) / d)  # rope_theta of the config", "inv_freq = rope_theta ** (-jnp.arange(0, d, 2) / d)  # rope_theta of the config", "inv_freq = rope_theta ** (-np.arange(0, d, 2) / d)  # rope_theta of the config"}, rope_base},
    Mistake{"rope_position_from_one", "RoPE positions from one", "when positions count from one", "queries and keys whose positions count differently: a shift of both changes nothing",
            {"positions = torch.arange(past, past + n)  # from 0", "positions = jnp.arange(past, past + n)  # from 0", "positions = np.arange(past, past + n)  # from 0"}, rope_position_from_one},
    Mistake{"rope_without_past", "RoPE forgets the past", "when the positions of the queries begin at zero although keys precede them", "a past: n_q below n_k",
            {"positions = torch.arange(n_k - n_q, n_k)  # of the queries", "positions = jnp.arange(n_k - n_q, n_k)  # of the queries", "positions = np.arange(n_k - n_q, n_k)  # of the queries"}, rope_without_past},
    Mistake{"rope_on_v", "RoPE applied to V", "when the values are rotated as well", "positions beyond the first",
            {"q, k = rotate(q), rotate(k)  # v stays", "q, k = rotate(q), rotate(k)  # v stays", "q, k = rotate(q), rotate(k)  # v stays"}, rope_on_v},
    Mistake{"rope_missing", "RoPE left out", "when queries and keys are not rotated", "positions beyond the first",
            {"q, k = rotate(q, positions), rotate(k, positions)", "q, k = rotate(q, positions), rotate(k, positions)", "q, k = rotate(q, positions), rotate(k, positions)"}, rope_missing},
    Mistake{"kv_heads_tiled", "Grouped heads tiled", "when grouped keys and values are tiled (0, 1, 0, 1) instead of repeated (0, 0, 1, 1)", "at least two kv heads, and more heads than these",
            {"k = k.repeat_interleave(heads // kv_heads, dim=1)  # likewise v", "k = jnp.repeat(k, heads // kv_heads, axis=1)  # likewise v", "k = np.repeat(k, heads // kv_heads, axis=1)  # likewise v"}, kv_heads_tiled},
    Mistake{dropout_key, "Dropout left on", "when dropout is left on", "weights, or queries that see at most d_v keys",
            {"model.eval()  # or dropout_p=0.0", "attention(..., deterministic=True)", "dropout_rate = 0.0"}, none},
    Mistake{"softmax_over_queries", "Softmax over the queries", "when the softmax runs over the queries instead of the keys", "more than one query",
            {"weights = scores.softmax(dim=-1)", "weights = jax.nn.softmax(scores, axis=-1)", "e = np.exp(scores - scores.max(-1, keepdims=True)); weights = e / e.sum(-1, keepdims=True)"}, softmax_over_queries},
    Mistake{"softmax_over_heads", "Softmax over the heads", "when the softmax runs over the heads instead of the keys", "more than one head",
            {"weights = scores.softmax(dim=-1)  # scores: [B, H, n_q, n_k]", "weights = jax.nn.softmax(scores, axis=-1)  # scores: [B, H, n_q, n_k]", "e = np.exp(scores - scores.max(-1, keepdims=True)); weights = e / e.sum(-1, keepdims=True)"}, softmax_over_heads},
    Mistake{"empty_rows_nan", "NaN for a query without keys", "when the softmax of a query without keys is NaN", "a query that may see no key",
            {"weights = torch.nan_to_num(weights, nan=0.0)", "weights = jnp.where(mask.any(-1, keepdims=True), weights, 0)", "weights = np.where(mask.any(-1, keepdims=True), weights, 0)"}, empty_rows_nan},
    Mistake{"empty_rows_uniform", "Uniform weights for a query without keys", "when a query without keys attends to all of them equally", "a query that may see no key",
            {"weights = weights * mask.any(-1, keepdim=True)", "weights = weights * mask.any(-1, keepdims=True)", "weights = weights * mask.any(-1, keepdims=True)"}, empty_rows_uniform},
    Mistake{"k_not_transposed", "K not transposed", "when K is multiplied without being transposed, or is viewed as [d, n]", "more than one key",
            {"scores = q @ k.transpose(-2, -1)", "scores = q @ k.swapaxes(-2, -1)", "scores = q @ k.swapaxes(-2, -1)"}, k_not_transposed},
    Mistake{"mask_after_softmax", "Mask applied after the softmax", "when weights are set to zero after the softmax, so that rows do not sum to one", "a mask that hides some keys",
            {"weights = scores.masked_fill(~mask, float('-inf')).softmax(-1)", "weights = jax.nn.softmax(jnp.where(mask, scores, -jnp.inf), -1)", "scores = np.where(mask, scores, -np.inf)  # before the softmax"}, mask_after_softmax},
    Mistake{"mask_added_as_01", "Mask added as 0 and 1", "when a mask of 0 and 1 is added to the scores", "a mask that hides some keys",
            {"scores = scores.masked_fill(~mask.bool(), float('-inf'))", "scores = jnp.where(mask.astype(bool), scores, -jnp.inf)", "scores = np.where(mask.astype(bool), scores, -np.inf)"}, mask_added_as_01},
    Mistake{"mask_multiplied", "Scores multiplied by the mask", "when hidden scores are multiplied by 0, so that they still weigh exp(0)", "a mask that hides some keys",
            {"scores = scores.masked_fill(~mask.bool(), float('-inf'))", "scores = jnp.where(mask.astype(bool), scores, -jnp.inf)", "scores = np.where(mask.astype(bool), scores, -np.inf)"}, mask_multiplied},
    Mistake{"mask_value_finite", "Masked with a finite number", "when hidden scores get a finite number instead of −inf", "a query that may see no key, or large scores",
            {"scores = scores.masked_fill(~mask, float('-inf'))", "scores = jnp.where(mask, scores, -jnp.inf)", "scores = np.where(mask, scores, -np.inf)"}, mask_value_finite},
    Mistake{"bias_left_out", "Bias left out", "when the bias is left out", "a bias",
            {"scores = scores + bias  # and Linear(..., bias=True)", "scores = scores + bias", "scores = scores + bias"}, bias_left_out},
    Mistake{"softcap_after_mask", "Soft cap after the mask", "when the soft cap is applied after the mask or the bias", "a soft cap with a mask",
            {"scores = cap * torch.tanh(scores / cap); scores = scores.masked_fill(~mask, float('-inf'))", "scores = jnp.where(mask, cap * jnp.tanh(scores / cap), -jnp.inf)", "scores = np.where(mask, cap * np.tanh(scores / cap), -np.inf)"}, softcap_after_mask},
    Mistake{"softcap_missing", "Soft cap left out", "when the soft cap is left out", "a soft cap, and scores near it",
            {"scores = cap * torch.tanh(scores / cap)", "scores = cap * jnp.tanh(scores / cap)", "scores = cap * np.tanh(scores / cap)"}, softcap_missing},
    Mistake{"window_off_by_one", "Window off by one", "when the window is off by one", "more tokens than the window",
            {"mask &= (i - j) < window  # the query itself and window - 1 keys before", "mask &= (i - j) < window  # the query itself and window - 1 keys before", "mask &= (i - j) < window  # the query itself and window - 1 keys before"}, window_off_by_one},
    Mistake{"window_missing", "Window left out", "when the window is left out", "more tokens than the window",
            {"mask &= (i - j) < window", "mask &= (i - j) < window", "mask &= (i - j) < window"}, window_missing},
    Mistake{"qkv_order_swapped", "Q, K and V in another order", "when q, k and v are read in another order", "q, k and v that differ",
            {"q, k, v = qkv.view(B, N, 3, H, D).permute(2, 0, 3, 1, 4)", "q, k, v = qkv.reshape(B, N, 3, H, D).transpose(2, 0, 3, 1, 4)", "q, k, v = qkv.reshape(B, N, 3, H, D).transpose(2, 0, 3, 1, 4)"}, qkv_order_swapped},
    Mistake{"batch_and_sequence_swapped", "Batch and sequence swapped", "when batch and sequence are swapped, so that tokens attend across the batch", "a batch of at least two",
            {"nn.MultiheadAttention(d_model, heads, batch_first=True)", "x = x.transpose(1, 0, 2)  # [N, B, D] to [B, N, D]", "x = x.transpose(1, 0, 2)  # [N, B, D] to [B, N, D]"}, batch_and_sequence_swapped},
    Mistake{"weights_averaged_over_heads", "Weights averaged over the heads", "when weights are averaged over the heads", "more than one head",
            {"mha(q, k, v, average_attn_weights=False)", "weights = weights  # [B, H, n_q, n_k], without .mean(1)", "weights = weights  # [B, H, n_q, n_k], without .mean(1)"}, weights_averaged_over_heads},
    Mistake{"base_2_exponential", "Base-2 exponential without log₂ e", "when exp2 is used without multiplying the scores by log2(e)", "more than one key, and scores that do not saturate the softmax",
            {"p = torch.exp2(scores * math.log2(math.e))", "p = jnp.exp2(scores * jnp.log2(jnp.e))", "p = np.exp2(scores * np.log2(np.e))"}, base_2_exponential},
    Mistake{"tile_remainder_ignored", "Remainder of the tiles ignored", "when the keys behind the last whole tile are left out, or filled up with zeros", "a number of keys that no tile divides",
            {"for start in range(0, n_k, tile): stop = min(start + tile, n_k)", "stop = jnp.minimum(start + tile, n_k); scores = jnp.where(j < n_k, scores, -jnp.inf)", "for start in range(0, n_k, tile): stop = min(start + tile, n_k)"}, tile_remainder_ignored},
    Mistake{"causal_added", "Causal mask nobody asked for", "when a causal mask is applied that the case does not ask for", "more than one key",
            {"F.scaled_dot_product_attention(q, k, v, is_causal=False)", "jax.nn.dot_product_attention(q, k, v, is_causal=False)", "scores = q @ k.swapaxes(-2, -1) * scale  # no mask"}, causal_added},
};
// clang-format on

}  // namespace

std::span<const Mistake> mistakes() { return all_mistakes; }

const Mistake* find_mistake(std::string_view key) {
    const auto list = mistakes();
    const auto found = std::ranges::find(list, key, &Mistake::key);
    return found == list.end() ? nullptr : &*found;
}

}  // namespace attn
