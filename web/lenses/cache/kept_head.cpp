#include "lenses/cache/kept_head.hpp"

#include <algorithm>

namespace attn::app {

namespace {

constexpr Index cells_a_step = Index{1} << 17;

Tensor some_heads(const Tensor& all, Index first, Index count) {
    Tensor some({count, all.dim(1), all.dim(2)});
    for (Index head = 0; head < count; ++head)
        for (Index row = 0; row < all.dim(1); ++row)
            std::copy_n(all.heads().head(first + head).row(row), all.dim(2),
                        some.heads().head(head).row(row));
    return some;
}

}  // namespace

KeptHead::KeptHead(const CachedDecoding& decoding, Index layer, Index kv_head)
    : gone_(decoding.gone(layer, kv_head).begin(), decoding.gone(layer, kv_head).end()),
      adds_up_(std::get<EvictionRule>(decoding.rule()).policy == EvictionPolicy::heavy_hitters) {
    const Record& before = decoding.trace()->layers()[static_cast<std::size_t>(layer)].attention;
    const Index n = decoding.tokens(), group = before.heads() / before.kv_heads(), first = kv_head * group;
    PaintedBits seen{1, n, n, std::vector<std::uint8_t>(static_cast<std::size_t>(n * n))};
    for (Index query = 0; query < n; ++query)
        for (Index key = 0; key <= query; ++key)
            seen.allowed[static_cast<std::size_t>(query * n + key)] = sees(query, key);
    AttentionSpec spec{.scale = before.scale(),
                       .softcap = before.spec().softcap,
                       .mask = Mask::painted(std::move(seen)),
                       .bias = before.spec().bias};
    if (!spec.bias.empty() && spec.bias.values->dim(0) > 1)
        spec.bias.values = std::make_shared<const Tensor>(some_heads(*spec.bias.values, first, group));
    // Their shapes are those of a record.
    auto record = Record::prepare(
        some_heads(decoding.q(layer), first, group), some_heads(decoding.k(layer), kv_head, 1),
        some_heads(decoding.v(layer), kv_head, 1), std::move(spec), before.kernels());
    record_ = std::make_shared<Record>(*std::move(record));
}

bool KeptHead::step() {
    const Index n = record_->queries();
    const Index end = std::min(n, next_ + std::max<Index>(1, cells_a_step / (n * record_->heads())));
    record_->measure({next_, end});
    for (; next_ < end; ++next_)
        if (adds_up_) add_row();
    return !done();
}

void KeptHead::add_row() {
    std::vector<double> sums(static_cast<std::size_t>(next_));
    if (next_ > 0) {
        std::ranges::copy(sums_.back(), sums.begin());
        std::vector<float> row(sums.size());
        for (Index head = 0; head < record_->heads(); ++head) {
            record_->stage(Stage::weight, head, {next_ - 1, next_}, {0, next_}, row);
            for (std::size_t key = 0; key < sums.size(); ++key) sums[key] += static_cast<double>(row[key]);
        }
    }
    sums_.push_back(std::move(sums));
}

double KeptHead::sum(Index query, Index key) const {
    return sums_[static_cast<std::size_t>(query)][static_cast<std::size_t>(key)];
}

double KeptHead::given(Index query, Index key) const {
    double sum = 0;
    for (Index head = 0; head < record_->heads(); ++head)
        sum += static_cast<double>(record_->cell(Stage::weight, head, query, key));
    return sum;
}

}  // namespace attn::app
