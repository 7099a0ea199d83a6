#include "analysis/attribution/score_sources.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
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

std::vector<double> row_scores_with(const Record& record, Index head, Index query, Index key, Stage side,
                                    std::span<const double> vector) {
    const RowChain chain = row_chain(record, head, query);
    const Tensor& other = side == Stage::q ? record.k() : record.q();
    const ConstMatrix rows = other.heads().head(side == Stage::q ? record.kv_head(head) : head);
    const double cap = record.spec().softcap;
    std::vector<double> scores(static_cast<std::size_t>(record.keys()), -HUGE_VAL);
    for (Index j = 0; j < record.keys(); ++j) {
        const CellExplanation cell = chain.at(j);
        if (!cell.allowed) continue;
        double& score = scores[static_cast<std::size_t>(j)];
        score = cell.masked;
        if (side == Stage::k && j != key) continue;
        const std::span<const float> row{rows.row(side == Stage::q ? j : query),
                                         static_cast<std::size_t>(rows.cols)};
        const double scaled = record.scale() * dot(vector, row);
        score = (cap > 0 ? cap * std::tanh(scaled / cap) : scaled) + cell.bias;
    }
    return scores;
}

RowTerms row_terms(std::span<const double> q, std::span<const std::vector<Source>> keys) {
    const std::vector<double> query(q.begin(), q.end());
    RowTerms row{.scores = std::vector<double>(keys.size())};
    for (std::size_t key = 0; key < keys.size(); ++key)
        for (const Source& source : keys[key]) {
            auto found =
                std::ranges::find_if(row.sources, [&](const Source& each) { return each.is(source); });
            if (found == row.sources.end()) {
                row.sources.push_back({source.part, source.number, source.head, source.token, {}});
                row.adds.emplace_back(keys.size());
                found = std::prev(row.sources.end());
            }
            const double added = dot(query, source.written);
            row.adds[static_cast<std::size_t>(found - row.sources.begin())][key] += added;
            row.scores[key] += added;
        }
    return row;
}

std::vector<double> centred(std::vector<double> values) {
    const double mean =
        std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
    for (double& each : values) each -= mean;
    return values;
}

double covariation(const std::vector<double>& a, const std::vector<double>& b) {
    return dot(centred(a), centred(b));
}

std::vector<DecidingSource> deciding_sources(const RowTerms& row) {
    const double variance = covariation(row.scores, row.scores);
    std::vector<DecidingSource> deciding;
    if (!std::isfinite(variance) || variance == 0) return deciding;
    for (std::size_t i = 0; i < row.sources.size(); ++i)
        deciding.push_back({row.sources[i], covariation(row.adds[i], row.scores) / variance});
    std::ranges::sort(deciding, std::greater(), &DecidingSource::share);
    return deciding;
}

}  // namespace attn
