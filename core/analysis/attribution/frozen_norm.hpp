// A norm whose statistics are held at those of one row: then it is a linear map and a bias (Elhage et al.
// 2021, "A Mathematical Framework for Transformer Circuits", on LayerNorm).
#pragma once

#include <span>
#include <vector>

#include "model/network.hpp"

namespace attn {

class FrozenNorm {
  public:
    FrozenNorm(const Norm& norm, std::span<const double> x);
    FrozenNorm(const Norm& norm, std::span<const float> x);

    // gain (y − mean of y) / deviation; RMSNorm has no mean.
    std::vector<double> linear(std::span<const double> y) const;
    // The same, plus bias: for the row itself this is what the norm gives.
    std::vector<double> of(std::span<const double> y) const;
    // The direction that has the same product with what comes in as `direction` with what comes out, but for
    // the bias: direction · of(y) = back(direction) · y + direction · bias.
    std::vector<double> back(std::span<const double> direction) const;
    double bias(std::span<const double> direction) const;  // direction · bias
    // In place, in f32 with sums in double.
    void hold(std::span<float> row, bool with_bias) const;
    void hold_back(std::span<float> direction) const;
    double deviation() const { return deviation_; }

  private:
    const Norm* norm_;
    double deviation_ = 1;
};

}  // namespace attn
