#include "tensor/activation.hpp"

#include <cmath>
#include <numbers>

namespace attn {

double activated(Activation activation, double x) {
    switch (activation) {
        case Activation::none: break;
        case Activation::relu: return x < 0 ? 0 : x;
        case Activation::gelu: return x * 0.5 * std::erfc(-x / std::numbers::sqrt2);
        case Activation::gelu_tanh:
            return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
        case Activation::silu: return x / (1 + std::exp(-x));
    }
    return x;
}

}  // namespace attn
