// Which tokens of a vocabulary lie furthest along a direction of the residual stream: what a direction of a
// head reads or writes, in words (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits",
// section on QK and OV circuits).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernels/table.hpp"
#include "model/network.hpp"

namespace attn {

struct TokenAlong {
    std::int32_t id = 0;
    float along = 0;  // token · direction
};

// Goes through the vocabulary in slices, in f32.
class TokenDirections {
  public:
    // `tokens` has a row of d_model = in numbers for each token = out; with a norm each row is normalised
    // first, as a layer that reads it does. The weights stay where they are.
    TokenDirections(const WeightView& tokens, std::optional<NormView> norm, std::span<const double> direction,
                    std::size_t most);

    bool step();  // true while there is more to do
    bool done() const { return next_ == tokens_.out; }
    bool normalises() const { return norm_.has_value(); }
    // Once done: at most `most` of each, the furthest first.
    std::span<const TokenAlong> highest() const { return highest_; }
    std::span<const TokenAlong> lowest() const { return lowest_; }
    // A token's row as it is multiplied with the direction.
    std::vector<float> row(std::int32_t id) const;

  private:
    void read(Range tokens, std::span<float> rows) const;  // [tokens, d_model]

    WeightView tokens_;
    std::optional<NormView> norm_;
    std::vector<float> direction_;
    std::size_t most_;
    Index next_ = 0;
    std::vector<TokenAlong> highest_, lowest_;
};

}  // namespace attn
