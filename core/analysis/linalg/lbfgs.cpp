#include "analysis/linalg/lbfgs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/linalg/vectors.hpp"

namespace attn {

namespace {

constexpr std::size_t most_pairs = 12;
constexpr double enough = 1e-4, shortest_step = 1e-12, least_curvature = 1e-10;

}  // namespace

Lbfgs::Lbfgs(std::vector<double> start, Function function)
    : function_(std::move(function)), x_(std::move(start)), slopes_(x_.size()) {}

double Lbfgs::slope() const { return length_of(slopes_); }

void Lbfgs::choose_direction() {
    direction_ = slopes_;
    std::vector<double> parts(pairs_.size());
    for (std::size_t i = pairs_.size(); i-- > 0;) {
        parts[i] = dot(pairs_[i].moved, direction_) / pairs_[i].product;
        direction_ = added(std::move(direction_), -parts[i], pairs_[i].bent);
    }
    // Without a pair, the first step is of length 1 at most.
    const double scale = pairs_.empty() ? 1 / std::max(slope(), 1.0)
                                        : pairs_.back().product / dot(pairs_.back().bent, pairs_.back().bent);
    for (double& each : direction_) each *= -scale;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
        const double share = dot(pairs_[i].bent, direction_) / pairs_[i].product;
        direction_ = added(std::move(direction_), -parts[i] - share, pairs_[i].moved);
    }
    falls_ = dot(direction_, slopes_);
    pace_ = 1;
    if (falls_ < 0) return;
    done_ = pairs_.empty();
    pairs_.clear();
    if (!done_) choose_direction();
}

bool Lbfgs::step() {
    if (done_) return false;
    if (!begun_) {
        begun_ = true;
        value_ = function_(x_, slopes_);
        choose_direction();
        return !done_;
    }
    std::vector<double> next = added(x_, pace_, direction_), slopes(x_.size());
    const double value = function_(next, slopes);
    if (!(value <= value_ + enough * pace_ * falls_)) {
        pace_ /= 2;
        done_ = pace_ < shortest_step;
        return !done_;
    }
    done_ = value == value_;
    Pair pair{added(next, -1, x_), added(slopes, -1, slopes_), 0};
    pair.product = dot(pair.moved, pair.bent);
    if (pair.product > least_curvature * length_of(pair.moved) * length_of(pair.bent)) {
        pairs_.push_back(std::move(pair));
        if (pairs_.size() > most_pairs) pairs_.pop_front();
    }
    x_ = std::move(next);
    slopes_ = std::move(slopes);
    value_ = value;
    if (!done_) choose_direction();
    return !done_;
}

}  // namespace attn
