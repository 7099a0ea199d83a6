// What becomes of a head's scores if its queries and keys go through a gauge or a metric, in f32 and in
// double.
#pragma once

#include <span>

#include "analysis/linalg/dense_matrix.hpp"
#include "analysis/theory/gauge.hpp"
#include "analysis/theory/metric.hpp"
#include "attention/explain.hpp"

namespace attn {

// q and k of some tokens of one head, a row each.
struct QueriesAndKeys {
    DenseMatrix q, k;
};
QueriesAndKeys queries_and_keys(const Record& record, Index head, std::span<const Index> queries,
                                std::span<const Index> keys);

// q G, k G⁻ᵀ and their scores.
struct GaugedScores {
    // The gauge must fit the vectors.
    GaugedScores(QueriesAndKeys vectors, const Gauge& gauge);

    Gauge gauge;
    GaugeMatrices matrices;
    QueriesAndKeys own, moved, moved32;  // before the gauge; after it, in double and in f32
    DenseMatrix score, score32;          // scores after the gauge
    DenseMatrix plain;                   // scores of the original q and k, in double
    bool finite = true;                  // all scores are finite
    double moved_by = 0;                 // the largest change of a component of q
    double off = 0, off32 = 0;           // the largest distance of a score from `plain`
    double plain_off32 = 0;              // the same for the kernels' own f32 score
    double bound = 0;                    // upper bound of off32: gauge_error_bound
};

// q with raised indices, and the scores q g k.
struct MetricScores {
    // `query` is the one whose row of weights is kept.
    MetricScores(const Record& record, Index head, const QueriesAndKeys& own, Metric metric, Index query);

    Metric metric;
    DenseMatrix raised, raised32, score, score32;
    double lowered_off = 0;  // the largest distance of g_{ab} q^b from q_a
    RowChain plain, under;   // the query's row without and with the metric
};

}  // namespace attn
