#include "analysis/linalg/symmetric_eigen.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

namespace attn {

SymmetricEigen::SymmetricEigen(std::vector<double> matrix, Index n)
    : n_(n), reducing_(n > 2), matrix_(std::move(matrix)) {
    const auto size = static_cast<std::size_t>(n);
    vectors_.resize(size * size);
    for (std::size_t i = 0; i < size; ++i) vectors_[i * size + i] = 1;
    values_.resize(size);
    beside_.resize(size);
    if (!reducing_) begin_value();
}

double SymmetricEigen::progress() const {
    if (n_ == 0) return 1;
    const double half = static_cast<double>(next_) / static_cast<double>(n_) / 2;
    return reducing_ ? half : 0.5 + half;
}

std::span<const double> SymmetricEigen::vector(Index i) const {
    return std::span(vectors_).subspan(static_cast<std::size_t>(i * n_), static_cast<std::size_t>(n_));
}

// H = 1 − β v vᵀ makes column k zero behind the place below the diagonal: A ← H A H, and the vectors' rows ←
// H times them.
void SymmetricEigen::reflect(Index k) {
    const Index first = k + 1, size = n_ - first;
    std::vector<double> v(row(matrix_, k) + first, row(matrix_, k) + n_), w(v.size());
    const double behind = std::inner_product(v.begin() + 1, v.end(), v.begin() + 1, 0.0);
    if (behind == 0) return;
    const double length = std::sqrt(v[0] * v[0] + behind), left = v[0] > 0 ? -length : length;
    v[0] -= left;
    const double beta = 2 / (v[0] * v[0] + behind);
    // w = β A v − (β²/2) (vᵀ A v) v, so that H A H = A − v wᵀ − w vᵀ.
    for (Index i = 0; i < size; ++i) {
        const double* a = row(matrix_, first + i) + first;
        const double factor = beta * v[static_cast<std::size_t>(i)];
        for (std::size_t j = 0; j < w.size(); ++j) w[j] += factor * a[j];
    }
    const double half = beta / 2 * std::inner_product(v.begin(), v.end(), w.begin(), 0.0);
    for (std::size_t j = 0; j < w.size(); ++j) w[j] -= half * v[j];
    for (Index i = 0; i < size; ++i) {
        double* a = row(matrix_, first + i) + first;
        const double vi = v[static_cast<std::size_t>(i)], wi = w[static_cast<std::size_t>(i)];
        for (std::size_t j = 0; j < w.size(); ++j) a[j] -= vi * w[j] + wi * v[j];
    }
    row(matrix_, k)[first] = row(matrix_, first)[k] = left;
    std::vector<double> sum(static_cast<std::size_t>(n_));
    for (Index i = 0; i < size; ++i) {
        const double* z = row(vectors_, first + i);
        for (std::size_t j = 0; j < sum.size(); ++j) sum[j] += v[static_cast<std::size_t>(i)] * z[j];
    }
    for (Index i = 0; i < size; ++i) {
        double* z = row(vectors_, first + i);
        const double factor = beta * v[static_cast<std::size_t>(i)];
        for (std::size_t j = 0; j < sum.size(); ++j) z[j] -= factor * sum[j];
    }
}

// Looks for the end of the block that the next value belongs to; the first value takes the tridiagonal matrix
// over.
void SymmetricEigen::begin_value() {
    if (!matrix_.empty()) {
        for (Index i = 0; i < n_; ++i) {
            values_[static_cast<std::size_t>(i)] = row(matrix_, i)[i];
            beside_[static_cast<std::size_t>(i)] = i + 1 < n_ ? row(matrix_, i)[i + 1] : 0;
        }
        matrix_ = {};
    }
    if (next_ == n_) return sort();
    const auto l = static_cast<std::size_t>(next_);
    largest_ = std::max(largest_, std::abs(values_[l]) + std::abs(beside_[l]));
    end_ = next_;
    while (std::abs(beside_[static_cast<std::size_t>(end_)]) >
           std::numeric_limits<double>::epsilon() * largest_)
        ++end_;
    turning_ = end_ > next_;
}

// One implicit QL step with Wilkinson's shift.
void SymmetricEigen::rotate() {
    const auto l = static_cast<std::size_t>(next_), m = static_cast<std::size_t>(end_);
    std::vector<double>&d = values_, &e = beside_;
    double g = d[l], p = (d[l + 1] - g) / (2 * e[l]), r = std::hypot(p, 1.0);
    if (p < 0) r = -r;
    d[l] = e[l] / (p + r);
    d[l + 1] = e[l] * (p + r);
    const double next = d[l + 1], shift = g - d[l], beside_next = e[l + 1];
    for (std::size_t i = l + 2; i < d.size(); ++i) d[i] -= shift;
    shift_ += shift;
    p = d[m];
    double c = 1, c2 = 1, c3 = 1, s = 0, s2 = 0;
    for (std::size_t i = m; i-- > l;) {
        c3 = c2;
        c2 = c;
        s2 = s;
        g = c * e[i];
        const double h = c * p;
        r = std::hypot(p, e[i]);
        e[i + 1] = s * r;
        s = e[i] / r;
        c = p / r;
        p = c * d[i] - s * g;
        d[i + 1] = h + s * (c * g + s * d[i]);
        double *here = row(vectors_, static_cast<Index>(i)), *behind = here + n_;
        for (Index k = 0; k < n_; ++k) {
            const double v = behind[k];
            behind[k] = s * here[k] + c * v;
            here[k] = c * here[k] - s * v;
        }
    }
    p = -s * s2 * c3 * beside_next * e[l] / next;
    e[l] = s * p;
    d[l] = c * p;
}

void SymmetricEigen::sort() {
    std::vector<Index> order(values_.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::ranges::sort(order, std::greater{}, [&](Index i) { return values_[static_cast<std::size_t>(i)]; });
    std::vector<double> values, vectors;
    for (const Index i : order) {
        values.push_back(values_[static_cast<std::size_t>(i)]);
        vectors.insert(vectors.end(), row(vectors_, i), row(vectors_, i) + n_);
    }
    values_ = std::move(values);
    vectors_ = std::move(vectors);
}

bool SymmetricEigen::step() {
    if (done()) return false;
    if (reducing_) {
        reflect(next_++);
        if (next_ == n_ - 2) {
            reducing_ = false;
            next_ = 0;
            begin_value();
        }
        return true;
    }
    const auto l = static_cast<std::size_t>(next_);
    if (turning_) {
        rotate();
        turning_ = std::abs(beside_[l]) > std::numeric_limits<double>::epsilon() * largest_;
        if (turning_) return true;
    }
    values_[l] += shift_;
    beside_[l] = 0;
    ++next_;
    begin_value();
    return !done();
}

}  // namespace attn
