// Computes circuits of a small model as whole matrices, in double and by definition, for tests of code that
// uses small factors.
#pragma once

#include <cmath>

#include "model/explain.hpp"
#include "model/head_projection.hpp"
#include "support/small_families.hpp"

namespace attn::test {

using Whole = std::vector<std::vector<double>>;  // rows

inline Whole product(const Whole& a, const Whole& b) {
    Whole out(a.size(), std::vector<double>(b.front().size()));
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t k = 0; k < b.size(); ++k)
            for (std::size_t j = 0; j < b.front().size(); ++j) out[i][j] += a[i][k] * b[k][j];
    return out;
}
inline Whole transposed(const Whole& a) {
    Whole out(a.front().size(), std::vector<double>(a.size()));
    for (std::size_t i = 0; i < a.size(); ++i)
        for (std::size_t j = 0; j < a.front().size(); ++j) out[j][i] = a[i][j];
    return out;
}
inline double trace_of(const Whole& a) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i][i];
    return sum;
}
inline double norm_of(const Whole& a) {
    double sum = 0;
    for (const auto& row : a)
        for (const double each : row) sum += each * each;
    return std::sqrt(sum);
}

inline Whole whole(const WeightView& weight) {  // [in, out]
    Whole out(static_cast<std::size_t>(weight.in), std::vector<double>(static_cast<std::size_t>(weight.out)));
    for (std::size_t i = 0; i < out.size(); ++i)
        for (std::size_t o = 0; o < out[i].size(); ++o)
            out[i][o] = element(weight, static_cast<Index>(i), static_cast<Index>(o));
    return out;
}
inline void add_bias(Whole& rows, std::span<const float> bias) {
    for (auto& row : rows)
        for (std::size_t i = 0; i < bias.size(); ++i) row[i] += static_cast<double>(bias[i]);
}

// Normalises each row by its own statistics, or with a deviation of 1 and without the bias.
inline Whole under_norm(const Norm& norm, Whole rows, bool held = false) {
    for (auto& row : rows) {
        const auto n = static_cast<double>(row.size());
        double mean = 0, squares = 0;
        if (norm.kind == Norm::Kind::layer)
            for (const double each : row) mean += each / n;
        for (const double each : row) squares += (each - mean) * (each - mean) / n;
        const double by = held ? 1 : std::sqrt(squares + static_cast<double>(norm.epsilon));
        for (std::size_t i = 0; i < row.size(); ++i)
            row[i] = (row[i] - mean) / by * static_cast<double>(norm.gain.values()[i]) +
                     (held || norm.bias.size() == 0 ? 0 : static_cast<double>(norm.bias.values()[i]));
    }
    return rows;
}

// What an attention reads from the vocabulary, [tokens, d_model].
inline Whole read_tokens(const Network& network, Index layer) {
    Whole rows = transposed(whole(network.token_embedding));
    if (network.project_in) rows = product(rows, whole(network.project_in->weight));
    for (auto& row : rows)
        for (double& each : row) each *= network.embedding_scale;
    if (network.embedding_norm) rows = under_norm(*network.embedding_norm, rows);
    const Block& block = network.blocks[static_cast<std::size_t>(layer)];
    if (block.attention_norm) return under_norm(*block.attention_norm, rows);
    if (layer > 0 && network.blocks[static_cast<std::size_t>(layer - 1)].mlp_post_residual_norm)
        return under_norm(*network.blocks[static_cast<std::size_t>(layer - 1)].mlp_post_residual_norm, rows);
    return rows;
}

// The logits that rows of an attention's output lead to, [rows, tokens], with all norms held fixed.
inline Whole logits_from(const Network& network, Index layer, Whole rows) {
    const auto held = [&](const std::optional<Norm>& norm) {
        if (norm) rows = under_norm(*norm, rows, true);
    };
    held(network.blocks[static_cast<std::size_t>(layer)].attention_post_sublayer_norm);
    for (auto block = network.blocks.begin() + layer; block != network.blocks.end(); ++block) {
        held(block->attention_post_residual_norm);
        held(block->mlp_post_residual_norm);
    }
    held(network.final_norm);
    for (auto& row : rows)
        for (double& each : row) each *= network.head_scale;
    if (network.project_out) rows = product(rows, whole(network.project_out->weight));
    if (network.head_transform) {
        rows = product(rows, whole(network.head_transform->dense.weight));
        constexpr double h = 1e-5;  // the derivative's error is its square
        const double slope = (activated(network.head_transform->activation, h) -
                              activated(network.head_transform->activation, -h)) /
                             (2 * h);
        for (auto& row : rows)
            for (double& each : row) each *= slope;
        rows = under_norm(network.head_transform->norm, rows, true);
    }
    return product(rows, whole(network.head.weight));
}

// W_V and W_O of one head, [d_model, head_dim] and [head_dim, d_model].
inline Whole whole_w_v(const Model& model, HeadIndex head) {
    return whole(head_projection(model, head.layer, head.head).v.view().weight);
}
inline Whole whole_w_o(const Model& model, HeadIndex head) {
    const Whole all = whole(model.network().attention(head.layer).attention_out.weight);
    const Index width = model.config().head_dim;
    return {all.begin() + head.head * width, all.begin() + (head.head + 1) * width};
}

}  // namespace attn::test
