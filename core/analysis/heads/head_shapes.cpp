#include "analysis/heads/head_shapes.hpp"

#include <functional>
#include <numeric>

namespace attn {

HeadSizes sizes_of(const Trace& trace, Index attention) {
    const Record& record = trace.attention(attention).record();
    return {record.queries(), record.keys(),     trace.model()->config().d_model,
            record.heads(),   record.kv_heads(), record.d_v()};
}

std::vector<ShapedTensor> shapes_of(const HeadSizes& s) {
    using enum ShapeStep;
    const Index q_width = s.heads * s.head_dim, kv_width = s.kv_heads * s.head_dim;
    const auto projected = [&](ShapeStep step, const char* name, const char* made, Index tokens,
                               Index width) {
        return ShapedTensor{step,
                            name,
                            name,
                            made,
                            {1, tokens, width},
                            {"batch", "tokens", "heads · head_dim"},
                            {s.d_model, width},
                            {tokens, s.d_model, width}};
    };
    const auto split = [&](ShapeStep step, const char* name, const char* brief, Index heads, Index tokens) {
        return ShapedTensor{step,
                            name,
                            brief,
                            "split",
                            {1, heads, tokens, s.head_dim},
                            {"batch", "heads", "tokens", "head_dim"}};
    };
    return {
        {input, "x", "x", "what attention reads", {1, s.queries, s.d_model}, {"batch", "tokens", "d_model"}},
        projected(q, "Q", "x W_Q", s.queries, q_width),
        projected(k, "K", "x W_K", s.keys, kv_width),
        projected(v, "V", "x W_V", s.keys, kv_width),
        split(split_q, "Q, head by head", "Q by head", s.heads, s.queries),
        split(split_k, "K, head by head", "K by head", s.kv_heads, s.keys),
        split(split_v, "V, head by head", "V by head", s.kv_heads, s.keys),
        {weights,
         "Weights, one map per head",
         "weights",
         "softmax(Q Kᵀ · scale)",
         {1, s.heads, s.queries, s.keys},
         {"batch", "heads", "queries", "keys"},
         {},
         {s.heads, s.queries, s.keys, s.head_dim}},
        {outputs,
         "Outputs, head by head",
         "outputs",
         "weights · V",
         {1, s.heads, s.queries, s.head_dim},
         {"batch", "heads", "tokens", "head_dim"},
         {},
         {s.heads, s.queries, s.keys, s.head_dim}},
        {joined,
         "Outputs, side by side",
         "joined",
         "concatenate",
         {1, s.queries, q_width},
         {"batch", "tokens", "heads · head_dim"}},
        {written,
         "What attention writes",
         "written",
         "outputs W_O",
         {1, s.queries, s.d_model},
         {"batch", "tokens", "d_model"},
         {q_width, s.d_model},
         {s.queries, q_width, s.d_model}},
    };
}

std::string written_shape(const std::vector<Index>& shape) {
    std::string text = "(";
    for (const Index size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
    return text + ")";
}

std::int64_t count_of(const std::vector<Index>& factors) {
    return std::accumulate(factors.begin(), factors.end(), std::int64_t{1}, std::multiplies{});
}

}  // namespace attn
