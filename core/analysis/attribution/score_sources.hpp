// Why a query looks at a key: the score as a sum over pairs of sources, one of the query's residual stream and
// one of the key's. With the norms in front of q and k held, a score is bilinear in the two streams, and each
// stream is the sum of its sources (residual_sources.hpp).
#pragma once

#include <memory>
#include <vector>

#include "analysis/attribution/residual_sources.hpp"

namespace attn {

struct ScoreSources {
    // Each source's part of q and of k, [d_k], after projection, norms and rotary positions.
    std::vector<Source> query, key;
    double scale = 1;
    // What the run has: q · k · scale, before cap, bias and mask; and the bias for the distance.
    double score = 0, position_bias = 0;

    double term(std::size_t query_source, std::size_t key_source) const;  // scale · q_s · k_t
    double query_total(std::size_t source) const;                         // over all sources of the key
    double key_total(std::size_t source) const;
    double sum() const;
    double error() const { return sum() - score; }
};

// Fails if there is no such attention, head, query or key.
Result<ScoreSources> score_sources(const Trace& trace, Index attention, Index head, Index query, Index key);

// One side of it: the sources of a query (Stage::q) or of a key (Stage::k; its head is that of the query).
std::vector<Source> vector_sources(const Trace& trace, Stage side, Index attention, Index head, Index token);

}  // namespace attn
