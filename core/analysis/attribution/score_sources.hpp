// Says why a query looks at a key: the score is a sum over pairs of sources, one of the query's residual
// stream and one of the key's. With the norms in front of q and k held, a score is bilinear in the two
// streams, and each stream is the sum of its sources (vector_sources.hpp).
#pragma once

#include <vector>

#include "analysis/attribution/vector_sources.hpp"

namespace attn {

struct ScoreSources {
    // Each source's part of q and of k, [d_k].
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

// Returns the score without a source of the query (Stage::q) or of the key (Stage::k), whose norms are live.
// While they are held, it is the score less the source's total.
double score_without(const Trace& trace, Index attention, Index head, Index query, Index key, Stage side,
                     const Source& without);

// Returns the scores that the softmax of a row takes, [keys], if another vector stands in place of the
// query's q (Stage::q) or of the k of one key: capped and with their biases; −∞ where the mask forbids.
std::vector<double> row_scores_with(const Record& record, Index head, Index query, Index key, Stage side,
                                    std::span<const double> vector);

// What the sources of a row's keys add to its scores, before cap, bias and mask.
struct RowTerms {
    std::vector<Source> sources = {};            // without what they write
    std::vector<std::vector<double>> adds = {};  // [sources, keys]
    std::vector<double> scores = {};             // [keys], their sums
};
// Takes scale · q, [d_k], and for each key its sources.
RowTerms row_terms(std::span<const double> q, std::span<const std::vector<Source>> keys);
std::vector<double> centred(std::vector<double> values);  // less their mean
// Returns Σ (a − mean of a) (b − mean of b).
double covariation(const std::vector<double>& a, const std::vector<double>& b);

// A source of keys, and which share of the variance of a row's scores is its own: the covariance of what it
// adds to the scores with the scores, over their variance. The shares of all sources are 1 together.
struct DecidingSource {
    Source source;  // without what it writes
    double share = 0;
};
// Returns the largest share first; nothing if all scores are equal, or if some are not finite.
std::vector<DecidingSource> deciding_sources(const RowTerms& row);

}  // namespace attn
