// The fast loops behind one table: an instruction set is a row in it, and every row is tested against the
// double-precision reference.
#pragma once

#include <limits>
#include <span>
#include <string_view>

#include "tensor/activation.hpp"
#include "tensor/tensor.hpp"
#include "tensor/weights.hpp"

namespace attn {

// exp and its sum are computed in this type ("softmax_precision" of the ONNX Attention operator).
enum class SoftmaxPrecision { f32, f64, f16, bf16 };

// Rounds each value to the nearest of that precision; f32 and f64 leave it unchanged.
void round_to(SoftmaxPrecision precision, std::span<float> values);

enum class Coverage { none, some, all };

// The mask as the kernels see it. The default allows every cell.
struct CellRule {
    const void* self = nullptr;
    // allowed[i] says whether the query may attend to key first_key + i.
    void (*row)(const void* self, Index head, Index query, Index first_key,
                std::span<std::uint8_t> allowed) = nullptr;
    // Says what a tile holds, so that whole tiles can be skipped. `some` is always a valid answer.
    Coverage (*tile)(const void* self, Index head, Range queries, Range keys) = nullptr;
    // Narrows the keys to those of them that the query may attend to, where these are one run or none.
    // `false` is always a valid answer, and leaves them as they are.
    bool (*run)(const void* self, Index head, Index query, Range& keys) = nullptr;
};

// What a row of scores has summed up over some keys: Σ exp(score − reference).
struct RowSums {
    float max = -std::numeric_limits<float>::infinity();
    float reference = -std::numeric_limits<float>::infinity();
    double sum = 0;
};

// Some keys of a call that computes row numbers in parts, one call for each, in the order of the keys.
struct KeyPart {
    Range keys;                // begin at a multiple of 64, and end at one or with the last key
    bool last = false;         // the row numbers are written
    std::span<RowSums> rows;   // [n_q]
    MatrixView<float> scores;  // [n_q, n_k rounded up to 64], takes the masked scores of these keys
};

struct AttentionCall {
    ConstHeads q;  // [heads, n_q, d_k]
    ConstHeads k;  // [kv_heads, n_k, d_k]; heads a multiple of kv_heads, repeat-interleave
    ConstHeads v;  // [kv_heads, n_k, d_v]
    float scale = 1;
    float softcap = 0;  // 0: none
    CellRule rule{};
    // [heads, n_q, n_k], with stride 0 on broadcast heads or rows, and −1 on rows where it depends on key −
    // query alone; null data: none
    ConstHeads bias{};
    bool bias_one_column = false;  // every key of a row takes column 0
    SoftmaxPrecision softmax_precision = SoftmaxPrecision::f32;
    HeadsView<float> output;        // [heads, n_q, d_v]
    MatrixView<float> row_max;      // [heads, n_q]
    MatrixView<float> row_log_sum;  // [heads, n_q]
    // Null: all keys at once. Otherwise there is one head, and the output has no columns; the exponentials
    // are of f32. Bits are those of all keys at once.
    const KeyPart* part = nullptr;
};

// Pools the cells of a map in blocks, counted from the upper left corner; the last blocks are cut off at the
// edges. A cell of −inf is masked and takes no part.
struct PoolCall {
    ConstMatrix cells;
    Index block_rows, block_cols;
    bool may_be_masked = true;  // false: no cell is −inf
    bool is_signed = false;  // true: strongest is the farthest from 0 (positive if tied); false: the largest
    // Each of these is [⌈rows / block_rows⌉, ⌈cols / block_cols⌉].
    MatrixView<float> strongest;  // −inf: every cell is masked; NaN: a cell is NaN
    MatrixView<float> sum;
    MatrixView<float> count;  // how many cells are not masked
    // The sums are added to these. They may be empty if they are not wanted.
    std::span<double> row_sums, column_sums;
};

// The part of the cells that fused attention computes at a time.
struct TileSize {
    Index queries = 1, keys = 1;
    bool operator==(const TileSize&) const = default;
};

struct Kernels {
    std::string_view name;
    TileSize attention_tile{};  // the tile of `attention`; the reference goes cell by cell

    // Online softmax over key tiles (Milakov & Gimelshein 2018, arXiv 1805.02867; Rabe & Staats 2021,
    // arXiv 2112.05682), without an n_q × n_k buffer. attention/record.hpp defines the results in edge cases.
    void (*attention)(const AttentionCall&);

    // scores[i, j] = Σ_a q[i, a] k[j, a]; q [rows, d], k [cols, d], scores [rows, cols].
    void (*dot_products)(ConstMatrix q, ConstMatrix k, MatrixView<float> scores);

    // y = activation(x W + bias); x [n, in], y [n, out], bias [out] or empty.
    void (*linear)(ConstMatrix x, const WeightView& weight, std::span<const float> bias,
                   Activation activation, MatrixView<float> y);

    void (*softmax)(MatrixView<float> rows);  // in place, over the last axis

    // Turns masked scores in place into weights, exp(score − max) / exp(log_sum), given the two numbers that
    // `attention` computes for the row, with the same edge cases. Returns −Σ w ln w of the weights.
    float (*weights)(std::span<float> row, float max, float log_sum);

    void (*soft_cap)(std::span<float> x, float cap);  // cap · tanh(x / cap), in place

    Index (*pool)(const PoolCall&);  // returns how many cells are NaN

    // y = (x − mean) / √(var + epsilon) · gain + bias, over each row; bias may be empty.
    void (*layer_norm)(ConstMatrix x, std::span<const float> gain, std::span<const float> bias, float epsilon,
                       MatrixView<float> y);
    // y = x / √(mean(x²) + epsilon) · gain, over each row (Zhang & Sennrich 2019, arXiv 1910.07467).
    void (*rms_norm)(ConstMatrix x, std::span<const float> gain, float epsilon, MatrixView<float> y);

    void (*activate)(Activation, std::span<float> x);  // in place

    // Rotary positions (Su et al. 2021, arXiv 2104.09864), in place on rows [n, d] of one head: row i rotates
    // the pairs by the angles given as cosine and sine [n, rotary_dim / 2]. The half layout pairs (a, a +
    // rotary_dim/2), the interleaved one (2a, 2a + 1). Columns beyond rotary_dim do not change.
    void (*rope)(MatrixView<float> rows, ConstMatrix cosine, ConstMatrix sine, bool interleaved);
};

const Kernels& reference_kernels();  // plain loops in double, rounded once at the end; slow, for tests
const Kernels& portable_kernels();   // f32, Eigen for the matrix products; any machine
const Kernels& default_kernels();    // the fastest that this machine supports

// Lists every f32 table that this build has and this machine supports, the fastest last.
std::span<const Kernels* const> all_kernels();

}  // namespace attn
