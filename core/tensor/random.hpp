// Seeded random numbers, the same bits on every platform: "generated with seed 7" can be generated again.
#pragma once

#include <cstdint>

namespace attn {

// SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators", figure 17).
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t bits();
    double uniform();  // [0, 1), a multiple of 2^-53
    // Mean 0, variance 1: Marsaglia's polar method, with a logarithm of its own, because libraries differ in
    // the last bit of theirs.
    double normal();

  private:
    std::uint64_t state_;
    double spare_ = 0;
    bool has_spare_ = false;
};

}  // namespace attn
