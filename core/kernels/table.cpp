#include "kernels/table.hpp"

namespace attn {

float round_to(SoftmaxPrecision precision, float value) {
    switch (precision) {
        case SoftmaxPrecision::f16: return f16_to_f32(f32_to_f16(value));
        case SoftmaxPrecision::bf16: return bf16_to_f32(f32_to_bf16(value));
        case SoftmaxPrecision::f32:
        case SoftmaxPrecision::f64: break;
    }
    return value;
}

const Kernels& default_kernels() { return portable_kernels(); }

}  // namespace attn
