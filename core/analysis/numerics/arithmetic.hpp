// How a chain of attention is rounded: in which format, where, and in which order its sums are added.
//
// Products, sums and quotients of numbers with at most 24 bits of precision are computed in double and
// rounded once more, which gives the same as rounding the exact result: 53 ≥ 2 · 24 + 2 (Figueroa 1995, "When
// is double rounding innocuous?"). Exponentials and tanh are those of double, rounded.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/number_format.hpp"

namespace attn {

enum class RoundedSteps : std::uint8_t {
    all,    // every product, every partial sum and every result
    sums,   // products and partial sums are f32; a result is rounded when it is stored, as in a plain GEMM
    fused,  // all between Q, K, V and the weights is f32, as in fused kernels and tensor cores
};

enum class SumOrder : std::uint8_t {
    in_order,
    pairs,        // halves of halves
    compensated,  // Neumaier 1974: the error of each addition is added at the end
    online,       // dot products in order; softmax and output key by key (Milakov & Gimelshein 2018)
};

struct Arithmetic {
    NumberFormat format = NumberFormat::f16;
    RoundedSteps steps = RoundedSteps::all;
    SumOrder order = SumOrder::in_order;
    bool subtracts_max = true;  // online always does

    bool operator==(const Arithmetic&) const = default;
    bool is_online() const { return order == SumOrder::online; }
    bool is_shifted() const { return subtracts_max || is_online(); }
    // The format of products and partial sums, and the one that raw scores … sums are stored in.
    NumberFormat of_sums() const { return steps == RoundedSteps::all ? format : at_least_f32(); }
    NumberFormat of_scores() const { return steps == RoundedSteps::fused ? at_least_f32() : format; }

  private:
    NumberFormat at_least_f32() const {
        return format == NumberFormat::f64 ? NumberFormat::f64 : NumberFormat::f32;
    }
};
// What the others are compared with: double, whose error this adds almost nothing to.
inline Arithmetic exact_arithmetic(bool subtracts_max) {
    return {NumberFormat::f64, RoundedSteps::all, SumOrder::compensated, subtracts_max};
}

// The sum of numbers of the format, each partial sum rounded to it. Online is in order.
double rounded_sum(NumberFormat format, SumOrder order, std::span<const double> values);

}  // namespace attn
