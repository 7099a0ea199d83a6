// q and k of the tokens in view under a gauge and under a metric, in f32 and in double, beside the scores as they
// are.
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

// The gauge as it can act on vectors of so many components.
Gauge fitted(Gauge gauge, Index components);

// q G, k G⁻ᵀ and their scores. All matrices are of the tokens in view.
struct GaugedHead {
    GaugedHead(const VectorsInView& in_view, const Gauge& gauge);

    VectorsInView in_view;
    Gauge gauge;
    GaugeMatrices matrices;
    Matrix q, k, q32, k32;      // moved, in double and in f32
    Matrix score, score32;      // of the moved ones
    Matrix plain;               // of q and k as they are, in double
    bool finite = true;         // all of the scores are
    double off = 0, off32 = 0;  // the largest distance of a score from it
    double plain_off32 = 0;     // of the kernels' own f32 score from it
    double bound = 0;           // what off32 is below: gauge_error_bound
};

// q with raised indices, and the scores q g k.
struct MetricHead {
    MetricHead(const VectorsInView& in_view, Metric metric, Index query);

    VectorsInView in_view;
    Metric metric;
    Index query;  // whose weights are shown
    Matrix raised, raised32, score, score32;
    double lowered_off = 0;  // the largest distance of g_{ab} q^b from q_a
    RowChain plain, under;   // the query's row without and with the metric
};

}  // namespace attn::app
