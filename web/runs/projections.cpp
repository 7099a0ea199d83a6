#include "runs/projections.hpp"

#include <algorithm>
#include <utility>

#include "model/explain.hpp"
#include "model/head_projection.hpp"

namespace attn::app {

namespace {

// Covers all tokens, with the components of X in view.
HeadNorm head_norm(const Trace& trace, Stage stage, HeadIndex head, const Norm& norm, Range components) {
    const Model& model = *trace.model();
    const ModelConfig& config = model.config();
    const bool of_query = stage == Stage::q;
    const Index heads = of_query ? config.heads : config.kv_heads, d = config.head_dim,
                own = head.head * heads / config.heads;
    const LayerAttention at = trace.attention(head.layer);
    const Index n = (of_query ? at.queries : at.keys).tokens();
    const Tensor all = projected_rows(trace, stage, head.layer, own, {0, n});
    const bool alone = all.dim(1) == d;
    const Index first = alone ? 0 : own * d;
    HeadNorm made{
        .gain = {}, .before = Matrix(n, d), .squares = {}, .together = static_cast<double>(all.dim(1))};
    for (Index a = 0; a < d; ++a)
        made.gain.push_back(static_cast<double>(norm.gain.values()[static_cast<std::size_t>(first + a)]));
    for (Index t = 0; t < n; ++t) {
        double sum = 0;
        for (Index a = 0; a < all.dim(1); ++a) {
            const auto u = static_cast<double>(all.matrix()(t, a));
            sum += u * u;
        }
        made.squares.push_back(sum / made.together + norm.epsilon);
        for (Index a = 0; a < d; ++a) made.before.at(t, a) = static_cast<double>(all.matrix()(t, first + a));
    }
    if (alone) return made;
    made.others = Matrix(n, components.size());
    made.other_squares.resize(static_cast<std::size_t>(components.size()));
    for (Index a = 0; a < all.dim(1); ++a) {
        if (a >= first && a < first + d) continue;
        const QkvColumn column = qkv_column(model, stage, head.layer, a / d, a % d);
        for (Index c = 0; c < components.size(); ++c) {
            const double w = element(column.linear->weight, components.begin + c, column.out);
            made.other_squares[static_cast<std::size_t>(c)] += w * w;
            for (Index t = 0; t < n; ++t) made.others.at(t, c) += static_cast<double>(all.matrix()(t, a)) * w;
        }
    }
    return made;
}

}  // namespace

Projections projections_of(const Trace& trace, HeadIndex head, Index query, Index first, Index count) {
    const Model& model = *trace.model();
    const LayerAttention attention = trace.attention(head.layer);
    const ModelConfig& config = model.config();
    const ConstMatrix input = attention.run.attention_input.matrix(), keys = attention.key_input.matrix();
    const bool crosses = attention.place.kind == AttentionKind::cross;
    count = std::min(count, input.cols);
    first = std::clamp(first, Index{0}, input.cols - count);
    Projections made{.x = Matrix(keys.rows + crosses, count),
                     .w_q = Matrix(count, config.head_dim),
                     .w_k = Matrix(count, config.head_dim),
                     .w_v = Matrix(count, config.head_dim),
                     .first = first,
                     .of_x = Stage::attention_input,
                     .crosses = crosses};
    if (const Rotary* rotary = model.network().rotary_of(head.layer)) made.rotary = *rotary;
    const Range shown{first, first + count};
    if (const auto& norm = attention.half.q_norm)
        made.q_norm = head_norm(trace, Stage::q, head, *norm, shown);
    if (const auto& norm = attention.half.k_norm)
        made.k_norm = head_norm(trace, Stage::k, head, *norm, shown);
    for (Index token = 0; token < keys.rows; ++token)
        for (Index c = 0; c < count; ++c) made.x.at(token, c) = static_cast<double>(keys(token, first + c));
    for (Index c = 0; crosses && c < count; ++c)
        made.x.at(keys.rows, c) = static_cast<double>(input(query, first + c));
    const auto fill = [&](Matrix& to, Stage stage, Index heads) {
        for (Index a = 0; a < config.head_dim; ++a) {
            const QkvColumn column =
                qkv_column(model, stage, head.layer, head.head * heads / config.heads, a);
            for (Index c = 0; c < count; ++c)
                to.at(c, a) = element(column.linear->weight, first + c, column.out);
        }
    };
    fill(made.w_q, Stage::q, config.heads);
    fill(made.w_k, Stage::k, config.kv_heads);
    fill(made.w_v, Stage::v, config.kv_heads);
    for (const auto& [site, stage] :
         {std::pair(Site::q, Stage::q), std::pair(Site::k, Stage::k), std::pair(Site::v, Stage::v)})
        for (const Intervention& each : trace.interventions())
            if (is_at(each, model.network(), head.layer, site)) made.changes.push_back({stage, each.edit});
    return made;
}

}  // namespace attn::app
