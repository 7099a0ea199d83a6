#include "analysis/theory/query_key_plane.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace attn {

namespace {

constexpr double products_a_slice = 5e5;

double spread_of(const std::vector<double>& values, Index rows) {
    return std::inner_product(values.begin(), values.end(), values.begin(), 0.0) / static_cast<double>(rows);
}

bool is_finite(ConstMatrix m) {
    for (Index r = 0; r < m.rows; ++r)
        for (Index c = 0; c < m.cols; ++c)
            if (!std::isfinite(m(r, c))) return false;
    return true;
}

}  // namespace

std::vector<Index> QueryKeyPlane::nearest(const End& end) const {
    std::vector<std::pair<double, Index>> away;
    for (const Place& to : end.key ? queries : keys)
        away.emplace_back(std::hypot(to[0] - at(end)[0], to[1] - at(end)[1]), std::ssize(away));
    std::ranges::sort(away);
    std::vector<Index> points;
    for (const auto& [distance, point] : away) points.push_back(point);
    return points;
}

std::vector<double> QueryKeyPlane::direction(bool key, std::size_t axis) const {
    std::vector<double> stretched = axes[axis];
    for (double& each : stretched) each *= key ? 1 / stretch : stretch;
    return stretched;
}

std::optional<QueryKeyPlaneSearch> QueryKeyPlaneSearch::of(ConstMatrix q, ConstMatrix k) {
    if (!is_finite(q) || !is_finite(k)) return std::nullopt;
    return QueryKeyPlaneSearch(q, k);
}

QueryKeyPlaneSearch::QueryKeyPlaneSearch(ConstMatrix q, ConstMatrix k) : width_(q.cols) {
    queries_ = centred(q, plane_.query_mean);
    keys_ = centred(k, plane_.key_mean);
    const double of_queries = spread_of(queries_.values, queries_.count),
                 of_keys = spread_of(keys_.values, keys_.count);
    if (of_queries > 0 && of_keys > 0) plane_.stretch = std::pow(of_keys / of_queries, 0.25);
    for (double& each : queries_.values) each *= plane_.stretch;
    for (double& each : keys_.values) each /= plane_.stretch;
    squares_.resize(static_cast<std::size_t>(width_ * width_));
}

QueryKeyPlaneSearch::Rows QueryKeyPlaneSearch::centred(ConstMatrix m, std::vector<double>& mean) const {
    Rows rows{{}, m.rows};
    mean.assign(static_cast<std::size_t>(width_), 0);
    for (Index r = 0; r < m.rows; ++r)
        for (Index a = 0; a < width_; ++a) mean[static_cast<std::size_t>(a)] += static_cast<double>(m(r, a));
    for (double& each : mean) each /= static_cast<double>(m.rows);
    for (Index r = 0; r < m.rows; ++r)
        for (Index a = 0; a < width_; ++a)
            rows.values.push_back(static_cast<double>(m(r, a)) - mean[static_cast<std::size_t>(a)]);
    return rows;
}

void QueryKeyPlaneSearch::add_squares(const Rows& rows, Index row) {
    const double* x = rows.values.data() + row * width_;
    for (Index a = 0; a < width_; ++a) {
        double* sums = squares_.data() + a * width_;
        for (Index b = 0; b < width_; ++b) sums[b] += x[a] * x[b];
    }
}

bool QueryKeyPlaneSearch::step() {
    if (done_) return false;
    const double each = static_cast<double>(width_ * width_);
    const Index all = queries_.count + keys_.count;
    if (added_ < all) {
        for (double work = 0; work < products_a_slice && added_ < all; work += each, ++added_)
            added_ < queries_.count ? add_squares(queries_, added_)
                                    : add_squares(keys_, added_ - queries_.count);
        return true;
    }
    if (!components_) components_.emplace(squares_, width_);
    for (double work = 0; work < products_a_slice && components_->step(); work += 6 * each) continue;
    if (!components_->done()) return true;
    finish();
    return false;
}

void QueryKeyPlaneSearch::finish() {
    double all = 0;
    for (Index a = 0; a < width_; ++a) all += squares_[static_cast<std::size_t>(a * width_ + a)];
    for (std::size_t axis = 0; axis < 2; ++axis) {
        std::vector<double>& direction = plane_.axes[axis];
        direction.assign(static_cast<std::size_t>(width_), 0);
        const auto component = static_cast<Index>(axis);
        if (component >= width_) continue;
        std::ranges::copy(components_->vector(component), direction.begin());
        const double most = *std::ranges::max_element(direction, {}, [](double x) { return std::abs(x); });
        if (most < 0)
            for (double& x : direction) x = -x;
        plane_.share[axis] = all > 0 ? std::max(components_->values()[axis], 0.0) / all : 0;
    }
    plane_.queries = placed(queries_);
    plane_.keys = placed(keys_);
    done_ = true;
}

std::vector<QueryKeyPlane::Place> QueryKeyPlaneSearch::placed(const Rows& rows) const {
    std::vector<QueryKeyPlane::Place> places;
    for (Index row = 0; row < rows.count; ++row) {
        const double* x = rows.values.data() + row * width_;
        QueryKeyPlane::Place place{};
        for (std::size_t axis = 0; axis < 2; ++axis)
            place[axis] = std::inner_product(x, x + width_, plane_.axes[axis].begin(), 0.0);
        places.push_back(place);
    }
    return places;
}

}  // namespace attn
