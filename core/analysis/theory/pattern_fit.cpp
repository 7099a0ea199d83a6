#include "analysis/theory/pattern_fit.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tensor/random.hpp"

namespace attn {

namespace {

constexpr Index most_patterns_a_start = 1500, look_every = 20;
constexpr double small_start = 0.1;  // deviation of a component that is added to what was found before

// Scores QKᵀ/√d, row by row. x holds Q, then K.
struct PatternScores {
    Index n, d;
    double score(const std::vector<double>& x, Index i, Index j) const {
        double sum = 0;
        for (Index a = 0; a < d; ++a)
            sum += x[static_cast<std::size_t>(i * d + a)] * x[static_cast<std::size_t>((n + j) * d + a)];
        return sum / std::sqrt(static_cast<double>(d));
    }
    // Returns log Σ exp of the row and turns it into weights.
    double weigh(const std::vector<double>& x, Index i, double* row) const {
        double most = -HUGE_VAL, sum = 0;
        for (Index j = 0; j < n; ++j) most = std::max(most, row[j] = score(x, i, j));
        for (Index j = 0; j < n; ++j) sum += row[j] = std::exp(row[j] - most);
        for (Index j = 0; j < n; ++j) row[j] /= sum;
        return most + std::log(sum);
    }
};

}  // namespace

PatternFit::PatternFit(std::vector<double> target, Index n, std::uint64_t seed)
    : target_(std::move(target)), n_(n), seed_(seed) {
    for (Index i = 0; i < n; ++i)
        rows_ += std::any_of(target_.begin() + i * n, target_.begin() + (i + 1) * n,
                             [](double t) { return t > 0; });
    if (rows_ == 0) next_d_ = n_ + 1;
}

double PatternFit::progress() const {
    if (done()) return 1;
    return (static_cast<double>(next_d_ - 1) + static_cast<double>(start_) / starts) /
           static_cast<double>(n_);
}

// What is minimised has its slopes from ∂L/∂score[i, j] = a[i, j] − t[i, j].
void PatternFit::begin() {
    const Index d = next_d_;
    Random random(mixed(seed_, static_cast<std::uint64_t>(d), static_cast<std::uint64_t>(start_)));
    std::vector<double> x(static_cast<std::size_t>(2 * n_ * d));
    for (double& each : x) each = random.normal();
    if (start_ == 0 && d > 1) {
        // Scores stay those of d − 1 components, but for the new one.
        const FittedPattern& before = found_.back();
        const double grown = std::pow(static_cast<double>(d) / static_cast<double>(d - 1), 0.25);
        for (Index i = 0; i < 2 * n_; ++i)
            for (Index a = 0; a < d; ++a) {
                double& each = x[static_cast<std::size_t>(i * d + a)];
                const std::vector<double>& from = i < n_ ? before.q : before.k;
                each = a < d - 1 ? grown * from[static_cast<std::size_t>((i % n_) * (d - 1) + a)]
                                 : small_start * each;
            }
    }
    search_.emplace(std::move(x), [n = n_, d, target = target_](const std::vector<double>& at,
                                                                std::vector<double>& slopes) {
        const PatternScores scores{n, d};
        std::vector<double> row(static_cast<std::size_t>(n));
        std::ranges::fill(slopes, 0);
        double loss = 0;
        const double root = std::sqrt(static_cast<double>(d));
        for (Index i = 0; i < n; ++i) {
            const double* t = target.data() + i * n;
            if (std::all_of(t, t + n, [](double each) { return each == 0; })) continue;
            loss += scores.weigh(at, i, row.data());
            for (Index j = 0; j < n; ++j) {
                if (t[j] != 0) loss -= t[j] * scores.score(at, i, j);
                const double by = (row[static_cast<std::size_t>(j)] - t[j]) / root;
                for (Index a = 0; a < d; ++a) {
                    const auto q = static_cast<std::size_t>(i * d + a),
                               k = static_cast<std::size_t>((n + j) * d + a);
                    slopes[q] += by * at[k];
                    slopes[k] += by * at[q];
                }
            }
        }
        return loss;
    });
    evaluations_ = 0;
}

FittedPattern PatternFit::pattern_of(const std::vector<double>& x) const {
    const Index d = next_d_;
    const auto half = x.begin() + n_ * d;
    FittedPattern made{d, {x.begin(), half}, {half, x.end()}, std::vector<double>(target_.size())};
    const PatternScores scores{n_, d};
    for (Index i = 0; i < n_; ++i) {
        double* row = made.weights.data() + i * n_;
        const double* t = target_.data() + i * n_;
        const double log_sum = scores.weigh(x, i, row);
        const double most = *std::max_element(t, t + n_);
        if (most == 0) continue;
        for (Index j = 0; j < n_; ++j) {
            made.largest_error = std::max(made.largest_error, std::abs(row[j] - t[j]));
            if (t[j] > 0) made.divergence += t[j] * (std::log(t[j]) + log_sum - scores.score(x, i, j));
        }
        made.rows_right += t[std::max_element(row, row + n_) - row] == most;
    }
    made.divergence /= static_cast<double>(rows_);
    return made;
}

bool PatternFit::step() {
    if (done()) return false;
    if (!search_) begin();
    bool ends = !search_->step() || ++evaluations_ == most_patterns_a_start;
    if (!ends && evaluations_ % look_every != 0) return true;
    FittedPattern now = pattern_of(search_->x());
    ends = ends || now.largest_error <= near;
    if (!ends) return true;
    const bool exact = now.largest_error <= near;
    if (!best_ || now.largest_error < best_->largest_error) best_ = std::move(now);
    search_.reset();
    // What is near enough needs no further start.
    if (++start_ < starts && !exact) return true;
    found_.push_back(*std::move(best_));
    best_.reset();
    start_ = 0;
    ++next_d_;
    return !done();
}

}  // namespace attn
