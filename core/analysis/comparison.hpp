// Compares two texts run through one model: which tokens correspond, and how similar a token's vectors are in
// both.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/trace.hpp"

namespace attn {

struct TokenPair {
    Index first, second;  // positions in the two texts
    bool same;            // the same token; otherwise one takes the place of the other
    bool operator==(const TokenPair&) const = default;
};

// Pairs ascend in both texts.
class Alignment {
  public:
    Alignment() = default;
    // Pairs the tokens of a longest common subsequence. Between two of these, if both texts have equally many
    // tokens, they are paired in order. The time is quadratic in what lies between the texts' common
    // beginning and end.
    Alignment(std::span<const std::int32_t> first, std::span<const std::int32_t> second);

    const std::vector<TokenPair>& pairs() const { return pairs_; }
    std::optional<Index> second_of(Index first) const;
    std::optional<Index> first_of(Index second) const;

  private:
    std::vector<TokenPair> pairs_;
};

// a · b / (‖a‖ ‖b‖), summed in double.
struct Cosine {
    double dot = 0, first_norm = 0, second_norm = 0;
    double value() const { return dot / (first_norm * second_norm); }  // NaN if a norm is 0
};
Cosine cosine(std::span<const float> a, std::span<const float> b);

// Compares the residual streams of one token from each text: before layer 0, 1, …, and after the last.
// [layers + 1]
std::vector<Cosine> residual_cosines(const Trace& first, Index first_token, const Trace& second,
                                     Index second_token);

// Compares two rows of weights, each over the keys of its own text. Paired keys are one component; every
// other key is a component that is 0 in the other row.
Cosine row_cosine(std::span<const float> first, std::span<const float> second, const Alignment& alignment);

}  // namespace attn
