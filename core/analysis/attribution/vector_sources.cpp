#include "analysis/attribution/vector_sources.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "analysis/attribution/frozen_norm.hpp"
#include "analysis/linalg/vectors.hpp"
#include "model/block.hpp"
#include "model/head_projection.hpp"

namespace attn {

namespace {

// The place of the stream that an attention reads.
StreamPlace place_before(const Trace& trace, Index number) {
    StreamPlace before{};
    for (const StreamPlace& place : stream_places(trace)) {
        const bool attends =
            place.after == StreamPlace::After::attention || place.after == StreamPlace::After::cross;
        if (attends && attention_of(trace.network(), place) == number) break;
        before = place;
    }
    return before;
}

// What a projection reads: keys and values of a cross-attention read what the encoder's last norm gives.
struct Input {
    const Trace& trace;
    StreamPlace place;
    const std::optional<Norm>& norm;
    std::span<const float> stream;  // before the norm
};
Input input_of(const LayerAttention& at, Stage side, Index number, Index token) {
    if (side != Stage::q && &at.keys != &at.queries)
        return {at.keys, stream_places(at.keys).back(), at.keys.network().final_norm,
                row_of(at.keys.final_residual(), token)};
    return {at.queries, place_before(at.queries, number), at.half.attention_norm,
            row_of(at.run.resid_pre, token)};
}

void hold(std::vector<Source>& sources, const Norm& norm, const FrozenNorm& held, SourcePart bias,
          bool with_biases) {
    for (Source& each : sources) each.written = held.linear(each.written);
    if (const auto added = norm.bias.values(); with_biases && !added.empty())
        sources.push_back({bias, 0, 0, -1, {added.begin(), added.end()}});
}

Tensor stacked(std::span<const Source> sources) {
    Tensor rows({std::ssize(sources), sources.empty() ? 0 : std::ssize(sources.front().written)});
    for (std::size_t i = 0; i < sources.size(); ++i)
        std::ranges::transform(sources[i].written, rows.matrix().row(static_cast<Index>(i)),
                               [](double each) { return static_cast<float>(each); });
    return rows;
}
void unstack(const Tensor& rows, std::span<Source> sources) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const auto row = row_of(rows, static_cast<Index>(i));
        sources[i].written.assign(row.begin(), row.end());
    }
}

// Multiplies every source by the head's matrix, without its bias, which becomes a source of its own. A norm
// that takes all heads together needs those of all of them: [together · d_k].
void project(std::vector<Source>& sources, const Trace& trace, Stage side, Index number, Index head,
             Index together, bool with_biases) {
    const Model& model = *trace.model();
    const Index width = model.config().head_dim, group = model.config().heads / model.config().kv_heads;
    const Tensor read = stacked(sources);
    Tensor given({read.dim(0), together * width});
    std::vector<double> biases;
    for (Index i = 0; i < together; ++i) {
        const Index of = together == 1 ? head : side == Stage::q ? i : i * group;
        const HeadProjection all = head_projection(model, number, of);
        LinearView linear = (side == Stage::q ? all.q : side == Stage::k ? all.k : all.v).view();
        biases.insert(biases.end(), linear.bias.begin(), linear.bias.end());
        linear.bias = {};
        apply(trace.kernels(), linear, read.matrix(), columns(given.matrix(), i * width, width));
    }
    unstack(given, sources);
    if (with_biases && !biases.empty())
        sources.push_back({SourcePart::projection_bias, 0, 0, -1, std::move(biases)});
}

void rotate(std::vector<double>& x, const Rotary& rotary, Index tokens, Index position) {
    const std::vector<double> before = x;
    for (std::size_t c = 0; c < x.size(); ++c) {
        const RotaryPair pair = pair_of(&rotary, static_cast<Index>(c));
        if (pair.partner < 0) continue;
        const double angle =
            static_cast<double>(position) * rotary.of_text(tokens)[static_cast<std::size_t>(pair.pair)];
        const double sine = pair.first ? -std::sin(angle) : std::sin(angle);
        x[c] = rotary.magnitude *
               (before[c] * std::cos(angle) + before[static_cast<std::size_t>(pair.partner)] * sine);
    }
}

// Where a row of q, k or v comes from, and what makes it.
struct Row {
    const Trace& trace;
    Stage side;
    Index attention, head, token;
    LayerAttention at = trace.attention(attention);

    const Record& record() const { return at.record(); }
    Index own_head() const { return side == Stage::q ? head : record().kv_head(head); }
    const std::optional<Norm>* norm() const {
        return side == Stage::q ? &at.half.q_norm : side == Stage::k ? &at.half.k_norm : nullptr;
    }
    Index together() const {  // heads that a norm takes
        return norm() && *norm() ? (*norm())->gain.size() / record().d_k() : 1;
    }
    std::span<const float> there() const {
        const Tensor& all = side == Stage::q ? record().q() : side == Stage::k ? record().k() : record().v();
        return {all.heads().head(own_head()).row(token), static_cast<std::size_t>(all.dim(2))};
    }
    bool is_touched() const {
        const Site site = side == Stage::q ? Site::q : side == Stage::k ? Site::k : Site::v;
        return std::ranges::any_of(trace.interventions(), [&](const Intervention& each) {
            return is_at(each, trace.network(), attention, site) && each.edit.touches(own_head(), token);
        });
    }
    // The statistics of a norm of q or k are those of all sources together.
    void project_and_turn(std::vector<Source>& sources, std::span<const double> statistics,
                          bool with_biases) const {
        project(sources, trace, side, attention, head, together(), with_biases);
        if (norm() && *norm()) {
            const Norm& each = **norm();
            hold(sources, each,
                 statistics.empty() ? FrozenNorm(each, total_of(sources)) : FrozenNorm(each, statistics),
                 SourcePart::vector_norm, with_biases);
        }
        const auto first = own_head() * record().d_k();
        if (together() > 1)
            for (Source& each : sources)
                each.written = {each.written.begin() + first, each.written.begin() + first + record().d_k()};
        const Rotary* rotary = side == Stage::v ? nullptr : trace.network().rotary_of(attention);
        if (!rotary) return;
        for (Source& each : sources)
            rotate(each.written, *rotary, (side == Stage::q ? at.queries : at.keys).tokens(), token);
    }
};

}  // namespace

std::vector<Source> vector_sources(const Trace& trace, Stage side, Index attention, Index head, Index token,
                                   std::span<const OpenedHead> path, WrittenRows* heads) {
    const Row row{trace, side, attention, head, token};
    const Input input = input_of(row.at, side, attention, token);
    std::vector<Source> all = residual_sources(input.trace, input.place, token, heads), sources = all;
    if (!path.empty()) sources = opened_sources(input.trace, input.place, token, path);
    if (sources.empty()) return sources;
    if (input.norm)
        hold(sources, *input.norm, FrozenNorm(*input.norm, input.stream), SourcePart::input_norm,
             path.empty());
    std::vector<double> statistics;
    if (!path.empty() && row.norm() && *row.norm()) {
        if (input.norm)
            hold(all, *input.norm, FrozenNorm(*input.norm, input.stream), SourcePart::input_norm, true);
        project(all, trace, side, attention, head, row.together(), true);
        statistics = total_of(all);
    }
    row.project_and_turn(sources, statistics, path.empty());
    if (!path.empty() || !row.is_touched()) return sources;
    const auto there = row.there();
    std::vector<double> rest(there.begin(), there.end());
    std::ranges::transform(rest, total_of(sources), rest.begin(), std::minus());
    sources.push_back({SourcePart::vector_change, 0, 0, -1, std::move(rest)});
    return sources;
}

std::vector<Source> opened_sources(const Trace& trace, const StreamPlace& place, Index row,
                                   std::span<const OpenedHead> path) {
    const auto& [number, head, token] = path.front();
    const Record& record = trace.attention(number).record();
    const std::vector<float> weights = record.weights(head, row);
    std::vector<Source> parts;
    if (token) {
        parts = vector_sources(trace, Stage::v, number, head, *token, path.subspan(1));
        const auto weight = static_cast<double>(weights[static_cast<std::size_t>(*token)]);
        for (Source& each : parts)
            for (double& value : each.written) value *= weight;
    } else {
        const ConstMatrix v = record.v().heads().head(record.kv_head(head));
        for (Index key = 0; key < std::ssize(weights); ++key) {
            const auto weight = static_cast<double>(weights[static_cast<std::size_t>(key)]);
            if (weight == 0) continue;
            Source part{SourcePart::head, number, head, key, {v.row(key), v.row(key) + v.cols}};
            for (double& value : part.written) value *= weight;
            parts.push_back(std::move(part));
        }
    }
    unstack(trace.head_contribution(number, head, stacked(parts).matrix()), parts);
    const bool is_touched = std::ranges::any_of(trace.interventions(), [&](const Intervention& each) {
        return is_at(each, trace.network(), number, Site::head_output) && each.edit.touches(head, row);
    });
    if (is_touched) {
        const Tensor given = trace.head_contribution(number, head, Range{row, row + 1});
        if (std::ranges::all_of(given.values(), [](float each) { return each == 0; })) return {};
        std::vector<double> rest(given.values().begin(), given.values().end());
        std::ranges::transform(rest, total_of(parts), rest.begin(), std::minus());
        if (!token) parts.push_back({SourcePart::change, number, 0, -1, std::move(rest)});
    }
    return arriving_parts(trace, place, row, number, head, std::move(parts));
}

bool is_read_by_keys_of(const Trace& trace, Index reader, Index writer) {
    const Trace& run = trace.attention(reader).keys;
    for (const StreamPlace& place : stream_places(run)) {
        if (place.after != StreamPlace::After::attention && place.after != StreamPlace::After::cross)
            continue;
        const Index number = attention_of(run.network(), place);
        if (number == reader) return false;
        if (number == writer) return true;
    }
    return false;
}

std::vector<double> vector_without(const Trace& trace, Stage side, Index attention, Index head, Index token,
                                   const Source& without) {
    const Row row{trace, side, attention, head, token};
    const Input input = input_of(row.at, side, attention, token);
    std::vector<double> stream = stream_without(input.trace, input.place, token, without);
    if (input.norm) {
        const FrozenNorm live(*input.norm, stream);
        stream = without.is_bias() ? live.linear(stream) : live.of(stream);
    }
    std::vector<Source> one{{without.part, 0, 0, -1, std::move(stream)}};
    row.project_and_turn(one, {}, !without.is_bias());
    if (row.is_touched() && !without.is_change())
        one.push_back(vector_sources(trace, side, attention, head, token).back());
    return total_of(one);
}

}  // namespace attn
