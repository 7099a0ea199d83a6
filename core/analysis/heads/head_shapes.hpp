// Lists the shapes in a multi-head attention (Vaswani et al. 2017, arXiv 1706.03762, section 3.2.2), with the
// numbers of a model.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/trace.hpp"

namespace attn {

struct HeadSizes {
    Index queries = 1, keys = 1;  // in tokens
    Index d_model = 1, heads = 1, kv_heads = 1, head_dim = 1;
    bool operator==(const HeadSizes&) const = default;
};
HeadSizes sizes_of(const Trace& trace, Index attention);
// "embed_dim = 128", 4 heads of 32, on a text of this many tokens.
inline HeadSizes tutorial_sizes(Index tokens) { return {tokens, tokens, 128, 4, 4, 32}; }

enum class ShapeStep { input, q, k, v, split_q, split_k, split_v, weights, outputs, joined, written };
inline constexpr Index shape_step_count = 11;

struct ShapedTensor {
    ShapeStep step;
    const char* name;          // "Q, head by head"
    const char* brief;         // where there is less room
    const char* made;          // its formula: "x W_Q"
    std::vector<Index> shape;  // the batch, which is 1, comes first
    std::vector<const char*> axes;
    std::array<Index, 2> matrix{};  // size of the weights that make it; 0 × 0: there are none
    std::vector<Index> products{};  // number of products, as factors; none: numbers are only moved
};
std::vector<ShapedTensor> shapes_of(const HeadSizes& sizes);

std::string written_shape(const std::vector<Index>& shape);  // "(1, 8, 14, 20)"
std::int64_t count_of(const std::vector<Index>& factors);

}  // namespace attn
