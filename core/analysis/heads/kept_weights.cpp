#include "analysis/heads/kept_weights.hpp"

#include <algorithm>

namespace attn {

namespace {

constexpr Index cells_a_step = Index{1} << 17;

}  // namespace

KeptWeights::KeptWeights(const CachedDecoding& decoding, Index layer, Index kv_head)
    : gone_(decoding.gone(layer, kv_head).begin(), decoding.gone(layer, kv_head).end()),
      adds_up_(std::get<EvictionRule>(decoding.rule()).policy == EvictionPolicy::heavy_hitters) {
    const Record& before = decoding.trace()->layers()[static_cast<std::size_t>(layer)].attention;
    const Index n = decoding.tokens();
    PaintedBits seen{1, n, n, std::vector<std::uint8_t>(static_cast<std::size_t>(n * n))};
    for (Index query = 0; query < n; ++query)
        for (Index key = 0; key <= query; ++key)
            seen.allowed[static_cast<std::size_t>(query * n + key)] = sees(query, key);
    // A query of the prompt may see later keys.
    std::vector<std::uint8_t> of_prompt(static_cast<std::size_t>(n));
    std::fill_n(of_prompt.begin(), decoding.prompt(), std::uint8_t{1});
    AttentionSpec spec = before.spec();
    spec.mask = spec.mask & (Mask::painted({1, n, 1, std::move(of_prompt)}) | Mask::painted(std::move(seen)));
    // Their shapes are those of a record, so this succeeds.
    auto record = Record::prepare(decoding.q(layer), decoding.k(layer), decoding.v(layer), std::move(spec),
                                  before.kernels());
    record_ = std::make_shared<Record>(*std::move(record));
    const Index group = before.heads() / before.kv_heads();
    heads_ = {kv_head * group, (kv_head + 1) * group};
    kv_head_ = kv_head;
}

bool KeptWeights::step() {
    if (done()) return false;
    const Index n = record_->queries();
    const Index end = std::min(n, next_ + std::max<Index>(1, cells_a_step / (n * heads_.size())));
    record_->measure({next_, end}, 1, {kv_head_, kv_head_ + 1});
    for (; next_ < end; ++next_)
        if (adds_up_) add_row();
    return !done();
}

void KeptWeights::add_row() {
    std::vector<double> sums(static_cast<std::size_t>(next_));
    if (next_ > 0) {
        std::ranges::copy(sums_.back(), sums.begin());
        std::vector<float> row(sums.size());
        for (Index head = heads_.begin; head < heads_.end; ++head) {
            record_->stage(Stage::weight, head, {next_ - 1, next_}, {0, next_}, row);
            for (std::size_t key = 0; key < sums.size(); ++key) sums[key] += static_cast<double>(row[key]);
        }
    }
    sums_.push_back(std::move(sums));
}

double KeptWeights::sum(Index query, Index key) const {
    return sums_[static_cast<std::size_t>(query)][static_cast<std::size_t>(key)];
}

double KeptWeights::given(Index query, Index key) const {
    double sum = 0;
    for (Index head = heads_.begin; head < heads_.end; ++head)
        sum += static_cast<double>(record_->cell(Stage::weight, head, query, key));
    return sum;
}

}  // namespace attn
