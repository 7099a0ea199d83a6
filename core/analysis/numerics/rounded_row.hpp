// The chain of one query of a head, with every step rounded to a format (numerics/arithmetic.hpp). Steps are
// those of attention/record.hpp; cells that the mask or a bias of −∞ forbids take no part in any of them.
//
//   product      p = q k          the component whose product is farthest from q k of the unrounded numbers
//   raw          Σ_a p
//   scaled       scale · raw; the scale is a constant of the code, the nearest f32 to it
//   capped       softcap · tanh(scaled / softcap), each of the three operations rounded
//   masked       capped + bias
//   shifted      masked − the row's largest, or masked itself
//   exponential  exp(shifted)
//   sum          Σ_j exponential
//   weight       exponential / sum
//   output       Σ_j weight · v
//
// Online, the sum and the output are rescaled whenever the largest score grows, and the output is divided by
// the sum at the end. Its weights are those that a second pass finds from the last maximum and the sum.
//
// Nothing guards against overflow: 0 / 0 and ∞ − ∞ are NaN, as in a library without such guards. Edits of the
// spec are left out.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "analysis/numerics/arithmetic.hpp"
#include "attention/record.hpp"

namespace attn {

// In the order of the arithmetic.
enum class ChainStage : std::uint8_t {
    q,
    k,
    v,
    product,
    raw,
    scaled,
    capped,
    masked,
    shifted,
    exponential,
    sum,
    weight,
    output
};
inline constexpr std::size_t chain_stage_count = 13;
inline constexpr std::array<std::string_view, chain_stage_count> chain_stage_keys{
    "q",      "k",       "v",           "product", "raw",    "scaled", "capped",
    "masked", "shifted", "exponential", "sum",     "weight", "output"};
constexpr std::size_t number_of(ChainStage stage) { return static_cast<std::size_t>(stage); }
// Rows are queries and columns are keys.
constexpr bool is_of_pairs(ChainStage stage) {
    return stage >= ChainStage::product && stage <= ChainStage::weight && stage != ChainStage::sum;
}
// Rows are keys.
constexpr bool is_of_keys(ChainStage stage) { return stage == ChainStage::k || stage == ChainStage::v; }

// The stages that a record has: without a soft cap none is capped, and without a bias masking changes no
// score.
std::vector<ChainStage> chain_stages(const Record& record, bool is_shifted, bool with_values);

class RoundedRow {
  public:
    RoundedRow(std::shared_ptr<const Record> record, Index head, Index query, const Arithmetic& arithmetic);

    bool step();  // some 16,000 products; true while there are more
    bool done() const { return done_; }
    Index query() const { return query_; }

    bool sees(Index key) const { return allowed_[static_cast<std::size_t>(key)] != 0; }
    // A finished stage of pairs at a key that the query sees, the sum, or a component of q or of the output.
    double at(ChainStage stage, Index column) const;
    Index product_component(Index key) const { return components_[static_cast<std::size_t>(key)]; }
    double max() const { return max_; }
    Index max_key() const { return max_key_; }  // −1: the query sees no key

  private:
    std::vector<double>& numbers(ChainStage stage) { return stages_[static_cast<std::size_t>(stage)]; }
    void score(Index key);
    void weigh();
    void weigh_online();
    double output(Index component);

    std::shared_ptr<const Record> record_;
    Index head_, query_;
    Arithmetic arithmetic_;
    std::vector<std::uint8_t> allowed_;                          // [keys]
    std::vector<Index> components_;                              // [keys]
    std::array<std::vector<double>, chain_stage_count> stages_;  // [keys], [1] or [components]
    std::vector<double> factors_, taken_;  // online: of each seen key, what shrinks the sum, and its own part
    std::vector<double> terms_;
    double max_ = 0;
    Index max_key_ = -1, next_key_ = 0, next_component_ = 0;
    bool weighed_ = false, done_ = false;
};

// A component of Q, K or V, rounded.
double rounded_input(const Record& record, Index head, ChainStage stage, Index row, Index component,
                     NumberFormat format);

}  // namespace attn
