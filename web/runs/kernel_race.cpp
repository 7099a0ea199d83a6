#include "runs/kernel_race.hpp"

#include <algorithm>
#include <cmath>

#include "app/clock.hpp"
#include "kernels/attention_tiles.hpp"
#include "tensor/random.hpp"

namespace attn::app {

namespace {

constexpr std::uint32_t vectors_seed = 1;
constexpr Index strip = attention_tile_queries;
constexpr double race_ms = 100;  // minimum for both sides together
constexpr int most_race_passes = 1000;

Tensor normal(Random& random, Index rows, Index cols) {
    Tensor tensor({1, rows, cols});
    for (float& value : tensor.values()) value = static_cast<float>(random.normal());
    return tensor;
}

// A strip of queries of one head, in the kernel's format: query 0 of head 0 comes first.
struct Strip {
    const Mask& mask;
    Index head, query;

    CellRule rule() const {
        return {.self = this,
                .row =
                    [](const void* self, Index, Index q, Index key, std::span<std::uint8_t> allowed) {
                        const auto& s = *static_cast<const Strip*>(self);
                        s.mask.row(s.head, s.query + q, key, allowed);
                    },
                .tile =
                    [](const void* self, Index, Range q, Range keys) {
                        const auto& s = *static_cast<const Strip*>(self);
                        return s.mask.tile(s.head, {s.query + q.begin, s.query + q.end}, keys);
                    }};
    }
};

}  // namespace

KernelRace::KernelRace(Mask mask, Index head, Index queries, Index keys, Index d_k, Index d_v)
    : mask_(std::move(mask)),
      head_(head),
      output_({1, strip, d_v}),
      row_max_({1, strip}),
      row_log_sum_({1, strip}) {
    Random random(vectors_seed);
    q_ = normal(random, queries, d_k);
    k_ = normal(random, keys, d_k);
    v_ = normal(random, keys, d_v);
    time({}, {0, std::min(strip, queries)});  // warms up the CPU caches
}

double KernelRace::time(const CellRule& rule, Range queries) {
    const Range first{0, queries.size()};
    AttentionCall call{.q = rows(q_.heads(), queries),
                       .k = k_.heads(),
                       .v = v_.heads(),
                       .scale = 1 / std::sqrt(static_cast<float>(q_.dim(2))),
                       .rule = rule,
                       .output = rows(output_.heads(), first),
                       .row_max = row_max_.matrix(),
                       .row_log_sum = row_log_sum_.matrix()};
    const double began = now_ms();
    default_kernels().attention(call);
    return now_ms() - began;
}

bool KernelRace::step() {
    if (done_) return false;
    const Range queries{next_query_, std::min(next_query_ + strip, q_.dim(1))};
    const Strip masked{mask_, head_, queries.begin};
    // The two sides take turns going first.
    const bool masked_first = passes_ % 2 == 0;
    if (masked_first) masked_ms_ += time(masked.rule(), queries);
    whole_ms_ += time({}, queries);
    if (!masked_first) masked_ms_ += time(masked.rule(), queries);
    next_query_ = queries.end;
    if (next_query_ < q_.dim(1)) return true;
    next_query_ = 0;
    ++passes_;
    done_ = masked_ms_ + whole_ms_ >= race_ms || passes_ >= most_race_passes;
    return !done_;
}

}  // namespace attn::app
