// The terms of one score, a matrix of the query's sources by the key's, or of its difference from another
// score, in slices. Biases are one source, and so are changes by interventions.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/attribution/score_sources.hpp"

namespace attn {

// A query and a key of one head of a run.
struct ScorePlace {
    std::shared_ptr<const Trace> trace;
    Index attention = 0, head = 0, query = -1, key = -1;
    const Record& record() const { return trace->attention(attention).record(); }
    double weight() const { return static_cast<double>(record().cell(Stage::weight, head, query, key)); }
    double score() const { return static_cast<double>(record().cell(Stage::scaled, head, query, key)); }
    bool operator==(const ScorePlace&) const = default;
};

// Whose source it is.
enum class ScoreSide : std::uint8_t { query, key };
constexpr ScoreSide other_side(ScoreSide side) {
    return side == ScoreSide::query ? ScoreSide::key : ScoreSide::query;
}
constexpr Stage stage_of(ScoreSide side) { return side == ScoreSide::query ? Stage::q : Stage::k; }

class ScoreTerms {
  public:
    // The strongest sources of a side, which a picture shows, and the strongest terms.
    static constexpr Index most_shown = 12, most_listed = 8;

    // The other place belongs to a head of the same model and number.
    explicit ScoreTerms(ScorePlace place, std::optional<ScorePlace> against = {})
        : place_(std::move(place)), against_(std::move(against)) {}

    bool step();  // takes one of the vectors apart; true while there is more to do
    bool done() const { return !terms_.empty(); }
    const ScorePlace& place() const { return place_; }
    const std::optional<ScorePlace>& against() const { return against_; }
    double scale() const { return place_.record().scale(); }
    Index token(ScoreSide side) const { return side == ScoreSide::query ? place_.query : place_.key; }

    // Once done. An index past the last source means all of them, and the next one those that are not shown.
    const std::vector<Source>& sources(ScoreSide side) const {
        return sides_[static_cast<std::size_t>(side)];
    }
    Index all(ScoreSide side) const { return std::ssize(sources(side)); }
    Index others(ScoreSide side) const { return all(side) + 1; }
    std::optional<Index> find(ScoreSide side, const Source& source) const;
    // What a source writes here, or the same source at the other place: 0 if there is none.
    std::vector<double> written(ScoreSide side, Index which, bool at_other = false) const;
    // scale · q_s · k_t, less scale · q′_s · k′_t of the other place.
    double term(Index query_source, Index key_source) const {
        const Index columns = others(ScoreSide::key) + 1;
        return terms_[static_cast<std::size_t>(query_source * columns + key_source)];
    }
    // What a source adds with all sources of the other side.
    double total(ScoreSide side, Index which) const {
        return side == ScoreSide::query ? term(which, all(ScoreSide::key))
                                        : term(all(ScoreSide::query), which);
    }
    double total() const { return term(all(ScoreSide::query), all(ScoreSide::key)); }
    double sum() const { return product(all(ScoreSide::query), all(ScoreSide::key), false); }  // here alone

    struct Term {
        Index query, key;
        double value;
    };
    const std::vector<Term>& listed() const { return listed_; }  // the strongest, the largest first
    // The sources that are shown, in the order of the arithmetic, and all by the size of their totals.
    const std::vector<Index>& shown(ScoreSide side) const { return shown_[static_cast<std::size_t>(side)]; }
    const std::vector<Index>& strongest(ScoreSide side) const {
        return strongest_[static_cast<std::size_t>(side)];
    }
    std::optional<Index> strongest_head(ScoreSide side) const;
    // Lists the numbers of all sources or of those shown, then that of the others, then that of all.
    std::vector<Index> numbers(ScoreSide side, bool is_whole) const;

  private:
    double product(Index query_source, Index key_source, bool at_other) const;
    void order(ScoreSide side);
    void multiply();
    void list();

    ScorePlace place_;
    std::optional<ScorePlace> against_;
    std::array<std::vector<Source>, 2> sides_, other_sides_;
    std::array<std::vector<Index>, 2> shown_, strongest_;
    std::vector<double> terms_;  // [query sources + 2, key sources + 2]
    std::vector<Term> listed_;
};

// A score and the weight that follows from it: as it is, without a source while the norms are held at what
// they had, and with the norms live.
struct WithoutSource {
    WithoutSource(const ScoreTerms& terms, ScoreSide side, Index source);
    double score(std::size_t norms) const;
    double weight(std::size_t norms, Index key) const;

    ScoreSide side;
    Index source;
    double scale;
    std::array<std::vector<double>, 3> vectors;  // q, or k of the key
    std::vector<double> partner;                 // k, or q
    std::array<std::vector<double>, 3> rows;     // the row's scores as the softmax takes them, [keys]
};

// The number of the same source there; that of all if there is none.
Index same_source(std::span<const Source> among, const Source& source);

}  // namespace attn
