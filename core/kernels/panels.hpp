// The one matrix product of the portable kernels: C = A · B or C += A · B, with B packed into panels of 16
// columns.
//
// Every element of C is summed in the order of the inner index, in blocks of 256, whatever else is in the
// call. So a row computed alone has the same bits as the same row among many. Eigen's own product does not
// promise that, since it changes kernels with the shape; only Eigen's fixed-size arrays are used, as the
// vector type.
#pragma once

#include "kernels/table.hpp"
#include "tensor/tensor.hpp"

namespace attn {

inline constexpr Index panel_width = 16;

// Holds B [depth, cols] as panels [depth, 16]; the last panel is padded with zeros.
class Panels {
  public:
    void pack(ConstMatrix b);             // b [depth, cols]
    void pack_transposed(ConstMatrix b);  // b [cols, depth]
    // Packs the given columns of a weight matrix [in, out], widened to f32.
    void pack(const WeightView& weight, Range columns);

    Index depth() const { return depth_; }
    Index cols() const { return cols_; }
    const float* panel(Index p) const { return values_.data() + p * depth_ * panel_width; }

  private:
    void resize(Index depth, Index cols);
    float* panel(Index p) { return values_.data() + p * depth_ * panel_width; }

    Index depth_ = 0;
    Index cols_ = 0;
    AlignedVector<float> values_;
};

// c [rows, cols] = a [rows, depth] · b, or c + a · b.
void multiply(ConstMatrix a, const Panels& b, MatrixView<float> c);
void multiply_add(ConstMatrix a, const Panels& b, MatrixView<float> c);

}  // namespace attn
