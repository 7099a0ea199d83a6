// Computes the effect of the scale on a row of softmax: one row under four rules side by side, and rows of
// many seeds over d_k.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/theory/saturation.hpp"
#include "attention/record.hpp"

namespace attn {

inline constexpr std::size_t scale_rules = 4;
// 1, 1/√d_k, 1/d_k, or one of your own.
double scale_of(std::size_t rule, Index components, double own);

enum class RowMeasure { entropy, largest, gradient, variance };
inline constexpr std::size_t row_measures = 3,
                             curve_measures = 4;  // a single row has no variance

double measured(const Saturation& row, RowMeasure measure);  // for all measures except the variance

// Returns the query (vector 0) or a key of a seed, standard normal. With fewer components, it is a prefix.
std::vector<float> seeded_vector(std::uint32_t seed, Index vector, Index components);

// A row of a head, whose Record may be made for this purpose.
struct RowOfHead {
    std::shared_ptr<const Record> record;
    Index head = 0, query = 0;
};
RowOfHead seeded_row(std::uint32_t seed, Index keys, Index components);
RowOfHead row_of_scores(std::span<const double> scores);  // q = 1, k = the score

// The row with another scale.
struct RuledRow {
    RuledRow(const RowOfHead& row, std::string name, double scale);

    std::string name;  // "1/√64"
    Record record;     // only this row has weights in it
    std::vector<float> weights;
    std::vector<double> scores, exact;  // masked scores and weights in double
    Saturation saturation, exact_saturation;
};

// Returns the keys that the row may see, beginning with the requested number of highest scores.
std::vector<Index> strongest_keys(const RuledRow& rule, std::size_t first);

// A row under all rules, which are made one after the other because a long row takes a while.
struct RuledRows {
    static constexpr std::size_t keys_sorted = 8;

    RowOfHead row;
    std::array<std::string, scale_rules> names;
    std::array<double, scale_rules> scales;
    std::vector<RuledRow> rules = {};  // at least the first
    std::vector<Index> keys = {};      // strongest_keys() under the first rule

    bool step();  // makes the next rule; true while there is more to do
    bool done() const { return rules.size() == scale_rules; }
    void use(double own);  // sets the last rule's scale
    // Makes the rules that take no time: of a short row all, and of any the first.
    void make_quick_ones();
};

// Rows of seeded normal q and k under four rules, over d_k: uses the first d_k components of several seeds'
// vectors.
class ScaleCurves {
  public:
    static constexpr Index seeds = 32;
    static std::span<const Index> points();  // values of d_k, 1 to 4,096

    ScaleCurves(std::uint32_t first_seed, Index keys, double own);

    bool step();  // one key of one seed; true while there is more to do
    bool done() const { return seeds_done_ == seeds; }
    Index seeds_done() const { return seeds_done_; }
    void use(double own);  // sets the fourth rule's scale

    double value(RowMeasure measure, std::size_t rule, std::size_t point, Index seed) const;
    struct Spread {
        double mean, low, high;  // a tenth of the seeds lies below low, and a tenth above high
    };
    Spread over_seeds(RowMeasure measure, std::size_t rule, std::size_t point) const {  // finished seeds
        return spreads_[(point * scale_rules + rule) * curve_measures + static_cast<std::size_t>(measure)];
    }

  private:
    void measure(Index seed, std::size_t rule);
    void spread(std::size_t rule);

    std::uint32_t first_seed_;
    Index keys_;
    double own_;
    Index seeds_done_ = 0, next_key_ = 0;
    std::vector<float> q_;
    std::vector<double> scores_;   // [seeds, points, keys]
    std::vector<double> values_;   // [seeds, points, rules, measures]
    std::vector<Spread> spreads_;  // [points, rules, measures]
};

}  // namespace attn
