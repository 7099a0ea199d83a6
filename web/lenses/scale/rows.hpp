// What the scale does to a row of softmax: one row under four rules side by side, and rows of many seeds over d_k.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "analysis/theory/saturation.hpp"
#include "attention/record.hpp"

namespace attn::app {

inline constexpr std::size_t scale_rules = 4;
// Those of seeded vectors and of given scores.
inline constexpr std::array<const char*, scale_rules> scale_rule_names{"no scale", "1/√d_k", "1/d_k",
                                                                       "your own"};
double scale_of(std::size_t rule, Index components, double own);

enum class RowMeasure { entropy, largest, gradient, variance };
inline constexpr std::size_t row_measures = 3,
                             curve_measures = 4;  // a single row has no variance to speak of

double measured(const Saturation& row, RowMeasure measure);  // but for the variance

// Returns the query (vector 0) or a key of a seed, standard normal; with fewer components, the first of these.
std::vector<float> seeded_vector(std::uint32_t seed, Index vector, Index components);

// A row of a head, whose Record may be made for it.
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
    Record record;     // in which this row alone has weights
    std::vector<float> weights;
    std::vector<double> scores, exact;  // masked scores and weights in double
    Saturation saturation, exact_saturation;
};

// Returns the keys that the row may see; the first ones, as many as asked for, are those with the highest scores.
std::vector<Index> strongest_keys(const RuledRow& rule, std::size_t first);

// Rows of seeded normal q and k under four rules, over d_k: of the first d_k components of several seeds' vectors.
class ScaleCurves {
  public:
    static constexpr Index seeds = 32;
    static std::span<const Index> points();  // of d_k, 1 to 4,096

    ScaleCurves(std::uint32_t first_seed, Index keys, double own);

    bool step();  // a key of a seed; true while there is more to do
    bool done() const { return seeds_done_ == seeds; }
    Index seeds_done() const { return seeds_done_; }
    void use(double own);  // as the fourth rule

    double value(RowMeasure measure, std::size_t rule, std::size_t point, Index seed) const;
    struct Spread {
        double mean, low, high;  // a tenth of the seeds lies below low, and as many above high
    };
    Spread over_seeds(RowMeasure measure, std::size_t rule, std::size_t point) const {  // of those done
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

}  // namespace attn::app
