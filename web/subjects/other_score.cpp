#include "subjects/other_score.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "subjects/reading.hpp"

namespace attn::app {

Index heaviest_key(std::vector<float> weights, Index but) {
    if (but >= 0) weights[static_cast<std::size_t>(but)] = 0;
    const auto best = std::ranges::max_element(weights);
    return best != weights.end() && *best > 0 ? best - weights.begin() : -1;
}

OtherScore with_other_key(const ScorePlace& here, std::optional<Index> wanted) {
    const std::vector<float> weights = here.record().weights(here.head, here.query);
    ScorePlace there = here;
    there.key = wanted && *wanted < std::ssize(weights) && *wanted != here.key
                    ? *wanted
                    : heaviest_key(weights, here.key);
    if (there.key >= 0) return {there};
    return {.lacking = "This query sees one key only. Choose a later query to compare two."};
}

OtherScore in_second_text(Subject& subject, const ScorePlace& here, Derived<Versions, Pairings>& pairings) {
    const Attention& first = *subject.attention();
    const Attention* second = second_of(subject);
    if (!second || !second->trace()) {
        const Comparing* comparing = subject.comparing();
        return {.lacking = "There is no other text to compare with.",
                .offer = comparing ? comparing->offer_second() : std::nullopt};
    }
    if (second->trace()->model() != here.trace->model())
        return {.lacking = "Sources are compared within one model. Compare two texts instead."};
    const Pairings& pairs =
        pairings.of(versions_of(first, *second), [&] { return pairings_of(first, *second); });
    const auto counterpart = subject.chosen().counterpart;
    const auto query = counterpart && *counterpart < second->queries() ? counterpart
                                                                       : pairs.queries.second_of(here.query),
               key = pairs.keys.second_of(here.key);
    if (query && key) return {{second->trace(), here.attention, here.head, *query, *key}};
    return {.lacking = "The other text has no token in place of " +
                       (query ? key_in_words(first, here.key) : query_in_words(first, here.query)) +
                       ". Choose another."};
}

OtherScore before_changes(Subject& subject, const ScorePlace& here) {
    const TextModel* model = subject.text_model();
    ScorePlace there = here;
    there.trace = model ? model->unchanged() : nullptr;
    if (there.trace) return {there};
    return {.lacking = "Nothing is changed in this run. Take a head out to see what that does."};
}

OtherToken other_token(const ScorePlace& here, const ScorePlace& there) {
    const auto ids = [](const ScorePlace& at, Index attention) {
        const auto own = at.trace->attention(attention).keys.ids();
        return std::vector<std::int32_t>(own.begin(), own.end());
    };
    return [=, known = std::map<Index, Pairing>()](Index attention, Index token) mutable {
        auto pairing = known.find(attention);
        if (pairing == known.end())
            pairing = known.try_emplace(attention, ids(here, attention), ids(there, attention)).first;
        const auto other = pairing->second.second_of(token);
        return other && pairing->second.first_of(*other) == token ? other : std::nullopt;
    };
}

}  // namespace attn::app
