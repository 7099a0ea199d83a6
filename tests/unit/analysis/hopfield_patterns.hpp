// Makes patterns of a Hopfield network from a test's numbers.
#pragma once

#include <catch_amalgamated.hpp>
#include <memory>
#include <vector>

#include "analysis/theory/hopfield.hpp"

namespace attn::test {

using PatternPointer = std::shared_ptr<const HopfieldPatterns>;

inline PatternPointer patterns_from(const Tensor& k) {
    const std::vector<std::uint8_t> allowed(static_cast<std::size_t>(k.dim(0)), 1);
    auto patterns = hopfield_patterns(k.matrix(), allowed);
    REQUIRE(patterns);
    return std::make_shared<const HopfieldPatterns>(*std::move(patterns));
}
inline PatternPointer patterns_from(Index count, Index d, std::vector<float> values) {
    return patterns_from(Tensor({count, d}, values));
}

inline HopfieldLook<double> look_from(const HopfieldPatterns& patterns, double beta,
                                      const std::vector<double>& state) {
    HopfieldLook<double> look;
    hopfield_look<double>(patterns, beta, state, look);
    return look;
}

}  // namespace attn::test
