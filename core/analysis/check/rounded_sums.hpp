// Sums that are rounded at every addition, in order.
#pragma once

#include <span>

#include "tensor/number_format.hpp"

namespace attn {

inline double rounded_dot(NumberFormat format, std::span<const double> x, std::span<const double> y) {
    if (format == NumberFormat::f32) {
        float sum = 0;
        for (std::size_t i = 0; i < x.size(); ++i) sum += static_cast<float>(x[i] * y[i]);
        return static_cast<double>(sum);
    }
    double sum = 0;
    if (format == NumberFormat::f64)
        for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
    else
        for (std::size_t i = 0; i < x.size(); ++i) sum = rounded(format, sum + x[i] * y[i]);
    return sum;
}

}  // namespace attn
