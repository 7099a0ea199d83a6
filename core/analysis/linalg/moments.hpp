// The mean and the variance of numbers.
#pragma once

#include <cstddef>
#include <span>

namespace attn {

struct Moments {
    double mean = 0, variance = 0;  // Σ(x − mean)²/n; 0 of no numbers
};
Moments moments_of(std::span<const double> numbers);
Moments moments_of(std::span<const float> numbers);

// The same of numbers that come one by one (Welford 1962, doi 10.2307/1266577).
class RunningMoments {
  public:
    void add(double number) {
        const double off = number - mean_;
        mean_ += off / static_cast<double>(++count_);
        squares_ += off * (number - mean_);
    }
    Moments moments() const { return {mean_, count_ ? squares_ / static_cast<double>(count_) : 0}; }

  private:
    std::size_t count_ = 0;
    double mean_ = 0, squares_ = 0;
};

}  // namespace attn
