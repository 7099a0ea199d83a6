// The fast loops behind one table, so that an instruction set is a row in it and every row is tested against
// the double-precision reference.
#pragma once

#include <span>
#include <string_view>

#include "tensor/activation.hpp"
#include "tensor/dtype.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// A weight matrix as it lies in its file: [in, out] ("Conv1D", GPT-2) or [out, in] (nn.Linear), any float type.
struct WeightView {
    enum class Layout { in_out, out_in };
    const std::byte* data = nullptr;  // little-endian, row-major, any alignment
    DType dtype = DType::f32;         // f32, f16 or bf16
    Index in = 0;
    Index out = 0;
    Layout layout = Layout::out_in;
};

// Type in which exp and its sum are computed ("softmax_precision" of the ONNX Attention operator).
enum class SoftmaxPrecision { f32, f64, f16, bf16 };

// Each value becomes the nearest of that precision; f32 and f64 keep it.
void round_to(SoftmaxPrecision precision, std::span<float> values);

enum class Coverage { none, some, all };

// The mask as the kernels see it; the default allows every cell.
struct CellRule {
    const void* self = nullptr;
    // allowed[i] = whether query may look at key first_key + i.
    void (*row)(const void* self, Index head, Index query, Index first_key,
                std::span<std::uint8_t> allowed) = nullptr;
    // What a tile holds, so that whole tiles can be skipped; `some` is always a right answer.
    Coverage (*tile)(const void* self, Index head, Range queries, Range keys) = nullptr;
};

struct AttentionCall {
    ConstHeads q;  // [heads, n_q, d_k]
    ConstHeads k;  // [kv_heads, n_k, d_k]; heads a multiple of kv_heads, repeat-interleave
    ConstHeads v;  // [kv_heads, n_k, d_v]
    float scale = 1;
    float softcap = 0;  // 0: none
    CellRule rule{};
    ConstHeads bias{};  // [heads, n_q, n_k] with stride 0 on broadcast heads or rows; null data: none
    bool bias_one_column = false;  // every key of a row takes column 0
    SoftmaxPrecision softmax_precision = SoftmaxPrecision::f32;
    HeadsView<float> output;        // [heads, n_q, d_v]
    MatrixView<float> row_max;      // [heads, n_q]
    MatrixView<float> row_log_sum;  // [heads, n_q]
};

// Cells of a map in blocks from the upper left corner on, the last ones cut off at its edges. A cell of −inf is masked and
// takes no part.
struct PoolCall {
    ConstMatrix cells;
    Index block_rows, block_cols;
    bool may_be_masked = true;  // false: no cell is −inf
    bool is_signed =
        false;  // the strongest is the farthest from zero, of two alike the positive one; else the largest
    // [⌈rows / block_rows⌉, ⌈cols / block_cols⌉] each
    MatrixView<float> strongest;  // −inf: every cell is masked; NaN where one cell is
    MatrixView<float> sum;
    MatrixView<float> count;  // of cells that are not masked
    // Added to; empty: not wanted.
    std::span<double> row_sums, column_sums;
};

struct Kernels {
    std::string_view name;

    // Online softmax over key tiles (Milakov & Gimelshein 2018, arXiv 1805.02867; Rabe & Staats 2021,
    // arXiv 2112.05682). No n_q × n_k buffer. Results at the edges as attention/record.hpp says.
    void (*attention)(const AttentionCall&);

    // scores[i, j] = Σ_a q[i, a] k[j, a]; q [rows, d], k [cols, d], scores [rows, cols].
    void (*dot_products)(ConstMatrix q, ConstMatrix k, MatrixView<float> scores);

    // y = activation(x W + bias); x [n, in], y [n, out], bias [out] or empty.
    void (*linear)(ConstMatrix x, const WeightView& weight, std::span<const float> bias,
                   Activation activation, MatrixView<float> y);

    void (*softmax)(MatrixView<float> rows);  // in place, over the last axis

    // Masked scores -> weights, exp(score − max) / exp(log_sum), by the two numbers that `attention` gives for a row;
    // at the edges as there. In place; gives −Σ w ln w of them.
    float (*weights)(std::span<float> row, float max, float log_sum);

    void (*soft_cap)(std::span<float> x, float cap);  // cap · tanh(x / cap), in place

    Index (*pool)(const PoolCall&);  // gives how many cells are NaN

    // y = (x − mean) / √(var + epsilon) · gain + bias, over each row; bias may be empty.
    void (*layer_norm)(ConstMatrix x, std::span<const float> gain, std::span<const float> bias, float epsilon,
                       MatrixView<float> y);
    // y = x / √(mean(x²) + epsilon) · gain, over each row (Zhang & Sennrich 2019, arXiv 1910.07467).
    void (*rms_norm)(ConstMatrix x, std::span<const float> gain, float epsilon, MatrixView<float> y);

    void (*activate)(Activation, std::span<float> x);  // in place

    // Rotary positions (Su et al. 2021, arXiv 2104.09864), in place on rows [n, d] of one head: row i turns the
    // pairs by angles given as cosine and sine [n, rotary_dim / 2]. Half layout pairs (a, a + rotary_dim/2),
    // interleaved pairs (2a, 2a + 1); columns beyond rotary_dim stay.
    void (*rope)(MatrixView<float> rows, ConstMatrix cosine, ConstMatrix sine, bool interleaved);
};

const Kernels& reference_kernels();  // plain loops in double, rounded once at the end; slow, kept for ever
const Kernels& portable_kernels();   // f32, Eigen for the matrix products; any machine
const Kernels& default_kernels();    // the fastest that this machine runs

// Every table in f32 that this build and this machine run, the fastest last.
std::span<const Kernels* const> all_kernels();

}  // namespace attn
