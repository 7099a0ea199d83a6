#include "kernels/backward.hpp"

namespace attn {

void embedding_backward(std::span<const std::int32_t> ids, ConstMatrix dy, MatrixView<float> d_table) {
    for (Index i = 0; i < dy.rows; ++i) {
        const float* from = dy.row(i);
        float* to = d_table.row(ids[static_cast<std::size_t>(i)]);
        for (Index c = 0; c < dy.cols; ++c) to[c] += from[c];
    }
}

}  // namespace attn
