// Ways to tell attention where its tokens stand that are no rotation: sinusoids, ALiBi, and the buckets of
// T5.
#pragma once

#include <vector>

#include "tensor/tensor.hpp"

namespace attn {

// Returns a component of the sinusoidal position embedding (Vaswani et al. 2017, arXiv 1706.03762, section
// 3.5): sin(position / 10000^(2a / width)) for component 2a, and the cosine for 2a + 1.
double sinusoid(Index position, Index component, Index width);

// Returns the slope m of each head, [heads]: ALiBi adds −m · |query − key| to the scaled score (Press et al.
// 2022, arXiv 2108.12409). They are 2^(−8 (h + 1) / heads) for powers of two; others take those of the power
// of two below, then every second one of the power above, as in the authors' code.
std::vector<double> alibi_slopes(Index heads);

// T5 adds to a score a learned number of the bucket that the distance falls into (Raffel et al. 2020, arXiv
// 1910.10683, section 2.1; transformers' T5Attention). Half of the buckets, or of each direction's buckets,
// hold one distance each; the others grow by a constant factor up to most_distance, and the last one holds
// all that is farther.
struct RelativeBuckets {
    Index count = 32;
    Index most_distance = 128;
    bool both_ways = true;  // keys after the query have the second half; false: they share bucket 0
};
Index relative_bucket(const RelativeBuckets& buckets, Index query, Index key);

}  // namespace attn
