// Computes q and k of the tokens in view under a gauge and under a metric, in f32 and in double, beside the
// original scores.
#pragma once

#include "analysis/theory/gauge.hpp"
#include "analysis/theory/metric.hpp"
#include "app/matrix.hpp"
#include "app/shown_tokens.hpp"
#include "attention/explain.hpp"

namespace attn::app {

// The tokens in view of one head.
struct VectorsInView {
    const Record* record;
    Index head;
    ShownTokens queries, keys;
};

// Limits the gauge to vectors with this many components.
Gauge fitted(Gauge gauge, Index components);

// q G, k G⁻ᵀ and their scores. All matrices cover the tokens in view.
struct GaugedHead {
    GaugedHead(const VectorsInView& in_view, const Gauge& gauge);

    VectorsInView in_view;
    Gauge gauge;
    GaugeMatrices matrices;
    Matrix q, k, q32, k32;      // after the gauge, in double and in f32
    Matrix score, score32;      // scores after the gauge
    Matrix plain;               // scores of the original q and k, in double
    bool finite = true;         // all scores are finite
    double off = 0, off32 = 0;  // the largest distance of a score from `plain`
    double plain_off32 = 0;     // the same for the kernels' own f32 score
    double bound = 0;           // upper bound of off32: gauge_error_bound
};

// q with raised indices, and the scores q g k.
struct MetricHead {
    MetricHead(const VectorsInView& in_view, Metric metric, Index query);

    VectorsInView in_view;
    Metric metric;
    Index query;  // the query whose weights are shown
    Matrix raised, raised32, score, score32;
    double lowered_off = 0;  // the largest distance of g_{ab} q^b from q_a
    RowChain plain, under;   // the query's row without and with the metric
};

}  // namespace attn::app
