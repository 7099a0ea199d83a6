#include "tensor/random.hpp"

#include <bit>
#include <cmath>

namespace attn {

namespace {

// The natural logarithm of a positive normal number, by exactly rounded operations only: x = m · 2^e with m
// in [√½, √2), and log m = 2 artanh s = 2 (s + s³/3 + s⁵/5 + …) with s = (m − 1) / (m + 1), |s| < 0.172.
double portable_log(double x) {
    const std::uint64_t bits = std::bit_cast<std::uint64_t>(x);
    int exponent = static_cast<int>(bits >> 52) - 1023;
    double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
    if (m > 1.4142135623730951) {
        m *= 0.5;
        ++exponent;
    }
    const double s = (m - 1) / (m + 1);
    double series = 0;
    for (int k = 21; k >= 1; k -= 2) series = series * (s * s) + 1.0 / k;
    return 2 * s * series + exponent * 0.6931471805599453;
}

}  // namespace

std::uint64_t Random::bits() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

double Random::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

double Random::normal() {
    if (has_spare_) {
        has_spare_ = false;
        return spare_;
    }
    double u, v, square;
    do {
        u = 2 * uniform() - 1;
        v = 2 * uniform() - 1;
        square = u * u + v * v;
    } while (square >= 1 || square == 0);
    const double factor = std::sqrt(-2 * portable_log(square) / square);
    spare_ = v * factor;
    has_spare_ = true;
    return u * factor;
}

std::vector<std::int32_t> random_integers(Random& random, std::size_t count, std::int32_t first,
                                          std::int32_t end) {
    std::vector<std::int32_t> numbers(count);
    for (std::int32_t& number : numbers)
        number = first + static_cast<std::int32_t>(random.below(static_cast<std::uint64_t>(end - first)));
    return numbers;
}

std::uint64_t mixed(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
    return Random(Random(Random(seed).bits() ^ a).bits() ^ b).bits();
}

}  // namespace attn
