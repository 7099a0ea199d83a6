#include "lenses/geometry/moved.hpp"

#include <algorithm>
#include <cmath>

#include "subjects/head_copy.hpp"

namespace attn::app {

namespace {

std::span<const double> row_of(const Matrix& m, Index row) {
    return std::span(m.values).subspan(static_cast<std::size_t>(row * m.cols),
                                       static_cast<std::size_t>(m.cols));
}

template <typename Real>
std::vector<Real> as(std::span<const double> row) {
    std::vector<Real> out;
    for (const double each : row) out.push_back(static_cast<Real>(each));
    return out;
}

// Multiplies each row by the matrix, in Real.
template <typename Real>
Matrix moved(const Matrix& rows, std::span<const double> matrix) {
    Matrix out(rows.rows, rows.cols);
    for (Index r = 0; r < rows.rows; ++r) {
        const std::vector<Real> row = as<Real>(row_of(rows, r)),
                                to = times<Real>(std::span<const Real>(row), matrix);
        for (Index a = 0; a < rows.cols; ++a)
            out.at(r, a) = static_cast<double>(to[static_cast<std::size_t>(a)]);
    }
    return out;
}

template <typename Real>
Matrix products(const Matrix& q, const Matrix& k) {
    Matrix out(q.rows, k.rows);
    for (Index i = 0; i < q.rows; ++i)
        for (Index j = 0; j < k.rows; ++j) {
            Real sum = 0;
            for (Index a = 0; a < q.cols; ++a)
                sum += static_cast<Real>(q.at(i, a)) * static_cast<Real>(k.at(j, a));
            out.at(i, j) = static_cast<double>(sum);
        }
    return out;
}

double largest_distance(const Matrix& a, const Matrix& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i)
        if (const double off = std::abs(a.values[i] - b.values[i]); off > largest) largest = off;
    return largest;
}

Matrix q_of(const VectorsInView& v) { return rows_of(v.record->q(), v.head, v.queries.tokens()); }
Matrix k_of(const VectorsInView& v) {
    return rows_of(v.record->k(), v.record->kv_head(v.head), v.keys.tokens());
}

ScoreRow row_under(const VectorsInView& v, const Metric& metric, Index query) {
    ScoreRow row = score_row(*v.record, v.head, query);
    const Matrix q = rows_of(v.record->q(), v.head, Range{query, query + 1});
    const std::vector<double> raised = times<double>(q.values, metric.g());
    const ConstMatrix k = v.record->k().heads().head(v.record->kv_head(v.head));
    for (Index j = 0; j < v.record->keys(); ++j) {
        double sum = 0;
        for (Index a = 0; a < q.cols; ++a)
            sum += raised[static_cast<std::size_t>(a)] * static_cast<double>(k(j, a));
        row.raw[static_cast<std::size_t>(j)] = sum;
    }
    return row;
}

}  // namespace

Gauge fitted(Gauge gauge, Index components) {
    if (components < 2 && gauge.kind != GaugeKind::mix) gauge.kind = GaugeKind::stretch;
    gauge.first = std::min(gauge.first, components - 1);
    gauge.second = std::min(gauge.second, components - 1);
    if (gauge.first == gauge.second && components > 1) gauge.second = gauge.first > 0 ? gauge.first - 1 : 1;
    return gauge;
}

GaugedHead::GaugedHead(const VectorsInView& view, const Gauge& asked)
    : in_view(view),
      gauge(fitted(asked, view.record->d_k())),
      matrices(gauge_matrices(gauge, view.record->d_k())) {
    const Matrix own_q = q_of(view), own_k = k_of(view);
    q = moved<double>(own_q, matrices.g);
    k = moved<double>(own_k, matrices.dual);
    q32 = moved<float>(own_q, matrices.g);
    k32 = moved<float>(own_k, matrices.dual);
    score = products<double>(q, k);
    score32 = products<float>(q32, k32);
    plain = products<double>(own_q, own_k);
    off = largest_distance(score, plain);
    off32 = largest_distance(score32, plain);
    plain_off32 = largest_distance(products<float>(own_q, own_k), plain);
    finite = std::ranges::all_of(score.values, [](double each) { return std::isfinite(each); });
    const auto all_magnitudes = [](const Matrix& rows, std::span<const double> matrix) {
        std::vector<std::vector<double>> all;
        for (Index r = 0; r < rows.rows; ++r) {
            const std::vector<float> row = as<float>(row_of(rows, r));
            all.push_back(magnitudes(row, matrix));
        }
        return all;
    };
    const auto keys = all_magnitudes(own_k, matrices.dual);
    for (const auto& of_q : all_magnitudes(own_q, matrices.g))
        for (const auto& of_k : keys) bound = std::max(bound, gauge_error_bound(of_q, of_k));
}

MetricHead::MetricHead(const VectorsInView& view, Metric g, Index of_query)
    : in_view(view),
      metric(std::move(g)),
      query(of_query),
      plain(row_chain(*view.record, view.head, of_query)),
      under(row_under(view, metric, of_query)) {
    const Matrix own_q = q_of(view), own_k = k_of(view);
    // The metric is symmetric: q · g is g · q.
    raised = moved<double>(own_q, metric.g());
    raised32 = moved<float>(own_q, metric.g());
    score = products<double>(raised, own_k);
    score32 = products<float>(raised32, own_k);
    lowered_off = largest_distance(moved<double>(raised, metric.inverse()), own_q);
}

}  // namespace attn::app
