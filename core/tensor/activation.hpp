// The functions that can stand between the two layers of a transformer's MLP.
#pragma once

namespace attn {

enum class Activation {
    none,
    relu,
    gelu,       // x Φ(x), exact, by erf
    gelu_tanh,  // its tanh form, "gelu_new" (Hendrycks & Gimpel 2016, arXiv 1606.08415)
    silu,       // x / (1 + exp(−x))
};

double activated(Activation activation, double x);

}  // namespace attn
