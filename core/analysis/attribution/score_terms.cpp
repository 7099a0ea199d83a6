#include "analysis/attribution/score_terms.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "analysis/linalg/vectors.hpp"

namespace attn {

namespace {

constexpr std::array both_sides{ScoreSide::query, ScoreSide::key};

double size_of(double value) { return std::isfinite(value) ? std::abs(value) : 0; }

}  // namespace

bool ScoreTerms::step() {
    const auto take_apart = [](const ScorePlace& at, ScoreSide side, std::vector<Source>& to) {
        if (!to.empty()) return false;
        to = with_biases_joined(vector_sources(*at.trace, stage_of(side), at.attention, at.head,
                                               side == ScoreSide::query ? at.query : at.key));
        return true;
    };
    for (const ScoreSide side : both_sides) {
        const auto i = static_cast<std::size_t>(side);
        if (take_apart(place_, side, sides_[i])) return true;
        if (against_ && take_apart(*against_, side, other_sides_[i])) return true;
    }
    if (!done()) multiply();
    return false;
}

std::optional<Index> ScoreTerms::find(ScoreSide side, const Source& source) const {
    const Index found = same_source(sources(side), source);
    return found == all(side) ? std::nullopt : std::optional(found);
}

std::vector<double> ScoreTerms::written(ScoreSide side, Index which, bool at_other) const {
    const auto i = static_cast<std::size_t>(side);
    const std::vector<Source>& own = at_other ? other_sides_[i] : sides_[i];
    if (which < all(side)) {
        const Index same = at_other ? same_source(own, sides_[i][static_cast<std::size_t>(which)]) : which;
        return same < std::ssize(own) ? own[static_cast<std::size_t>(same)].written
                                      : std::vector<double>(sides_[i].front().written.size());
    }
    std::vector<double> sum = total_of(own);
    if (which == others(side))
        for (const Index each : shown(side)) sum = added(std::move(sum), -1, written(side, each, at_other));
    return sum;
}

double ScoreTerms::product(Index query_source, Index key_source, bool at_other) const {
    return scale() * dot(written(ScoreSide::query, query_source, at_other),
                         written(ScoreSide::key, key_source, at_other));
}

// Chooses what is shown by the size of the totals.
void ScoreTerms::order(ScoreSide side) {
    const auto i = static_cast<std::size_t>(side);
    std::vector<double> sizes(sides_[i].size());
    for (const bool at_other : {false, true}) {
        if (at_other && !against_) continue;
        const std::vector<double> partner = written(other_side(side), all(other_side(side)), at_other);
        for (std::size_t s = 0; s < sizes.size(); ++s)
            sizes[s] += (at_other ? -1 : 1) * dot(written(side, static_cast<Index>(s), at_other), partner);
    }
    strongest_[i].resize(sizes.size());
    std::iota(strongest_[i].begin(), strongest_[i].end(), Index{0});
    std::ranges::sort(strongest_[i], {}, [&](Index each) {
        return std::pair(-size_of(sizes[static_cast<std::size_t>(each)]), each);
    });
    const auto kept = std::min(std::ssize(sizes), most_shown);
    shown_[i].assign(strongest_[i].begin(), strongest_[i].begin() + kept);
    std::ranges::sort(shown_[i]);
}

void ScoreTerms::multiply() {
    for (const ScoreSide side : both_sides) order(side);
    const Index rows = others(ScoreSide::query) + 1, columns = others(ScoreSide::key) + 1;
    terms_.assign(static_cast<std::size_t>(rows * columns), 0);
    for (const bool at_other : {false, true}) {
        if (at_other && !against_) continue;
        std::vector<std::vector<double>> keys;
        for (Index t = 0; t < columns; ++t) keys.push_back(written(ScoreSide::key, t, at_other));
        for (Index s = 0; s < rows; ++s) {
            const std::vector<double> query = written(ScoreSide::query, s, at_other);
            for (Index t = 0; t < columns; ++t)
                terms_[static_cast<std::size_t>(s * columns + t)] +=
                    (at_other ? -1 : 1) * scale() * dot(query, keys[static_cast<std::size_t>(t)]);
        }
    }
    list();
}

void ScoreTerms::list() {
    for (Index s = 0; s < all(ScoreSide::query); ++s)
        for (Index t = 0; t < all(ScoreSide::key); ++t) listed_.push_back({s, t, term(s, t)});
    const auto kept = std::min(std::ssize(listed_), most_listed);
    std::ranges::partial_sort(listed_, listed_.begin() + kept, {},
                              [](const Term& each) { return -size_of(each.value); });
    listed_.resize(static_cast<std::size_t>(kept));
}

std::optional<Index> ScoreTerms::strongest_head(ScoreSide side) const {
    for (const Index each : strongest(side))
        if (sources(side)[static_cast<std::size_t>(each)].part == SourcePart::head) return each;
    return std::nullopt;
}

std::vector<Index> ScoreTerms::numbers(ScoreSide side, bool is_whole) const {
    std::vector<Index> numbers = shown(side);
    if (is_whole) {
        numbers.resize(static_cast<std::size_t>(all(side)));
        std::iota(numbers.begin(), numbers.end(), Index{0});
    } else if (std::ssize(numbers) < all(side)) {
        numbers.push_back(others(side));
    }
    numbers.push_back(all(side));
    return numbers;
}

WithoutSource::WithoutSource(const ScoreTerms& terms, ScoreSide of_side, Index of_source)
    : side(of_side),
      source(of_source),
      scale(terms.scale()),
      partner(terms.written(other_side(side), terms.all(other_side(side)))) {
    const ScorePlace& at = terms.place();
    const std::vector<double> whole = terms.written(side, terms.all(side));
    vectors = {whole, added(whole, -1, terms.written(side, source)),
               vector_without(*at.trace, stage_of(side), at.attention, at.head, terms.token(side),
                              terms.sources(side)[static_cast<std::size_t>(source)])};
    for (std::size_t i = 0; i < vectors.size(); ++i)
        rows[i] = row_scores_with(at.record(), at.head, at.query, at.key, stage_of(side), vectors[i]);
}

double WithoutSource::score(std::size_t norms) const { return scale * dot(vectors[norms], partner); }

double WithoutSource::weight(std::size_t norms, Index key) const {
    const double highest = std::ranges::max(rows[norms]);
    double sum = 0;
    for (const double each : rows[norms]) sum += std::exp(each - highest);
    return std::exp(rows[norms][static_cast<std::size_t>(key)] - highest) / sum;
}

Index same_source(std::span<const Source> among, const Source& source) {
    return std::ranges::find_if(among, [&](const Source& each) { return each.is(source); }) - among.begin();
}

}  // namespace attn
