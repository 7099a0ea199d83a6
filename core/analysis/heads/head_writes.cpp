#include "analysis/heads/head_writes.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "analysis/linalg/vectors.hpp"

namespace attn {

HeadWrites head_writes(const Trace& trace, Index attention, Index row) {
    const LayerAttention at = trace.attention(attention);
    const auto whole = row_of(at.run.attention_output, row);
    HeadWrites made{.heads = at.record().heads(), .d_model = std::ssize(whole)};
    for (Index head = 0; head < made.heads; ++head) {
        const Tensor written = trace.head_contribution(attention, head, {row, row + 1});
        made.parts.insert(made.parts.end(), written.values().begin(), written.values().end());
    }
    const Tensor& bias = at.half.attention_out.bias;
    made.parts.insert(made.parts.end(), bias.values().begin(), bias.values().end());
    made.parts.resize(static_cast<std::size_t>((made.heads + 1) * made.d_model));
    made.sum.resize(whole.size());
    for (Index i = 0; i <= made.heads; ++i)
        std::ranges::transform(made.sum, made.part(i), made.sum.begin(), std::plus{});
    made.whole.assign(whole.begin(), whole.end());
    return made;
}

double HeadWrites::norm(Index i) const {
    const std::span<const double> x = part(i);
    return std::sqrt(std::inner_product(x.begin(), x.end(), x.begin(), 0.0));
}

double HeadWrites::share(Index i) const {
    const std::span<const double> x = part(i);
    return std::inner_product(x.begin(), x.end(), whole.begin(), 0.0) / dot(whole, whole);
}

double HeadWrites::off_by() const {
    double most = 0;
    for (std::size_t i = 0; i < sum.size(); ++i) most = std::max(most, std::abs(sum[i] - whole[i]));
    return most;
}

}  // namespace attn
