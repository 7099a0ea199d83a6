#include "analysis/heads/virtual_head.hpp"

#include "analysis/heads/composition.hpp"
#include "model/head_projection.hpp"

namespace attn {

namespace {

// W_O U E W_V of the two ends, times the product between them.
EigenvalueSearch eigenvalues_of(const Tensor& between, const Tensor& middle) {
    const Index size = between.dim(0);
    std::vector<double> matrix(static_cast<std::size_t>(size * size));
    for (Index i = 0; i < size; ++i)
        for (Index k = 0; k < size; ++k)
            for (Index j = 0; j < size; ++j)
                matrix[static_cast<std::size_t>(i * size + j)] +=
                    static_cast<double>(between.matrix()(i, k)) * static_cast<double>(middle.matrix()(k, j));
    return {size, matrix};
}

}  // namespace

VirtualHead::VirtualHead(const TokenProducts& products, HeadIndex from, HeadIndex to)
    : ends_(products.ends()),
      from_(from),
      to_(to),
      middle_(virtual_middle(ends_, from, to)),
      search_(eigenvalues_of(products.between(to, from), middle_)) {}

bool VirtualHead::step() {
    if (!copying_) {
        if (!search_.step()) copying_ = copying_of(search_.values());
        return true;
    }
    if (!outputs_ || outputs_->done()) return false;
    outputs_->step();
    return true;
}

LinearSum VirtualHead::explain(std::int32_t output) const {
    const Tensor written = ends_.written(to_.layer, to_.head), u = ends_.unembedding({output, output + 1});
    Tensor right({1, written.dim(0)});
    ends_.kernels().dot_products(u.matrix(), written.matrix(), right.matrix());
    return {terms_between(carried_, right.values())};
}

void VirtualHead::attend_to(std::int32_t token, std::size_t listed) {
    if (token_ == token) return;
    token_ = token;
    const Tensor read = ends_.read(from_.layer, {token, token + 1});
    const HeadProjection projection = head_projection(*ends_.model(), from_.layer, from_.head);
    Tensor value({1, projection.v.weight.out});
    ends_.kernels().linear(read.matrix(), projection.v.view().weight, {}, Activation::none, value.matrix());
    const Tensor written = ends_.written(to_.layer, to_.head);
    const Index size = value.dim(1);
    carried_.assign(static_cast<std::size_t>(size), 0);
    for (Index a = 0; a < size; ++a)
        for (Index b = 0; b < size; ++b)
            carried_[static_cast<std::size_t>(b)] += value.matrix()(0, a) * middle_.matrix()(a, b);
    std::vector<double> direction(static_cast<std::size_t>(ends_.width()));
    for (Index b = 0; b < size; ++b)
        for (std::size_t i = 0; i < direction.size(); ++i)
            direction[i] += static_cast<double>(carried_[static_cast<std::size_t>(b)]) *
                            static_cast<double>(written.matrix()(b, static_cast<Index>(i)));
    outputs_ = std::make_unique<TokenDirections>(ends_.model()->network().head.weight, std::nullopt,
                                                 direction, listed);
}

}  // namespace attn
