// The blocks of a run in double precision.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "model/block.hpp"
#include "model/double_run.hpp"

namespace attn {

// A gain of 1 + w was rounded to f32 when the model was opened.
std::vector<double> DoubleRun::gain_of(const Norm& norm) const {
    std::vector<double> gain;
    for (const float each : norm.gain.values()) gain.push_back(static_cast<double>(each));
    if (const Weight* weight = norm.adds_one ? model_.weight(norm.name + ".weight") : nullptr) {
        const Tensor stored = to_tensor(*weight);
        for (std::size_t i = 0; i < gain.size(); ++i) gain[i] = 1 + static_cast<double>(stored.values()[i]);
    }
    return gain;
}

void DoubleRun::plan_linear(const LinearView& linear, const DoubleRows& x, DoubleRows& y, Index first) {
    const WeightView& w = linear.weight;
    const bool by_output = w.layout == WeightView::Layout::out_in;
    plan(by_output ? w.out : w.in,
         2 * static_cast<double>((by_output ? w.in : w.out) * std::max<Index>(x.rows, 1)),
         [linear, &x, &y, first, by_output](Range units) {
             std::vector<double> row;
             const Index outputs = linear.weight.out;
             for (Index unit = units.begin; unit < units.end; ++unit) {
                 read_row(linear.weight, unit, row);
                 for (Index t = 0; t < x.rows; ++t) {
                     double* to = y.row(t) + first;
                     if (by_output) {
                         to[unit] = bias_at(linear, unit) + dot(x.row(t), row.data(), x.cols);
                         continue;
                     }
                     if (unit == 0)
                         for (Index out = 0; out < outputs; ++out) to[out] = bias_at(linear, out);
                     const double by = x.row(t)[unit];
                     for (Index out = 0; out < outputs; ++out)
                         to[out] += by * row[static_cast<std::size_t>(out)];
                 }
             }
         });
}

// In groups of as many columns as the norm has gains; null: x as it is.
void DoubleRun::plan_norm(const Norm* norm, const DoubleRows& x, DoubleRows& y) {
    plan(x.rows, static_cast<double>(8 * x.cols), [this, norm, &x, &y](Range tokens) {
        const std::vector<double> gain = norm ? gain_of(*norm) : std::vector<double>{};
        for (Index t = tokens.begin; t < tokens.end; ++t) {
            if (!norm) std::copy_n(x.row(t), x.cols, y.row(t));
            for (Index first = 0; norm && first < x.cols; first += std::ssize(gain))
                normalise_row(*norm, gain, x.row(t) + first, y.row(t) + first);
        }
    });
}

void DoubleRun::plan_activation(DoubleRows& rows) {
    plan(rows.rows, static_cast<double>(40 * rows.cols), [this, &rows](Range tokens) {
        for (Index t = tokens.begin; t < tokens.end; ++t)
            for (Index i = 0; i < rows.cols; ++i)
                rows.row(t)[i] = activated(model_.config().activation, rows.row(t)[i]);
    });
}

void DoubleRun::plan_left(const SublayerNorms& norms, const DoubleRows& residual, const DoubleRows& output,
                          DoubleRows& between, DoubleRows& left) {
    const auto plan_sum = [&](const DoubleRows& a, const DoubleRows& b, DoubleRows& sum) {
        plan(sum.rows, static_cast<double>(sum.cols), [&a, &b, &sum](Range tokens) {
            for (Index t = tokens.begin; t < tokens.end; ++t)
                for (Index i = 0; i < sum.cols; ++i) sum.row(t)[i] = a.row(t)[i] + b.row(t)[i];
        });
    };
    if (norms.post_residual_norm || norms.post_sublayer_norm)
        between = DoubleRows(residual.rows, residual.cols);
    if (norms.post_residual_norm) {
        plan_sum(residual, output, between);
        return plan_norm(&*norms.post_residual_norm, between, left);
    }
    if (norms.post_sublayer_norm) plan_norm(&*norms.post_sublayer_norm, output, between);
    plan_sum(residual, norms.post_sublayer_norm ? between : output, left);
}

void DoubleRun::plan_rope(const Rotary& rotary, DoubleRows& rows, Index heads, Index tokens) {
    plan(rows.rows, static_cast<double>(60 * rotary.pairs() + 6 * rows.cols),
         [&rotary, &rows, heads, tokens](Range positions) {
             const std::vector<double>& frequencies = rotary.of_text(tokens);
             const Index pairs = rotary.pairs(), width = rows.cols / heads;
             for (Index t = positions.begin; t < positions.end; ++t)
                 for (Index pair = 0; pair < pairs; ++pair) {
                     const double angle =
                                      static_cast<double>(t) * frequencies[static_cast<std::size_t>(pair)],
                                  cosine = rotary.magnitude * std::cos(angle),
                                  sine = rotary.magnitude * std::sin(angle);
                     const Index a = rotary.interleaved ? 2 * pair : pair,
                                 b = rotary.interleaved ? 2 * pair + 1 : pair + pairs;
                     for (Index head = 0; head < heads; ++head) {
                         double* x = rows.row(t) + head * width;
                         const double first = x[a], second = x[b];
                         x[a] = first * cosine - second * sine;
                         x[b] = second * cosine + first * sine;
                     }
                 }
         });
}

void DoubleRun::plan_changes(const Stack& stack, Index attention, Site site, DoubleRows& rows, Index heads) {
    for (const Intervention& each : stack.run->interventions()) {
        if (!is_at(each, model_.network(), attention, site)) continue;
        plan(rows.rows, static_cast<double>(10 * rows.cols), [&edit = each.edit, &rows, heads](Range tokens) {
            const Index width = rows.cols / heads;
            for (Index t = tokens.begin; t < tokens.end; ++t)
                for (Index column = 0; column < rows.cols; ++column) {
                    double& x = rows.row(t)[column];
                    x = changed(edit, x, column / width, t, column % width).value_or(x);
                }
        });
    }
}

// ---- The halves of a block --------------------------------------------------------------------------------

RowChain DoubleRun::chain(Index attention, const Half& half, Index head, Index query) const {
    const Record& record = run_->attention(attention).record();
    const AttentionSpec& spec = record.spec();
    const Index width = record.d_k();
    const double* q = half.q.row(query) + head * width;
    ScoreRow row;
    row.scale = record.scale();
    row.softcap = spec.softcap;
    row.edits = spec.edits;
    row.head = head;
    row.query = query;
    row.allowed.resize(static_cast<std::size_t>(record.keys()));
    spec.mask.row(head, query, 0, row.allowed);
    for (Index key = 0; key < record.keys(); ++key) {
        row.raw.push_back(dot(q, half.k.row(key) + record.kv_head(head) * width, width));
        if (!spec.bias.empty()) row.bias.push_back(static_cast<double>(spec.bias.at(head, query, key)));
    }
    return RowChain(std::move(row));
}

void DoubleRun::plan_half(Stack& stack, Index attention, Half& half, DoubleRows& left) {
    const LayerAttention at = run_->attention(attention);
    const ModelConfig& config = model_.config();
    const bool cross = at.place.kind == AttentionKind::cross;
    const Index n = stack.run->tokens(), keys = cross ? encoder_.run->tokens() : n, d = config.d_model;
    const Index width = config.head_dim, q_width = config.heads * width, kv_width = config.kv_heads * width;
    half.input = DoubleRows(n, d);
    half.q = DoubleRows(n, q_width);
    half.k = DoubleRows(keys, kv_width);
    half.v = DoubleRows(keys, kv_width);
    half.output = DoubleRows(n, q_width);
    half.attended = DoubleRows(n, d);
    plan_norm(at.half.attention_norm ? &*at.half.attention_norm : nullptr, half.resid_pre, half.input);
    // Its matrices give Q, K and V side by side, cut at any output.
    const DoubleRows& encoded = cross ? encoder_.final_norm : half.input;
    if (cross) {
        plan_linear(at.half.qkv[0], half.input, half.q);
        plan_linear(at.half.qkv[1], encoded, half.k);
        plan_linear(at.half.qkv[2], encoded, half.v);
    } else {
        auto all = std::make_shared<DoubleRows>(n, q_width + 2 * kv_width);
        Index column = 0;
        for (const Linear& linear : at.half.qkv) {
            plan_linear(linear, half.input, *all, column);
            column += linear.weight.out;
        }
        plan(n, static_cast<double>(all->cols), [all, &half](Range tokens) {
            for (Index t = tokens.begin; t < tokens.end; ++t) {
                const double* from = all->row(t);
                for (DoubleRows* to : {&half.q, &half.k, &half.v}) {
                    std::copy_n(from, to->cols, to->row(t));
                    from += to->cols;
                }
            }
        });
        if (at.half.q_norm) plan_norm(&*at.half.q_norm, half.q, half.q);
        if (at.half.k_norm) plan_norm(&*at.half.k_norm, half.k, half.k);
        if (const Rotary* rotary =
                stack.run->network().rotary_of(stack.run == run_.get() ? attention : at.place.layer)) {
            plan_rope(*rotary, half.q, config.heads, n);
            plan_rope(*rotary, half.k, config.kv_heads, n);
        }
    }
    plan_changes(stack, attention, Site::q, half.q, config.heads);
    plan_changes(stack, attention, Site::k, half.k, config.kv_heads);
    plan_changes(stack, attention, Site::v, half.v, config.kv_heads);
    plan(n, static_cast<double>(4 * q_width * keys + 20 * config.heads * keys),
         [this, attention, &half, width](Range queries) {
             const Record& record = run_->attention(attention).record();
             for (Index query = queries.begin; query < queries.end; ++query)
                 for (Index head = 0; head < record.heads(); ++head) {
                     const RowChain row = chain(attention, half, head, query);
                     double* to = half.output.row(query) + head * width;
                     std::fill_n(to, width, 0.0);
                     for (Index key = 0; key < record.keys(); ++key) {
                         const double weight = row.at(key).weight;
                         const double* v = half.v.row(key) + record.kv_head(head) * width;
                         for (Index i = 0; i < width; ++i) to[i] += weight * v[i];
                     }
                 }
         });
    plan_changes(stack, attention, Site::head_output, half.output, config.heads);
    plan_linear(at.half.attention_out, half.output, half.attended);
    plan_changes(stack, attention, Site::attention_output, half.attended);
    plan_left(after_attention(at.half), half.resid_pre, half.attended, half.between, left);
}

void DoubleRun::plan_experts(Stack& stack, Index l) {
    const Block& block = stack.run->network().blocks[static_cast<std::size_t>(l)];
    const LayerTrace& taken = stack.run->layers()[static_cast<std::size_t>(l)];
    Layer& layer = stack.layers[static_cast<std::size_t>(l)];
    const Experts& experts = *block.experts;
    const Index n = stack.run->tokens(), d = model_.config().d_model, d_ff = model_.config().d_ff;
    layer.hidden = DoubleRows(n, experts.per_token * d_ff);
    layer.expert_weights = DoubleRows(n, experts.per_token);
    // A token takes the experts that it took in the run.
    plan(n, static_cast<double>(6 * experts.per_token * d * d_ff),
         [this, &taken, &layer, &experts, d, d_ff](Range tokens) {
             std::vector<double> scores(experts.all.size()), up(static_cast<std::size_t>(d_ff)),
                 made(static_cast<std::size_t>(d));
             for (Index t = tokens.begin; t < tokens.end; ++t) {
                 const double* x = layer.mlp_input.row(t);
                 const auto expert = [&](Index slot) {
                     return static_cast<std::size_t>(taken.chosen_experts.matrix()(t, slot));
                 };
                 multiply(experts.router, x, scores.data());
                 double most = scores[expert(0)], sum = 0;
                 for (Index slot = 1; slot < experts.per_token; ++slot)
                     most = std::max(most, scores[expert(slot)]);
                 for (Index slot = 0; slot < experts.per_token; ++slot)
                     sum += layer.expert_weights.row(t)[slot] = std::exp(scores[expert(slot)] - most);
                 std::fill_n(layer.mlp_output.row(t), d, 0.0);
                 for (Index slot = 0; slot < experts.per_token; ++slot) {
                     layer.expert_weights.row(t)[slot] /= sum;
                     const Mlp& mlp = experts.all[expert(slot)];
                     double* hidden = layer.hidden.row(t) + slot * d_ff;
                     multiply(*mlp.gate, x, hidden);
                     multiply(mlp.up, x, up.data());
                     for (Index i = 0; i < d_ff; ++i)
                         hidden[i] = activated(model_.config().activation, hidden[i]) *
                                     up[static_cast<std::size_t>(i)];
                     multiply(mlp.down, hidden, made.data());
                     for (Index i = 0; i < d; ++i)
                         layer.mlp_output.row(t)[i] +=
                             layer.expert_weights.row(t)[slot] * made[static_cast<std::size_t>(i)];
                 }
             }
         });
}

void DoubleRun::plan_mlp(Stack& stack, Index l, Index attention, DoubleRows& left) {
    const Block& block = stack.run->network().blocks[static_cast<std::size_t>(l)];
    Layer& layer = stack.layers[static_cast<std::size_t>(l)];
    const Index n = stack.run->tokens(), d = model_.config().d_model;
    layer.mlp_input = DoubleRows(n, d);
    layer.mlp_output = DoubleRows(n, d);
    plan_norm(block.mlp_norm ? &*block.mlp_norm : nullptr, block.parallel ? layer.resid_pre : layer.middle,
              layer.mlp_input);
    if (block.experts) {
        plan_experts(stack, l);
    } else {
        const Index d_ff = block.mlp.up.weight.out;
        layer.hidden = DoubleRows(n, d_ff);
        if (block.mlp.gate) {
            layer.up = DoubleRows(n, d_ff);
            plan_linear(*block.mlp.gate, layer.mlp_input, layer.hidden);
            plan_linear(block.mlp.up, layer.mlp_input, layer.up);
        } else {
            plan_linear(block.mlp.up, layer.mlp_input, layer.hidden);
        }
        plan_activation(layer.hidden);
        if (block.mlp.gate)
            plan(n, static_cast<double>(d_ff), [&layer](Range tokens) {
                for (Index t = tokens.begin; t < tokens.end; ++t)
                    for (Index i = 0; i < layer.hidden.cols; ++i)
                        layer.hidden.row(t)[i] *= layer.up.row(t)[i];
            });
        plan_linear(block.mlp.down, layer.hidden, layer.mlp_output);
    }
    plan_changes(stack, attention, Site::mlp_output, layer.mlp_output);
    plan_left(after_mlp(block), layer.middle, layer.mlp_output, layer.mlp_between, left);
}

}  // namespace attn
