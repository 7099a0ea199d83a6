#include "analysis/check/dropout_pattern.hpp"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <vector>

namespace attn {

namespace {

constexpr Index most_rows = 64;
constexpr double tolerance = 0.12;  // for a weight over the right one

// Ratios of a program's weights to the right ones, which dropout makes 0 or 1 / (1 − p).
std::optional<DropoutPattern> pattern_of(const std::vector<double>& ratios) {
    std::vector<double> kept;
    for (const double r : ratios)
        if (r > 0.5) kept.push_back(r);
    if (ratios.size() < 6 || kept.empty() || kept.size() == ratios.size()) return std::nullopt;
    std::ranges::nth_element(kept, kept.begin() + std::ssize(kept) / 2);
    const double scale = kept[kept.size() / 2];
    if (scale < 1.02 || scale > 20) return std::nullopt;
    Index fits = 0, zeros = 0;
    for (const double r : ratios) {
        zeros += std::abs(r) < tolerance;
        fits += std::abs(r) < tolerance || std::abs(r / scale - 1) < tolerance;
    }
    const double n = static_cast<double>(ratios.size()), p = 1 - 1 / scale;
    const double dropped = static_cast<double>(zeros) / n;
    if (static_cast<double>(fits) < 0.95 * n) return std::nullopt;
    if (std::abs(dropped - p) > 5 * std::sqrt(p * (1 - p) / n) + 0.02) return std::nullopt;
    return DropoutPattern{.p = p, .certain = true, .weights = std::ssize(ratios)};
}

// min ‖Σ_j a_j rows[j] − target‖, and how far each a_j moves if the target moves by one in any direction;
// empty if the rows do not determine it.
struct Solved {
    std::vector<double> a, gain;
};
Solved least_squares(const std::vector<std::span<const double>>& rows, std::span<const double> target) {
    const auto n = std::ssize(rows), d = std::ssize(target);
    Eigen::MatrixXd m(d, n);
    for (Index j = 0; j < n; ++j)
        for (Index c = 0; c < d; ++c)
            m(c, j) = rows[static_cast<std::size_t>(j)][static_cast<std::size_t>(c)];
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(m);
    if (qr.rank() < n) return {};
    const Eigen::MatrixXd inverse = qr.solve(Eigen::MatrixXd::Identity(d, d));  // [n, d]
    const Eigen::VectorXd a = inverse * Eigen::Map<const Eigen::VectorXd>(target.data(), d);
    Solved solved;
    for (Index j = 0; j < n; ++j) {
        solved.a.push_back(a(j));
        solved.gain.push_back(inverse.row(j).norm());
    }
    return solved;
}

void add_ratios(std::span<const double> theirs, std::span<const double> right, std::vector<double>& ratios) {
    for (std::size_t j = 0; j < right.size(); ++j)
        if (right[j] > 0.02) ratios.push_back(theirs[j] / right[j]);
}

// Ratios from the output of a head, of the rows that see few enough keys.
void add_solved(const AttentionCase& given, ImplementationRun& right, Index b, Index h, Index i,
                std::vector<double>& ratios) {
    const Array4& v = given.v;
    const std::vector<double> weights = right.weights_row(b, h, i);
    std::vector<std::span<const double>> rows;
    std::vector<double> seen;
    for (std::size_t j = 0; j < weights.size(); ++j)
        if (weights[j] > 0) {
            rows.push_back(v.row(b, h / (given.heads() / given.kv_heads()), static_cast<Index>(j)));
            seen.push_back(weights[j]);
        }
    if (rows.empty() || std::ssize(rows) > given.d_v()) return;
    const auto theirs = given.output.row(b, 0, i).subspan(static_cast<std::size_t>(h * given.d_v()),
                                                          static_cast<std::size_t>(given.d_v()));
    const Solved solved = least_squares(rows, theirs);
    double size = 0;
    for (const double x : theirs) size = std::max(size, std::abs(x));
    // A weight counts if rounding of the output moves it by less than the pattern's tolerance.
    const double error = 4 * size * unit_roundoff(given.output_format);
    for (std::size_t j = 0; j < solved.a.size(); ++j)
        if (seen[j] > 0.02 && solved.gain[j] * error < tolerance / 3 * seen[j])
            ratios.push_back(solved.a[j] / seen[j]);
}

// ‖v_j W_O‖² of a head's value, or ‖v_j‖² without W_O.
double written_square(const AttentionCase& given, Index b, Index h, Index j) {
    const auto v = given.v.row(b, h / (given.heads() / given.kv_heads()), j);
    double sum = 0;
    if (given.w_o.empty()) {
        for (const double x : v) sum += x * x;
        return sum;
    }
    for (Index c = 0; c < given.w_o.cols; ++c) {
        double y = 0;
        for (std::size_t a = 0; a < v.size(); ++a)
            y += v[a] * given.w_o.broadcast(0, 0, h * given.d_v() + static_cast<Index>(a), c);
        sum += y * y;
    }
    return sum;
}

// Dropout leaves a row's mean as it is and gives it the variance p / (1 − p) · Σ_j w_j² ‖v_j‖².
std::optional<DropoutPattern> by_size(const AttentionCase& given, ImplementationRun& right,
                                      const std::vector<std::pair<Index, Index>>& rows) {
    double along = 0, square = 0, residual = 0, expected = 0, log_sum = 0, log_square = 0;
    Index counted = 0;
    for (const auto& [b, i] : rows) {
        const std::vector<double> out = right.output_row(b, i);
        const auto theirs = given.output.row(b, 0, i);
        double off = 0, size = 0;
        for (std::size_t c = 0; c < out.size(); ++c) {
            along += theirs[c] * out[c];
            square += out[c] * out[c];
            off += (theirs[c] - out[c]) * (theirs[c] - out[c]);
        }
        for (Index h = 0; h < given.heads(); ++h) {
            const std::vector<double> w = right.weights_row(b, h, i);
            for (Index j = 0; j < given.keys(); ++j)
                if (const double x = w[static_cast<std::size_t>(j)]; x != 0)
                    size += x * x * written_square(given, b, h, j);
        }
        if (!(size > 0) || !(off > 0) || !std::isfinite(off)) continue;
        residual += off;
        expected += size;
        const double l = std::log(off / size);
        log_sum += l;
        log_square += l * l;
        ++counted;
    }
    if (counted < 4) return std::nullopt;
    const double n = static_cast<double>(counted), mean = log_sum / n;
    const double spread = std::sqrt(std::max(0.0, log_square / n - mean * mean));
    const double ratio = residual / expected;
    const double noise = std::sqrt(residual / n / std::max(square / n, 1e-300));
    // The projection on the right output stays 1, and every row has the same ratio but for chance.
    if (std::abs(along / square - 1) > std::min(0.25, 4 * noise / std::sqrt(n) + 0.02)) return std::nullopt;
    if (spread > 0.9 || ratio < 0.005 || ratio > 4) return std::nullopt;
    return DropoutPattern{.p = ratio / (1 + ratio), .certain = false, .weights = 0};
}

}  // namespace

std::optional<DropoutPattern> find_dropout(const AttentionCase& given, ImplementationRun& right) {
    std::vector<std::pair<Index, Index>> rows;
    const Index all = given.batch() * given.queries(), step = std::max<Index>(1, all / most_rows);
    for (Index r = 0; r < all; r += step) rows.emplace_back(r / given.queries(), r % given.queries());
    std::vector<double> ratios;
    if (given.weights.heads == given.heads() && !given.weights.empty()) {
        for (const auto& [b, i] : rows)
            for (Index h = 0; h < given.heads(); ++h)
                add_ratios(given.weights.row(b, h, i), right.weights_row(b, h, i), ratios);
        return pattern_of(ratios);
    }
    if (given.output.empty()) return std::nullopt;
    if (given.w_o.empty())
        for (const auto& [b, i] : rows)
            for (Index h = 0; h < given.heads(); ++h) add_solved(given, right, b, h, i, ratios);
    if (const auto seen = pattern_of(ratios)) return seen;
    // Where single weights could be solved for and are no dropout, size proves nothing.
    return ratios.size() >= 32 ? std::nullopt : by_size(given, right, rows);
}

}  // namespace attn
