#include "subjects/reading.hpp"

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "maps/map.hpp"
#include "model/network.hpp"

namespace attn::app {

namespace {

constexpr std::size_t looks_told = 3;
// With at least the first share, a single key describes the row; below the second, a key is not worth naming.
constexpr double dominant = 0.5, notable = 0.05;

// Describes one side of the attention: in words if it has tokens, otherwise by positions.
struct Side {
    const UnitAxis& words;
    std::span<const std::string> tokens;  // empty: there are only positions
    const char* position;                 // "query", "key"

    Index count(Index positions) const { return tokens.empty() ? positions : words.count(); }
    Index of(Index token) const { return tokens.empty() ? token : words.unit_of(token); }
    std::string name(Index at) const {
        return tokens.empty() ? std::string(position) + " " + std::to_string(at)
                              : curly_quoted(words.name(at));
    }
    std::string token_name(Index token) const {
        if (tokens.empty() || words.of(of(token)).size() == 1) return name(of(token));
        return curly_quoted(tokens[static_cast<std::size_t>(token)]);
    }
};

Side queries_of(const Attention& attention, const MapChoice& choice = {}) {
    const UnitAxis* units = attention.query_axis(choice).units;
    return {units ? *units : attention.query_words(), attention.query_tokens(), "query"};
}
Side keys_of(const Attention& attention, const MapChoice& choice = {}) {
    const UnitAxis* units = attention.key_axis(choice).units;
    return {units ? *units : attention.key_words(), attention.key_tokens(), "key"};
}

}  // namespace

std::optional<Reading> read_row(const Attention& attention, Index layer, Index head,
                                std::optional<Index> query, const MapChoice& choice) {
    if (layer >= attention.layers() || head >= attention.heads() || attention.queries() == 0)
        return std::nullopt;
    if (attention.has_negative_weights() || (!attention.finished() && !attention.record(layer)))
        return std::nullopt;
    const Index row = std::min(query.value_or(attention.predicted()), attention.queries() - 1);
    const HeadMaps maps = attention.shown_maps({.mean = choice.mean});
    const MapPointer map = maps ? maps(layer, head) : nullptr;
    if (!map) return std::nullopt;
    const MapChoice units = weights_of(choice);
    const Side queries = queries_of(attention, units), keys = keys_of(attention, units);
    const bool merges = attention.unit_of(units) != Unit::tokens && !queries.tokens.empty();
    const Range rows = merges ? queries.words.of(queries.of(row)) : Range{row, row + 1};

    std::vector<double> shares(static_cast<std::size_t>(keys.count(attention.keys())));
    const std::vector<float> weights = cells_of(*map, {rows, {0, attention.keys()}});
    for (std::size_t cell = 0; cell < weights.size(); ++cell) {
        const float weight = weights[cell];
        if (weight == masked_cell) continue;
        if (!std::isfinite(weight)) return std::nullopt;
        const Index key = static_cast<Index>(cell) % attention.keys();
        shares[static_cast<std::size_t>(keys.of(key))] +=
            static_cast<double>(weight) / static_cast<double>(rows.size());
    }
    std::vector<Index> order(shares.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Index>(i);
    const auto told = std::min(order.size(), looks_told);
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(told), std::greater{},
                              [&](Index i) { return shares[static_cast<std::size_t>(i)]; });

    const Index asking = queries.of(row);
    Reading reading{row, (queries.tokens.empty() ? "At " : "Reading ") + queries.name(asking), {}};
    for (std::size_t i = 0; i < told; ++i) {
        const double share = shares[static_cast<std::size_t>(order[i])];
        if (share <= 0) break;
        const bool itself = attention.one_line() && order[i] == asking;
        const Range tokens = keys.tokens.empty() ? Range{order[i], order[i] + 1} : keys.words.of(order[i]);
        reading.looks.push_back({itself ? "itself" : keys.name(order[i]), share, tokens.size(), tokens});
    }
    return reading;
}

const Reading::Look* Reading::strongest() const {
    return looks.empty() || looks.front().share < notable ? nullptr : &looks.front();
}

std::string looks_at(const Reading& reading) {
    const auto& looks = reading.looks;
    if (looks.empty()) return "may look at nothing";
    const auto with_share = [](const Reading::Look& look) {
        const std::string together = look.tokens > 1 ? many(look.tokens, "token") + ", " : "";
        return look.at + " (" + together + percent(look.share) + ")";
    };
    if (looks[0].share >= dominant || looks.size() == 1) return "looks at " + with_share(looks[0]);
    if (!reading.strongest())
        return "spreads its attention: nothing gets more than " + percent(looks[0].share);
    std::string text = "looks most at " + with_share(looks[0]);
    for (std::size_t i = 1; i < looks.size(); ++i)
        text += (i + 1 < looks.size() ? ", " : " and ") + with_share(looks[i]);
    return text;
}

std::string query_in_words(const Attention& attention, Index query) {
    return queries_of(attention).token_name(query);
}
std::string key_in_words(const Attention& attention, Index key) { return keys_of(attention).token_name(key); }

std::string prediction_in_words(const Attention& attention) {
    return attention.trace()->model()->network().causal
               ? "after the text"
               : "in place of " + query_in_words(attention, attention.predicted()) + " at position " +
                     std::to_string(attention.predicted());
}

const std::optional<Reading>& RowReader::read(const Attention& attention, Index layer, Index head,
                                              std::optional<Index> query, const MapChoice& choice) {
    const Row wanted{&attention, attention.version(), layer, head, query, weights_of(choice)};
    // A pending result may be there by now.
    if (row_ == wanted && reading_) return reading_;
    row_ = wanted;
    return reading_ = read_row(attention, layer, head, query, choice);
}

}  // namespace attn::app
