// What is measured of attention on this page, and what follows from it: the exponents of its time, and a
// roofline.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "analysis/cost/attention_cost.hpp"
#include "analysis/cost/model_cost.hpp"
#include "analysis/cost/power_fit.hpp"
#include "runs/cost_measuring.hpp"

namespace attn::app {

enum class CostAxis : std::uint8_t { n, d };
// What a roofline shows of a model.
enum class CostOperation : std::uint8_t {
    prefill_attention,
    prefill_mlp,
    decode_attention,
    decode_mlp,
    head
};
inline constexpr std::array<const char*, 5> operation_names{
    "prefill: attention", "prefill: MLP", "decode: attention", "decode: MLP", "decode: logits"};

// Where the leading power makes up this share of the time, its exponent is fitted.
inline constexpr double dominant_share = 0.9;

// The times of one form on one means, as far as they are measured, and what they grow with.
struct CostSeries {
    CostWork form = CostWork::fused;
    CostMeans means = CostMeans::simd;
    struct Over {
        std::vector<const CostMeasuring::Timed*> timed = {};
        std::vector<double> x = {}, ms = {};
        std::optional<PowerFit> fit = {};  // once all are measured
    };
    std::array<Over, 2> over = {};
    const Over& by(CostAxis axis) const { return over[static_cast<std::size_t>(axis)]; }
    std::string name() const;  // "fused, SIMD"
};

CostMeans usual_means();                            // the page computes on these
double rate_of(const CostMeasuring::Timed& timed);  // operations a second
double intensity_of(const CostCase& what);          // operations a byte, with each operand read once

class CostResults {
  public:
    // Thoroughly: all means, more sizes, more rounds.
    void measure_times(bool thoroughly);
    // `of` says whose operations these are.
    void measure_roof(const ModelShape& shape, Index tokens, std::string of);
    bool step();  // takes a sample; true while there is more to do
    bool is_busy() const { return (times_ && !times_->done()) || (roof_ && !roof_->done()); }

    const CostMeasuring* times() const { return times_ ? &*times_ : nullptr; }
    const CostMeasuring* roof() const { return roof_ ? &*roof_ : nullptr; }  // null: never begun
    const std::string& roof_of() const { return roof_of_; }
    bool is_thorough() const { return is_thorough_; }
    // Counts what was taken, so that it changes with every number.
    std::size_t samples() const { return samples_; }
    std::vector<CostSeries> series() const;
    // Nothing while it is measured.
    std::optional<Roofline> roofline() const;
    const CostMeasuring::Timed* timed(CostOperation operation) const;

  private:
    std::optional<CostMeasuring> times_, roof_;
    std::string roof_of_;
    bool is_thorough_ = false;
    std::size_t samples_ = 0;
};

}  // namespace attn::app
