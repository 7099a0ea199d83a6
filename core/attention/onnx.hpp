// The ONNX operator Attention, opset 23 and 24 (https://onnx.ai/onnx/operators/onnx__Attention.html),
// computed by Records: one per batch entry.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "attention/record.hpp"
#include "tensor/dtype.hpp"

namespace attn::onnx {

// The mask is added to the scores or, if boolean, allows the cells that are not 0. It has rank 2 to 4 and
// broadcasts to [batch, heads, n_q, n_k]. If its last axis is shorter than n_k, the keys beyond it are
// forbidden.
struct AttentionMask {
    Tensor values;
    bool boolean = false;
};

struct AttentionInputs {
    Tensor q;  // [batch, heads, n_q, d_k], or [batch, n_q, heads · d_k] if the number of heads is given
    Tensor k;  // [batch, kv_heads, n_new, d_k], or [batch, n_new, kv_heads · d_k]
    Tensor v;  // [batch, kv_heads, n_new, d_v], or [batch, n_new, kv_heads · d_v]
    std::optional<AttentionMask> mask;
    std::optional<Tensor> past_key;    // [batch, kv_heads, n_past, d_k]; n_k = n_past + n_new
    std::optional<Tensor> past_value;  // [batch, kv_heads, n_past, d_v]
    std::optional<std::vector<std::int64_t>> nonpad_kv_seqlen;  // [batch], how many keys are not padding

    std::optional<Index> heads;     // q_num_heads
    std::optional<Index> kv_heads;  // kv_num_heads
    // Query i sees keys up to i + n_past, or up to i + nonpad_kv_seqlen − n_q, which may be negative.
    bool causal = false;
    std::optional<float> scale;
    float softcap = 0;  // none unless positive
    // f32 is the default even if q is f16: the recorded f16 cases were computed that way.
    SoftmaxPrecision softmax_precision = SoftmaxPrecision::f32;
    DType dtype = DType::f32;  // the type of q, k and v; the outputs are rounded to it
};

struct AttentionOutputs {
    Tensor y;                     // laid out as q, with d_v for d_k
    Tensor present_key;           // [batch, kv_heads, n_k, d_k]
    Tensor present_value;         // [batch, kv_heads, n_k, d_v]
    std::vector<Record> records;  // [batch]
    DType dtype = DType::f32;
};

Result<AttentionOutputs> attention(const AttentionInputs& inputs, const Kernels& kernels = default_kernels());

// Returns what qk_matmul_output_mode 0, 1, 2 or 3 selects: scaled, capped, masked or weight. This
// [batch, heads, n_q, n_k] is the only quadratic output, so it is computed only on request.
Result<Tensor> qk_matmul_output(const AttentionOutputs& outputs, std::int64_t mode);

}  // namespace attn::onnx
