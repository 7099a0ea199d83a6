#include "attention/multi_head.hpp"

#include <algorithm>

namespace attn {

namespace {

// Messages call the projection `what`.
Status check(const char* what, const Tensor& x, const Tensor& w, const Tensor& b, Index heads) {
    const auto wrong = [&](const std::string& text) {
        return Error{"multi-head attention: " + std::string(what) + " " + text};
    };
    if (x.rank() != 2 || w.rank() != 2 || x.dim(1) != w.dim(0))
        return wrong("is " + to_string(w.shape()) + " and its input " + to_string(x.shape()) +
                     "; the input's columns must be the matrix's rows");
    if (heads < 1 || w.dim(1) % heads != 0)
        return wrong("has " + std::to_string(w.dim(1)) + " columns, which do not split into " +
                     std::to_string(heads) + " heads; make them a multiple");
    if (b.size() != 0 && b.shape() != Shape{w.dim(1)})
        return wrong("has a bias of " + to_string(b.shape()) + "; give " + std::to_string(w.dim(1)) +
                     " numbers or none");
    if (const auto size = element_count({x.dim(0), w.dim(1)}, sizeof(float)); !size)
        return wrong("makes more numbers than fit into memory: " + size.error().message);
    return ok();
}

WeightView view(const Tensor& w, Range rows) {
    return {.data = reinterpret_cast<const std::byte*>(w.data() + rows.begin * w.dim(1)),
            .dtype = DType::f32,
            .in = rows.size(),
            .out = w.dim(1),
            .layout = WeightView::Layout::in_out};
}

// Returns x W + b as [heads, n, width].
Tensor projected(const Tensor& x, const Tensor& w, const Tensor& b, Index heads, const Kernels& kernels) {
    const Index n = x.dim(0), width = w.dim(1) / heads;
    Tensor side_by_side({n, w.dim(1)}), split({heads, n, width});
    kernels.linear(x.matrix(), view(w, {0, w.dim(0)}), b.values(), Activation::none, side_by_side.matrix());
    for (Index h = 0; h < heads; ++h)
        for (Index i = 0; i < n; ++i)
            std::copy_n(side_by_side.matrix().row(i) + h * width, width, split.heads().head(h).row(i));
    return split;
}

}  // namespace

Result<MultiHeadAttention> MultiHeadAttention::run(const Tensor& x_q, const Tensor& x_kv, MultiHeadWeights w,
                                                   AttentionSpec spec, const Kernels& kernels) {
    if (auto s = check("w_q", x_q, w.w_q, w.b_q, w.heads); !s) return s.error();
    if (auto s = check("w_k", x_kv, w.w_k, w.b_k, w.kv_heads); !s) return s.error();
    if (auto s = check("w_v", x_kv, w.w_v, w.b_v, w.kv_heads); !s) return s.error();

    auto record = Record::run(projected(x_q, w.w_q, w.b_q, w.heads, kernels),
                              projected(x_kv, w.w_k, w.b_k, w.kv_heads, kernels),
                              projected(x_kv, w.w_v, w.b_v, w.kv_heads, kernels), std::move(spec), kernels);
    if (!record) return record.error();
    const Tensor concatenated({record->queries(), w.heads * record->d_v()});
    if (auto s = check("w_o", concatenated, w.w_o, w.b_o, 1); !s) return s.error();
    return MultiHeadAttention(*std::move(record), std::move(w), kernels);
}

MultiHeadAttention::MultiHeadAttention(Record record, MultiHeadWeights weights, const Kernels& kernels)
    : weights_(std::move(weights)),
      record_(std::move(record)),
      concatenated_({record_.queries(), record_.heads() * record_.d_v()}),
      output_({record_.queries(), weights_.w_o.dim(1)}),
      kernels_(&kernels) {
    for (Index h = 0; h < record_.heads(); ++h)
        for (Index i = 0; i < record_.queries(); ++i)
            std::copy_n(record_.output().heads().head(h).row(i), record_.d_v(),
                        concatenated_.matrix().row(i) + h * record_.d_v());
    kernels.linear(std::as_const(concatenated_).matrix(), view(weights_.w_o, {0, weights_.w_o.dim(0)}),
                   weights_.b_o.values(), Activation::none, output_.matrix());
}

Tensor MultiHeadAttention::contribution(Index head) const {
    const Index d_v = record_.d_v();
    Tensor added(output_.shape());
    kernels_->linear(record_.output().heads().head(head), view(weights_.w_o, {head * d_v, (head + 1) * d_v}),
                     {}, Activation::none, added.matrix());
    return added;
}

}  // namespace attn
