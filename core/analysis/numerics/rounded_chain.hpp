// The chains of some queries of a head, rounded, beside the same in double: the largest error of each stage,
// and where numbers that are not finite began.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/numerics/rounded_row.hpp"

namespace attn {

// A query with a key or a component; of k and v, a key with a component.
struct ChainCell {
    ChainStage stage = ChainStage::weight;
    Index row = 0, column = 0;
    bool operator==(const ChainCell&) const = default;
};

enum class ErrorMeasure : std::uint8_t { absolute, relative };
// |rounded − exact|, over |exact| if relative. NaN if the rounded number is not finite, and for a relative
// error of 0.
double error_of(ErrorMeasure measure, double value, double exact);

struct StageErrors {
    struct Largest {
        double error = -1;  // among finite numbers; −1: there are none
        ChainCell at;
    };
    std::array<Largest, 2> largest;  // indexed by ErrorMeasure
    Index not_finite = 0;            // numbers that are infinite or NaN, though the exact ones are finite
    std::optional<ChainCell> first_not_finite;
    Index vanished = 0;  // numbers that are rounded to 0, though the exact ones are not 0
    Index count = 0;

    void add(const ChainCell& at, double value, double exact);
    void add(const StageErrors& more);
};
using ChainErrors = std::array<StageErrors, chain_stage_count>;  // indexed by ChainStage

// Which queries of which head.
struct ChainWindow {
    std::shared_ptr<const Record> record;
    Index head = 0;
    Range queries;
    bool operator==(const ChainWindow&) const = default;
};
// Takes as many queries, up to 32, as have some 16,000 cells; windows do not overlap.
ChainWindow chain_window(std::shared_ptr<const Record> record, Index head, Index query);

class RoundedChain {
  public:
    // `exact` is null for the exact chain itself, whose errors are 0; otherwise it is a finished one of the
    // same window.
    RoundedChain(ChainWindow window, const Arithmetic& arithmetic,
                 std::shared_ptr<const RoundedChain> exact = nullptr);

    bool step();  // true while there is more to do
    bool done() const { return done_; }
    const ChainWindow& window() const { return window_; }
    const Arithmetic& arithmetic() const { return arithmetic_; }

    Index columns(ChainStage stage) const;  // keys, components, or one sum

    // The following require a finished chain.
    const RoundedRow& row(Index query) const {
        return rows_[static_cast<std::size_t>(query - window_.queries.begin)];
    }
    bool sees(const ChainCell& cell) const;  // false: nothing is computed there
    double at(const ChainCell& cell) const;
    const RoundedChain& exact() const { return exact_ ? *exact_ : *this; }
    // A product's exact value is that of the same component.
    double exact_at(const ChainCell& cell) const;
    const ChainErrors& errors() const { return errors_; }
    const ChainErrors& errors_of_row(Index query) const {
        return row_errors_[static_cast<std::size_t>(query - window_.queries.begin)];
    }

    // The first number, in the order of the arithmetic, that is not finite though those before it are.
    std::optional<ChainCell> first_not_finite() const;
    // Goes from a number that is not finite, or a sum of 0, back to the one that made it so.
    std::vector<ChainCell> traced_back(const ChainCell& from) const;

  private:
    void measure(Index query);
    void measure_input(Index key);
    std::optional<ChainCell> cause(const ChainCell& of) const;

    ChainWindow window_;
    Arithmetic arithmetic_;
    std::shared_ptr<const RoundedChain> exact_;
    std::vector<RoundedRow> rows_;
    std::vector<ChainErrors> row_errors_;
    ChainErrors errors_;
    Index next_input_ = 0;  // key whose k and v are measured next
    bool done_ = false;
};

// Numbers of a head that decide whether a format is wide enough.
enum class Extreme : std::uint8_t {
    largest_q,
    largest_k,
    largest_v,
    largest_raw,
    largest_score,        // masked
    largest_exponential,  // exp(largest score), as without the maximum subtracted
    largest_sum,          // a row’s, without the maximum subtracted
    least_exponential,    // exp(score − largest of its row)
    least_weight
};
inline constexpr std::size_t extreme_count = 9;
struct ExtremeAt {
    double log2 = 0;  // logarithm of the number’s size; −∞: 0
    ChainCell at;     // the number, or the one that its exponential is taken of
};
// Over the window of a finished exact chain; nothing if no query sees a key, or if there are no values.
std::array<std::optional<ExtremeAt>, extreme_count> extremes(const RoundedChain& exact, bool with_values);

}  // namespace attn
