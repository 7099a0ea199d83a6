#include "kernels/table.hpp"

namespace attn {

void round_to(SoftmaxPrecision precision, std::span<float> values) {
    if (precision == SoftmaxPrecision::f16) round_to(DType::f16, values);
    if (precision == SoftmaxPrecision::bf16) round_to(DType::bf16, values);
}

const Kernels& default_kernels() { return *all_kernels().back(); }

}  // namespace attn
