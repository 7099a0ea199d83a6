#include "analysis/attribution/score_sources.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "analysis/linalg/vectors.hpp"
#include "attention/explain.hpp"

namespace attn {

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

double score_without(const Trace& trace, Index attention, Index head, Index query, Index key, Stage side,
                     const Source& without) {
    const auto vector = [&](Stage of, Index token) {
        return side == of ? vector_without(trace, of, attention, head, token, without)
                          : total_of(vector_sources(trace, of, attention, head, token));
    };
    return trace.attention(attention).record().scale() * dot(vector(Stage::q, query), vector(Stage::k, key));
}

std::vector<DecidingSource> deciding_sources(std::span<const double> q,
                                             std::span<const std::vector<Source>> keys) {
    const std::vector<double> query(q.begin(), q.end());
    std::vector<DecidingSource> deciding;
    std::vector<std::vector<double>> adds;  // for each source, to the score of every key
    std::vector<double> scores(keys.size());
    for (std::size_t key = 0; key < keys.size(); ++key)
        for (const Source& source : keys[key]) {
            auto found = std::ranges::find_if(
                deciding, [&](const DecidingSource& each) { return each.source.is(source); });
            if (found == deciding.end()) {
                deciding.push_back({{source.part, source.number, source.head, source.token, {}}});
                adds.emplace_back(keys.size());
                found = std::prev(deciding.end());
            }
            const double added = dot(query, source.written);
            adds[static_cast<std::size_t>(found - deciding.begin())][key] += added;
            scores[key] += added;
        }
    const auto centre = [](std::vector<double>& values) {
        double mean = 0;
        for (const double each : values) mean += each / static_cast<double>(values.size());
        for (double& each : values) each -= mean;
    };
    centre(scores);
    const double variance = dot(scores, scores);
    if (variance == 0) return {};
    for (std::size_t i = 0; i < deciding.size(); ++i) {
        centre(adds[i]);
        deciding[i].share = dot(adds[i], scores) / variance;
    }
    std::ranges::sort(deciding, std::greater(), &DecidingSource::share);
    return deciding;
}

}  // namespace attn
