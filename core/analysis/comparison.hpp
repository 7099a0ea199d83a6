// Two texts through one model: which tokens go together, and how alike a token's vectors are in both.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/trace.hpp"

namespace attn {

struct TokenPair {
    Index first, second;  // positions in either text
    bool same;            // the same token; else one stands where the other does
    bool operator==(const TokenPair&) const = default;
};

// Ascending in both texts.
class Alignment {
  public:
    Alignment() = default;
    // The longest common subsequence of both texts; between two of its tokens, as many in one text as in the other
    // stand for each other. Quadratic in what lies between the texts' common beginning and end.
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
    double value() const { return dot / (first_norm * second_norm); }  // NaN where a norm is 0
};
Cosine cosine(std::span<const float> a, std::span<const float> b);

// The residual stream of a token of either text: before layer 0, 1, …, and after the last. [layers + 1]
std::vector<Cosine> residual_cosines(const Trace& first, Index first_token, const Trace& second,
                                     Index second_token);

// Two rows of weights, each over the keys of its own text: paired keys are one component, every other key is a
// component that the other row lacks.
Cosine row_cosine(std::span<const float> first, std::span<const float> second, const Alignment& alignment);

}  // namespace attn
