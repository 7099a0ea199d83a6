#include "kernels/table.hpp"

namespace attn {

void round_to(SoftmaxPrecision precision, std::span<float> values) {
    if (precision == SoftmaxPrecision::f16) round_to(DType::f16, values);
    if (precision == SoftmaxPrecision::bf16) round_to(DType::bf16, values);
}

}  // namespace attn
