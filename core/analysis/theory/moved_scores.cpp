#include "analysis/theory/moved_scores.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/linalg/vectors.hpp"

namespace attn {

namespace {

template <typename Real>
std::vector<Real> as(std::span<const double> row) {
    std::vector<Real> out;
    for (const double each : row) out.push_back(static_cast<Real>(each));
    return out;
}

// Multiplies each row by the matrix, in Real.
template <typename Real>
DenseMatrix moved_rows(const DenseMatrix& rows, std::span<const double> matrix) {
    DenseMatrix out(rows.rows, rows.cols);
    for (Index r = 0; r < rows.rows; ++r) {
        const std::vector<Real> row = as<Real>(rows.row(r)),
                                to = times<Real>(std::span<const Real>(row), matrix);
        for (Index a = 0; a < rows.cols; ++a)
            out(r, a) = static_cast<double>(to[static_cast<std::size_t>(a)]);
    }
    return out;
}
template <typename Real>
QueriesAndKeys under_gauge(const QueriesAndKeys& own, const GaugeMatrices& matrices) {
    return {moved_rows<Real>(own.q, matrices.g), moved_rows<Real>(own.k, matrices.dual)};
}

template <typename Real>
DenseMatrix products(const DenseMatrix& q, const DenseMatrix& k) {
    DenseMatrix out(q.rows, k.rows);
    for (Index i = 0; i < q.rows; ++i)
        for (Index j = 0; j < k.rows; ++j) {
            Real sum = 0;
            for (Index a = 0; a < q.cols; ++a) sum += static_cast<Real>(q(i, a)) * static_cast<Real>(k(j, a));
            out(i, j) = static_cast<double>(sum);
        }
    return out;
}

double largest_distance(const DenseMatrix& a, const DenseMatrix& b) {
    double largest = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i)
        if (const double off = std::abs(a.values[i] - b.values[i]); off > largest) largest = off;
    return largest;
}

std::vector<std::vector<double>> magnitudes_of(const DenseMatrix& rows, std::span<const double> matrix) {
    std::vector<std::vector<double>> all;
    for (Index r = 0; r < rows.rows; ++r) all.push_back(magnitudes(as<float>(rows.row(r)), matrix));
    return all;
}

ScoreRow row_under(const Record& record, Index head, const Metric& metric, Index query) {
    ScoreRow row = score_row(record, head, query);
    const std::vector<double> raised =
        times<double>(dense_rows(record.q(), head, std::array{query}).row(0), metric.g());
    const ConstMatrix k = record.k().heads().head(record.kv_head(head));
    for (Index j = 0; j < record.keys(); ++j)
        row.raw[static_cast<std::size_t>(j)] = dot(raised, std::span(k.row(j), raised.size()));
    return row;
}

}  // namespace

QueriesAndKeys queries_and_keys(const Record& record, Index head, std::span<const Index> queries,
                                std::span<const Index> keys) {
    return {dense_rows(record.q(), head, queries), dense_rows(record.k(), record.kv_head(head), keys)};
}

GaugedScores::GaugedScores(QueriesAndKeys vectors, const Gauge& by)
    : gauge(by),
      matrices(gauge_matrices(by, vectors.q.cols)),
      own(std::move(vectors)),
      moved(under_gauge<double>(own, matrices)),
      moved32(under_gauge<float>(own, matrices)),
      score(products<double>(moved.q, moved.k)),
      score32(products<float>(moved32.q, moved32.k)),
      plain(products<double>(own.q, own.k)),
      finite(std::ranges::all_of(score.values, [](double each) { return std::isfinite(each); })),
      moved_by(largest_distance(moved.q, own.q)),
      off(largest_distance(score, plain)),
      off32(largest_distance(score32, plain)),
      plain_off32(largest_distance(products<float>(own.q, own.k), plain)) {
    const auto keys = magnitudes_of(own.k, matrices.dual);
    for (const auto& of_q : magnitudes_of(own.q, matrices.g))
        for (const auto& of_k : keys) bound = std::max(bound, gauge_error_bound(of_q, of_k));
}

MetricScores::MetricScores(const Record& record, Index head, const QueriesAndKeys& own, Metric g, Index query)
    : metric(std::move(g)),
      // The metric is symmetric: q · g is g · q.
      raised(moved_rows<double>(own.q, metric.g())),
      raised32(moved_rows<float>(own.q, metric.g())),
      score(products<double>(raised, own.k)),
      score32(products<float>(raised32, own.k)),
      lowered_off(largest_distance(moved_rows<double>(raised, metric.inverse()), own.q)),
      plain(row_chain(record, head, query)),
      under(row_under(record, head, metric, query)) {}

}  // namespace attn
