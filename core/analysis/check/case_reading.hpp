// Reads a case from named arrays: what is what follows from names as people write them, layouts from shapes.
//
//   q k v output   [n, d], [heads, n, d], [batch, heads, n, d], [batch, n, heads, d] or, with `heads`,
//                  [n, heads · d] and [batch, n, heads · d]
//   weights        [n_q, n_k], [heads, n_q, n_k], [batch, heads, n_q, n_k], or [batch, n_q, n_k]
//   mask           boolean or 0 and 1 (1: may attend), else added; [n_q, n_k], [batch, n_k], [n_k], or with
//                  batch and heads before; key_padding_mask has 1 where keys are padding
//   bias           as a mask, added to the scores
//   x, x_kv        [n, d_model] or [batch, n, d_model], with w_q w_k w_v (w_o) and b_q b_k b_v (b_o);
//                  matrices are [in, out], or [out, in] as PyTorch's Linear has them, "q_proj.weight"
//   numbers        heads kv_heads causal scale softcap window past rope_base rope_interleaved rope_dim
//
// `causal` aligns the last query with the last key, as with a past; `past` says otherwise. A `window` of w
// lets a query see w keys, itself and those before it; a pair says how many before and after.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/check/attention_case.hpp"
#include "io/tensor_files.hpp"

namespace attn {

struct CaseArray {
    std::string name;
    DType dtype = DType::f32;
    Shape shape;
    std::vector<double> values;  // row-major
};

// The arrays of dropped files, as numbers in double. It is an error if no array can be read and used.
Result<std::vector<CaseArray>> case_arrays(std::vector<DroppedFile> files);

// Shapes may allow more than one reading; the most natural one comes first. An error says which array is
// missing or does not fit.
Result<std::vector<AttentionCase>> read_case(const std::vector<CaseArray>& arrays);

// What a name means in a case: "q", "w_o", "output", …; empty: nothing.
std::string_view case_role(std::string_view name);

}  // namespace attn
