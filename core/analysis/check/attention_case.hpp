// One attention call as somebody else's code made it: what went in, what came out, and what was asked for.
// The arrays are canonical, whatever their layout in a file (case_reading.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/number_format.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// [batch, heads, rows, cols] in double, row-major.
struct Array4 {
    Index batch = 0, heads = 0, rows = 0, cols = 0;
    std::vector<double> values = {};

    Array4() = default;
    Array4(Index b, Index h, Index r, Index c)
        : batch(b), heads(h), rows(r), cols(c), values(static_cast<std::size_t>(b * h * r * c)) {}

    bool empty() const { return values.empty(); }
    std::size_t at(Index b, Index h, Index r) const {
        return static_cast<std::size_t>(((b * heads + h) * rows + r) * cols);
    }
    std::span<const double> row(Index b, Index h, Index r) const {
        return {values.data() + at(b, h, r), static_cast<std::size_t>(cols)};
    }
    std::span<double> row(Index b, Index h, Index r) {
        return {values.data() + at(b, h, r), static_cast<std::size_t>(cols)};
    }
    // An axis of size 1 broadcasts.
    double broadcast(Index b, Index h, Index r, Index c) const {
        return values[at(batch == 1 ? 0 : b, heads == 1 ? 0 : h, rows == 1 ? 0 : r) +
                      static_cast<std::size_t>(cols == 1 ? 0 : c)];
    }
    bool operator==(const Array4&) const = default;
};

// [batch, heads, n, d] as [batch, 1, n, heads · d], and back.
Array4 merged_heads(const Array4& heads);
Array4 split_heads(const Array4& merged, Index heads);

struct CaseWindow {
    Index before = 0, after = 0;  // query i sees keys i + offset − before … i + offset + after
    bool operator==(const CaseWindow&) const = default;
};

struct CaseRope {  // RoFormer, Su et al. 2021, arXiv 2104.09864
    bool interleaved =
        false;  // rotates the pairs (0, 1), (2, 3), …; otherwise (a, a + dim / 2), as Llama does
    double base = 10000;
    Index dim = 0;  // how many components are rotated
    bool operator==(const CaseRope&) const = default;
};

// Which keys a query may see: all of these together.
struct CaseMask {
    Array4 painted = {};          // [batch|1, heads|1, n_q|1, n_k|1], 1: allowed; empty: everything
    Array4 padding = {};          // [batch|1, 1, 1, n_k], 0: padding; empty: none
    std::optional<Index> causal;  // its offset: query i sees keys up to i + offset
    std::optional<CaseWindow> window;
    Index offset = 0;  // where the queries stand among the keys, for window and rotation

    bool empty() const { return painted.empty() && padding.empty() && !causal && !window; }
};

// x W + b of each projection; matrices are [1, 1, in, out], biases [1, 1, 1, out] or empty.
struct CaseProjections {
    Array4 x, x_kv;  // [batch, 1, n, d_model]
    Array4 w_q, w_k, w_v, b_q, b_k, b_v;
};

struct AttentionCase {
    Array4 q;     // [batch, heads, n_q, d_k]
    Array4 k, v;  // [batch, kv_heads, n_k, d_k], [batch, kv_heads, n_k, d_v]
    Array4 bias;  // [batch|1, heads|1, n_q|1, n_k|1], added to the scores; empty: none
    CaseMask mask;
    double scale = 0;
    double softcap = 0;  // 0: none
    std::optional<CaseRope> rope;
    std::optional<CaseProjections> projections;  // q, k and v follow from these
    Array4 w_o, b_o;                             // [1, 1, heads · d_v, d_out], [1, 1, 1, d_out]; empty: none

    // What came out. The output is merged, [batch, 1, n_q, heads · d_v or d_out]; the weights are
    // [batch, heads, n_q, n_k], or [batch, 1, n_q, n_k] if the code returned one map for all heads.
    Array4 output, weights;
    NumberFormat output_format = NumberFormat::f32;  // which its numbers fit
    NumberFormat input_format = NumberFormat::f32;

    bool alignment_is_open = false;        // it does not say where the queries of a causal mask stand
    bool output_by_head = false;           // in the file the output is [batch, heads, n_q, d_v]
    Index output_rank = 3;                 // in the file
    std::vector<std::string> notes = {};   // one sentence for each choice that the reading made
    std::vector<std::string> unread = {};  // names of arrays that a case has no use for

    Index batch() const { return q.batch; }
    Index heads() const { return q.heads; }
    Index kv_heads() const { return k.heads; }
    Index queries() const { return q.rows; }
    Index keys() const { return k.rows; }
    Index d_k() const { return q.cols; }
    Index d_v() const { return v.cols; }
    Index output_width() const { return w_o.empty() ? heads() * d_v() : w_o.cols; }
};

}  // namespace attn
