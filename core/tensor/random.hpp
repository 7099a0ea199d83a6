// Seeded random numbers with the same bits on every platform: "generated with seed 7" can be generated again.
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
    // The result is in [0, end); end must be small compared to 2^64.
    std::uint64_t below(std::uint64_t end) { return bits() % end; }
    double uniform();  // [0, 1), a multiple of 2^-53
    // Mean 0, variance 1, by Marsaglia's polar method. It has its own logarithm, because those of
    // libraries differ in the last bit.
    double normal();

  private:
    std::uint64_t state_;
    double spare_ = 0;
    bool has_spare_ = false;
};

std::vector<std::int32_t> random_integers(Random& random, std::size_t count, std::int32_t first,
                                          std::int32_t end);

// Mixes the given numbers into one that looks random: what is drawn for a step does not depend on earlier
// draws.
std::uint64_t mixed(std::uint64_t seed, std::uint64_t a, std::uint64_t b = 0);

}  // namespace attn
