// Produces the normal numbers of numpy.random.RandomState(seed).randn, so that a tutorial's seeded example
// shows its readers' numbers, and anything generated here can be reproduced in Python.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <random>

namespace attn::app {

class NumpyRandom {
  public:
    explicit NumpyRandom(std::uint32_t seed) : bits_(seed) {}

    // Draws a standard normal number by Marsaglia's polar method on 53-bit uniforms of MT19937; of each pair,
    // the second number comes first.
    double normal() {
        if (spare_) {
            const double value = *spare_;
            spare_.reset();
            return value;
        }
        double x, y, r2;
        do {
            x = 2.0 * uniform() - 1.0;
            y = 2.0 * uniform() - 1.0;
            r2 = x * x + y * y;
        } while (r2 >= 1.0 || r2 == 0.0);
        const double f = std::sqrt(-2.0 * std::log(r2) / r2);
        spare_ = f * x;
        return f * y;
    }

  private:
    double uniform() {
        const auto a = static_cast<double>(bits_() >> 5);
        const auto b = static_cast<double>(bits_() >> 6);
        return (a * 67108864.0 + b) / 9007199254740992.0;
    }

    std::mt19937 bits_;
    std::optional<double> spare_;
};

}  // namespace attn::app
