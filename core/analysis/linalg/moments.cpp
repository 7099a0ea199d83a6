#include "analysis/linalg/moments.hpp"

namespace attn {

namespace {

template <typename Number>
Moments moments(std::span<const Number> numbers) {
    if (numbers.empty()) return {};
    const auto count = static_cast<double>(numbers.size());
    double sum = 0, squares = 0;
    for (const Number number : numbers) sum += static_cast<double>(number);
    const double mean = sum / count;
    for (const Number number : numbers) {
        const double off = static_cast<double>(number) - mean;
        squares += off * off;
    }
    return {mean, squares / count};
}

}  // namespace

Moments moments_of(std::span<const double> numbers) { return moments(numbers); }
Moments moments_of(std::span<const float> numbers) { return moments(numbers); }

}  // namespace attn
