// Measures how long kernels take on this page, one call a slice: attention in its two forms over the length
// of the text and over the width of a head, and what a roofline needs.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tensor/tensor.hpp"

namespace attn::app {

// What is timed. Attention is that of one head without a mask, n queries and n keys, each of d numbers; a
// product is x W of x [n, d] and W [d, out].
enum class CostWork { naive, fused, product, reading };
// On what: the reference's plain loops in double, the vector kernels, and these on all threads.
enum class CostMeans { scalar, simd, threads };
inline constexpr std::size_t cost_means_count = 3;

inline constexpr Index longest_reading = Index{1} << 24;  // numbers, more than caches hold

struct CostCase {
    CostWork work = CostWork::fused;
    CostMeans means = CostMeans::simd;
    Index n = 1, d = 1, out = 0;  // a reading is of n numbers
    Index keys = 0;               // for attention; 0: n
    // Each call takes the next of the numbers that the model passes through, so that they come from where
    // they would: the bytes of all weights, or of all keys and values. 0: every call takes the same.
    Index pool = 0;
    Index series = 0;  // cases of a series ascend in operations

    Index n_k() const { return keys > 0 ? keys : n; }
    double operations() const;  // for a reading, the numbers
    bool operator==(const CostCase&) const = default;
};

// Runs a case so many times and returns for how many milliseconds.
using Stopwatch = std::function<double(const CostCase&, Index calls)>;

class CostMeasuring {
  public:
    struct Timed {
        CostCase what;
        Index calls = 0;              // a sample has so many
        std::vector<double> ms = {};  // one call's, in each round
        bool is_done() const { return !ms.empty(); }
        double least() const;
        double median() const;
    };

    // Times each case in every round, so that what disturbs the page for a while disturbs all of them. A
    // sample takes `sample_ms` or one call, whichever is longer.
    CostMeasuring(const std::vector<CostCase>& cases, Index rounds, double sample_ms, Stopwatch stopwatch);

    bool step();  // a sample; true while there is more to do
    bool done() const { return round_ > rounds_ || timed_.empty(); }
    double progress() const;
    Index rounds() const { return rounds_; }
    std::span<const Timed> timed() const { return timed_; }

  private:
    void try_case(std::size_t i);

    std::vector<Timed> timed_;
    Index rounds_, round_ = 0;  // round 0 tries each case, and warms up the caches
    double sample_ms_;
    std::size_t next_ = 0;
    Stopwatch stopwatch_;
};

inline constexpr double longest_call_ms = 45;  // cases that would take longer are left out

// The stopwatch of this page's kernels. It keeps seeded vectors and is freed with the measuring.
Stopwatch page_stopwatch();
// Returns how long a sample has to take, so that the browser's clock, which may advance in steps, tells it to
// a few per cent.
double sample_ms_of_clock();
std::string_view kernels_name(CostMeans means);  // "reference", "relaxed simd128"

}  // namespace attn::app
