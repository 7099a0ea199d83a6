// The gradients that training needs of what table.hpp computes, behind a table of their own.
//
// A name that begins with d_ is the gradient of the loss with respect to what follows. Gradients of
// activations are overwritten, those of weights are added to. Every sum has a fixed order: the bits are the
// same for any number of threads.
//
// Some gradients are missing because forward kernels compute them: dx of a linear layer is `linear` of dy
// with the same weights in the other layout, with in and out exchanged; dx of `rope` is `rope` with the sine
// negated.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "kernels/table.hpp"

namespace attn {

// `forward` is the call that was made, in f32, with its output, row_max and row_log_sum. All inputs are
// finite. A row without an allowed cell contributes no gradient.
struct AttentionBackwardCall {
    AttentionCall forward;
    ConstHeads d_output;   // [heads, n_q, d_v]
    HeadsView<float> d_q;  // [heads, n_q, d_k]
    HeadsView<float> d_k;  // [kv_heads, n_k, d_k], summed over the heads that share a head of K
    HeadsView<float> d_v;  // [kv_heads, n_k, d_v], likewise
    // [heads, n_q, n_k], cell by cell even where the bias broadcasts, and added to; null data: not wanted.
    // Then the scale is not 0.
    HeadsView<float> d_bias{};
};

// One step of Adam with decoupled weight decay (Loshchilov & Hutter 2019, arXiv 1711.05101), as
// PyTorch's AdamW does it:
//   p ← p (1 − rate · weight_decay),  m ← beta1 m + (1 − beta1) g,  v ← beta2 v + (1 − beta2) g²,
//   p ← p − rate · (m / correction1) / (√(v / correction2) + epsilon),  where g = gradient_factor · gradient.
struct AdamW {
    float rate;
    float beta1 = 0.9f;
    float beta2 = 0.999f;
    float epsilon = 1e-8f;
    float weight_decay = 0;
    float correction1;          // 1 − beta1 to the power of the step number, which counts from 1
    float correction2;          // 1 − beta2 to that power
    float gradient_factor = 1;  // less than 1 if the gradient is clipped
};

struct BackwardKernels {
    std::string_view name;

    // Recomputes the weights from the statistics of their rows (Dao et al. 2022, arXiv 2205.14135), without
    // an n_q × n_k buffer. Each head of K is one task for the threads.
    void (*attention)(const AttentionBackwardCall&);

    // For y = x W + bias: d_weight += xᵀ dy, d_bias += the column sums of dy. x [n, in], dy [n, out],
    // d_weight [in, out] or [out, in] as `layout` says, d_bias [out] or empty.
    void (*linear)(ConstMatrix x, ConstMatrix dy, WeightView::Layout layout, MatrixView<float> d_weight,
                   std::span<float> d_bias);

    // x, dy, dx [n, d]; dx may be dy. gain, d_gain, d_bias [d]. d_gain and d_bias may be empty if unwanted.
    void (*layer_norm)(ConstMatrix x, std::span<const float> gain, float epsilon, ConstMatrix dy,
                       MatrixView<float> dx, std::span<float> d_gain, std::span<float> d_bias);
    void (*rms_norm)(ConstMatrix x, std::span<const float> gain, float epsilon, ConstMatrix dy,
                     MatrixView<float> dx, std::span<float> d_gain);

    // For y = activation(z); dz may be dy. The gradient of relu at 0 is 0.
    void (*activate)(Activation, std::span<const float> z, std::span<const float> dy, std::span<float> dz);

    // Replaces logits [n, vocabulary] by weight · (softmax − one-hot of the target), and sets loss [n] to
    // −ln softmax(target). Targets [n] are in [0, vocabulary), or −1 for no loss and no gradient.
    void (*cross_entropy)(MatrixView<float> logits, std::span<const std::int32_t> targets, float weight,
                          std::span<float> loss);

    // parameters, gradient, m and v have the same length.
    void (*adamw)(const AdamW&, std::span<float> parameters, std::span<const float> gradient,
                  std::span<float> m, std::span<float> v);

    double (*sum_of_squares)(std::span<const float>);
};

// d_table[ids[i]] += dy[i]; ids [n] in [0, d_table.rows), dy [n, d], d_table [vocabulary, d].
void embedding_backward(std::span<const std::int32_t> ids, ConstMatrix dy, MatrixView<float> d_table);

// Plain loops in double, rounded once at the end: slow, but kept to test the others against. Its attention
// reads nothing that the forward pass computed.
const BackwardKernels& reference_backward();
const BackwardKernels& default_backward();  // the fastest that this machine supports

// Lists every f32 table that this build has and this machine supports, the fastest last. The first is
// compiled for any machine.
std::span<const BackwardKernels* const> all_backward();

}  // namespace attn
