// Seeded random numbers, the same bits on every platform: "generated with seed 7" can be generated again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attn {

// SplitMix64 (Steele, Lea & Flood 2014, "Fast splittable pseudorandom number generators", figure 17).
class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t bits();
    // [0, end), of which end is small beside 2^64.
    std::uint64_t below(std::uint64_t end) { return bits() % end; }
    double uniform();  // [0, 1), a multiple of 2^-53
    // Mean 0, variance 1: Marsaglia's polar method, with a logarithm of its own, because libraries differ in
    // the last bit of theirs.
    double normal();

  private:
    std::uint64_t state_;
    double spare_ = 0;
    bool has_spare_ = false;
};

std::vector<std::int32_t> random_integers(Random& random, std::size_t count, std::int32_t first,
                                          std::int32_t end);

// A number that looks random, of the numbers given: what is drawn for a step does not depend on what was drawn before.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0);

}  // namespace attn
