// Implementations that a diagnosis tries: each mistake alone, and all pairs of them.
#pragma once

#include <cstddef>
#include <vector>

#include "analysis/check/mistakes.hpp"

namespace attn {

struct Hypothesis {
    Implementation how;
    std::vector<std::size_t> of;  // indices into the list of variants
};

class Hypotheses {
  public:
    struct Variant {
        const Mistake* mistake;
        MistakeVariant variant;
    };
    Hypotheses(const AttentionCase& given, const Implementation& right);

    const std::vector<Variant>& variants() const { return variants_; }
    std::vector<Hypothesis> single() const;
    // Pairs of different mistakes, in which neither undoes the other.
    std::vector<Hypothesis> pairs() const;

  private:
    Implementation right_;
    std::vector<Variant> variants_;
};

}  // namespace attn
