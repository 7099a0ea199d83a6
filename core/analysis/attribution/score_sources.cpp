#include "analysis/attribution/score_sources.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>

#include "analysis/attribution/frozen_norm.hpp"
#include "analysis/linalg/vectors.hpp"
#include "attention/explain.hpp"
#include "model/block.hpp"
#include "model/head_projection.hpp"

namespace attn {

namespace {

std::vector<double> total_of(const std::vector<Source>& sources) {
    std::vector<double> sum(sources.empty() ? 0 : sources.front().written.size());
    for (const Source& each : sources) std::ranges::transform(sum, each.written, sum.begin(), std::plus());
    return sum;
}

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

void hold(std::vector<Source>& sources, const Norm& norm, const FrozenNorm& held, SourcePart bias) {
    for (Source& each : sources) each.written = held.linear(each.written);
    if (const auto added = norm.bias.values(); !added.empty())
        sources.push_back({bias, 0, 0, {added.begin(), added.end()}});
}

// The sources of the rows that a projection reads, [d_model].
std::vector<Source> input_sources(const LayerAttention& at, Stage side, Index token, Index number) {
    const bool reads_encoder = side == Stage::k && &at.keys != &at.queries;
    const Trace& trace = reads_encoder ? at.keys : at.queries;
    const StreamPlace place = reads_encoder ? stream_places(trace).back() : place_before(trace, number);
    std::vector<Source> sources = residual_sources(trace, place, token);
    const std::optional<Norm>& norm = reads_encoder ? trace.network().final_norm : at.half.attention_norm;
    if (norm)
        hold(sources, *norm,
             FrozenNorm(*norm, row_of(reads_encoder ? trace.final_residual() : at.run.resid_pre, token)),
             SourcePart::input_norm);
    return sources;
}

// Multiplies every source by the head's matrix, without its bias, which becomes a source of its own. A norm
// that takes all heads together needs those of all of them: [together · d_k].
void project(std::vector<Source>& sources, const Trace& trace, Stage side, Index number, Index head,
             Index together) {
    const Model& model = *trace.model();
    const Index width = model.config().head_dim, group = model.config().heads / model.config().kv_heads;
    Tensor read({std::ssize(sources), std::ssize(sources.front().written)}),
        given({std::ssize(sources), together * width});
    for (std::size_t i = 0; i < sources.size(); ++i)
        std::ranges::transform(sources[i].written, read.matrix().row(static_cast<Index>(i)),
                               [](double each) { return static_cast<float>(each); });
    std::vector<double> biases;
    for (Index i = 0; i < together; ++i) {
        const Index of = together == 1 ? head : side == Stage::q ? i : i * group;
        const HeadProjection all = head_projection(model, number, of);
        LinearView linear = (side == Stage::q ? all.q : all.k).view();
        biases.insert(biases.end(), linear.bias.begin(), linear.bias.end());
        linear.bias = {};
        apply(trace.kernels(), linear, read.matrix(), columns(given.matrix(), i * width, width));
    }
    for (std::size_t i = 0; i < sources.size(); ++i) {
        const auto row = row_of(given, static_cast<Index>(i));
        sources[i].written.assign(row.begin(), row.end());
    }
    if (!biases.empty()) sources.push_back({SourcePart::projection_bias, 0, 0, std::move(biases)});
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

}  // namespace

std::vector<Source> vector_sources(const Trace& trace, Stage side, Index attention, Index head, Index token) {
    const LayerAttention at = trace.attention(attention);
    const Record& record = at.record();
    const Index width = record.d_k(), of_side = side == Stage::q ? head : record.kv_head(head);
    const std::optional<Norm>& norm = side == Stage::q ? at.half.q_norm : at.half.k_norm;
    const Index together = norm ? norm->gain.size() / width : 1;
    std::vector<Source> sources = input_sources(at, side, token, attention);
    project(sources, trace, side, attention, head, together);
    if (norm) hold(sources, *norm, FrozenNorm(*norm, total_of(sources)), SourcePart::vector_norm);
    if (together > 1)
        for (Source& each : sources)
            each.written = {each.written.begin() + of_side * width,
                            each.written.begin() + (of_side + 1) * width};
    if (const Rotary* rotary = trace.network().rotary_of(attention))
        for (Source& each : sources)
            rotate(each.written, *rotary, (side == Stage::q ? at.queries : at.keys).tokens(), token);
    const Site site = side == Stage::q ? Site::q : Site::k;
    const bool is_touched = std::ranges::any_of(trace.interventions(), [&](const Intervention& each) {
        return is_at(each, trace.network(), attention, site) && each.edit.touches(of_side, token);
    });
    if (!is_touched) return sources;
    const float* there = (side == Stage::q ? record.q() : record.k()).heads().head(of_side).row(token);
    std::vector<double> rest(there, there + width);
    std::ranges::transform(rest, total_of(sources), rest.begin(), std::minus());
    sources.push_back({SourcePart::vector_change, 0, 0, std::move(rest)});
    return sources;
}

Result<ScoreSources> score_sources(const Trace& trace, Index attention, Index head, Index query, Index key) {
    const auto refuse = [](const char* what, Index number, Index count) {
        return Error{std::string("There is no ") + what + " " + std::to_string(number) + " among " +
                     std::to_string(count) + "."};
    };
    if (!Range{0, trace.attentions()}.holds(attention))
        return refuse("attention", attention, trace.attentions());
    const LayerAttention at = trace.attention(attention);
    const Record& record = at.record();
    if (!Range{0, record.heads()}.holds(head)) return refuse("head", head, record.heads());
    if (!Range{0, record.queries()}.holds(query)) return refuse("query", query, record.queries());
    if (!Range{0, record.keys()}.holds(key)) return refuse("key", key, record.keys());
    const CellExplanation cell = explain(record, Stage::scaled, head, query, key);
    return ScoreSources{.query = vector_sources(trace, Stage::q, attention, head, query),
                        .key = vector_sources(trace, Stage::k, attention, head, key),
                        .scale = record.scale(),
                        .score = cell.scaled,
                        .position_bias = cell.bias};
}

double ScoreSources::term(std::size_t s, std::size_t t) const {
    return scale * dot(query[s].written, key[t].written);
}
double ScoreSources::query_total(std::size_t source) const {
    return scale * dot(query[source].written, total_of(key));
}
double ScoreSources::key_total(std::size_t source) const {
    return scale * dot(total_of(query), key[source].written);
}
double ScoreSources::sum() const { return scale * dot(total_of(query), total_of(key)); }

}  // namespace attn
