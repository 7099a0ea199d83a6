#include "analysis/theory/least_change.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "analysis/linalg/vectors.hpp"

namespace attn {

namespace {

constexpr double no_end = std::numeric_limits<double>::infinity();
constexpr Index most_rows_tried = 2000;
constexpr int most_stalls = 12, most_corrections = 6;
constexpr double idle_tolerance = 1e-8, least_pace = 1e-9, most_pace = 100;

// Solves the symmetric positive definite system in place by Cholesky's factors; n is the number of wishes.
std::vector<double> cholesky(std::vector<double> a, std::vector<double> v) {
    const std::size_t n = v.size();
    for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = a[i * n + j];
            for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
            a[i * n + j] =
                i == j ? std::sqrt(std::max(sum, std::numeric_limits<double>::min())) : sum / a[j * n + j];
        }
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < i; ++k) v[i] -= a[i * n + k] * v[k];
        v[i] /= a[i * n + i];
    }
    for (std::size_t i = n; i-- > 0;) {
        for (std::size_t k = i + 1; k < n; ++k) v[i] -= a[k * n + i] * v[k];
        v[i] /= a[i * n + i];
    }
    return v;
}

bool moves_as(const Lever& lever, Index a, Index b) {
    if (std::ranges::all_of(lever.blocks, [](double block) { return block == 0; })) return true;
    if (!lever.rows)
        return lever.own[static_cast<std::size_t>(a)] == 0 && lever.own[static_cast<std::size_t>(b)] == 0;
    const auto first = lever.rows->begin() + a * lever.width, second = lever.rows->begin() + b * lever.width;
    return std::equal(first, first + lever.width, second);
}

bool has_wish(const std::vector<Wish>& wishes, Index key) {
    return std::ranges::find(wishes, key, &Wish::key) != wishes.end();
}

}  // namespace

Masked masked_at(const ScoreRow& row, Index key, double raw) {
    const double scaled = row.scale * raw,
                 bias = row.bias.empty() ? 0 : row.bias[static_cast<std::size_t>(key)];
    if (row.softcap == 0) return {scaled + bias, row.scale};
    const double bent = std::tanh(scaled / row.softcap);
    return {row.softcap * bent + bias, row.scale * (1 - bent * bent)};
}

bool is_open(const ScoreRow& row, Index key) {
    const auto j = static_cast<std::size_t>(key);
    return row.allowed[j] != 0 && (row.bias.empty() || row.bias[j] != -no_end);
}

double Lever::at(Index key, Index component) const {
    const double block = blocks[static_cast<std::size_t>(component / width)];
    const Index inner = component % width;
    if (rows) return block * (*rows)[static_cast<std::size_t>(key * width + inner)];
    return key == inner ? block * own[static_cast<std::size_t>(key)] : 0;
}

double Lever::dot(Index key, const std::vector<double>& z) const {
    double sum = 0;
    for (std::size_t l = 0; l < blocks.size(); ++l) {
        if (blocks[l] == 0) continue;
        const auto block = z.begin() + static_cast<Index>(l) * width;
        sum += blocks[l] * (rows ? std::inner_product(block, block + width, rows->begin() + key * width, 0.0)
                                 : own[static_cast<std::size_t>(key)] * block[key]);
    }
    return sum;
}

void Lever::add(Index key, double times, std::vector<double>& sum) const {
    for (std::size_t l = 0; l < blocks.size(); ++l) {
        if (blocks[l] == 0) continue;
        const auto block = sum.begin() + static_cast<Index>(l) * width;
        const double by = times * blocks[l];
        if (!rows) {
            block[key] += by * own[static_cast<std::size_t>(key)];
            continue;
        }
        const auto row = rows->begin() + key * width;
        for (Index c = 0; c < width; ++c) block[c] += by * row[c];
    }
}

std::optional<Obstacle> obstacle(const WishedRow& of) {
    using enum Obstacle::Why;
    const auto& [row, lever, wishes] = of;
    const Index n = std::ssize(row.raw);
    std::vector<double> score(static_cast<std::size_t>(n));
    std::vector<Index> open;
    for (Index j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(j);
        if (!is_open(row, j)) continue;
        open.push_back(j);
        score[at] = masked_at(row, j, row.raw[at]).score;
        if (!std::isfinite(score[at])) return Obstacle{not_finite, j};
    }
    double all = 0;
    for (const Wish& wish : wishes) {
        if (!is_open(row, wish.key)) return Obstacle{hidden, wish.key};
        if (!(wish.weight > 0 && wish.weight < 1)) return Obstacle{extreme, wish.key};
        all += wish.weight;
    }
    if (open.size() <= wishes.size()) return Obstacle{alone, wishes.front().key};
    if (all >= 1) return Obstacle{too_much, wishes.front().key, 0, all};
    if (std::ranges::all_of(open, [&](Index j) { return moves_as(lever, open.front(), j); }))
        return Obstacle{unmoved, wishes.front().key};
    for (const Wish& wish : wishes) {
        const auto at = static_cast<std::size_t>(wish.key);
        double beside = 1, capped_beside = 1;
        Index twin = -1;
        for (const Index j : open) {
            if (j == wish.key) continue;
            const auto other = static_cast<std::size_t>(j);
            if (row.softcap > 0 && !row.bias.empty())
                capped_beside += std::exp(row.bias[other] - row.bias[at] - 2 * row.softcap);
            else if (row.softcap > 0)
                capped_beside += std::exp(-2 * row.softcap);
            if (!moves_as(lever, j, wish.key) || (row.softcap > 0 && row.raw[other] != row.raw[at])) continue;
            twin = j;
            beside += std::exp(score[other] - score[at]);
        }
        if (twin >= 0 && wish.weight >= 1 / beside) return Obstacle{same, wish.key, twin, 1 / beside};
        if (row.softcap > 0 && wish.weight >= 1 / capped_beside)
            return Obstacle{capped, wish.key, 0, 1 / capped_beside};
    }
    return std::nullopt;
}

LeastChange::LeastChange(std::vector<WishedRow> rows, std::vector<double> start) : rows_(std::move(rows)) {
    for (const WishedRow& of : rows_) {
        double rest = 1;
        for (const Wish& wish : of.wishes) rest -= wish.weight;
        for (const Wish& wish : of.wishes) goals_.push_back(std::log(wish.weight / rest));
    }
    start.resize(static_cast<std::size_t>(rows_.front().lever.size()));
    here_ = at(std::move(start));
    iterations_.push_back({here_.largest, length()});
    score_limit_ = 100 * (100 + here_.largest_score);
    if (here_.has_wishes()) begin_to_shorten();
}

LeastChange::Point LeastChange::at(std::vector<double> z) const {
    Point point;
    point.z = std::move(z);
    const double* goals = goals_.data();
    for (const WishedRow& of : rows_) {
        add_row(of, goals, point);
        goals += of.wishes.size();
    }
    if (!std::isfinite(point.largest)) point.largest = no_end;
    // A score is known to about 1e-16 of itself.
    point.tolerance = 1e-11 + 1e-14 * point.largest_score;
    return point;
}

void LeastChange::add_row(const WishedRow& of, const double* goals, Point& point) const {
    const std::size_t n = of.row.raw.size(), size = point.z.size();
    std::vector<double> score(n, -no_end), slope(n), weights(n);
    double most = -no_end, rest_most = -no_end;
    for (std::size_t j = 0; j < n; ++j) {
        const auto key = static_cast<Index>(j);
        if (!is_open(of.row, key)) continue;
        const Masked now = masked_at(of.row, key, of.row.raw[j] + of.lever.dot(key, point.z));
        score[j] = now.score, slope[j] = now.slope;
        most = std::max(most, score[j]);
        point.largest_score = std::max(point.largest_score, std::abs(score[j]));
        if (!has_wish(of.wishes, key)) rest_most = std::max(rest_most, score[j]);
    }
    double sum = 0, rest = 0;
    std::vector<double> share(n);  // among the keys without a wish
    for (std::size_t j = 0; j < n; ++j) {
        if (score[j] == -no_end) continue;
        sum += weights[j] = std::exp(score[j] - most);
        if (!has_wish(of.wishes, static_cast<Index>(j))) rest += share[j] = std::exp(score[j] - rest_most);
    }
    // Σ_U p_k ∂m_k/∂z
    std::vector<double> rest_slope(size);
    for (std::size_t j = 0; j < n; ++j) {
        weights[j] /= sum;
        if (share[j] != 0) of.lever.add(static_cast<Index>(j), share[j] / rest * slope[j], rest_slope);
    }
    const double rest_log = rest_most + std::log(rest);
    for (std::size_t w = 0; w < of.wishes.size(); ++w) {
        const auto j = static_cast<std::size_t>(of.wishes[w].key);
        point.residual.push_back(goals[w] - (score[j] - rest_log));
        point.largest = std::isnan(point.residual.back())
                            ? no_end
                            : std::max(point.largest, std::abs(point.residual.back()));
        std::vector<double> slopes(size);
        of.lever.add(of.wishes[w].key, slope[j], slopes);
        for (std::size_t c = 0; c < size; ++c) point.slopes.push_back(slopes[c] - rest_slope[c]);
    }
    point.weights.push_back(std::move(weights));
}

std::vector<double> LeastChange::along(const Point& point, const std::vector<double>& y) const {
    const std::size_t size = point.z.size();
    std::vector<double> sum(size);
    for (std::size_t w = 0; w < y.size(); ++w)
        for (std::size_t c = 0; c < size; ++c) sum[c] += y[w] * point.slopes[w * size + c];
    return sum;
}

std::vector<double> LeastChange::solved(const Point& point, const std::vector<double>& v,
                                        double damping) const {
    const std::size_t n = v.size(), size = point.z.size();
    std::vector<double> gram(n * n);
    double trace = 0;
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j)
            gram[i * n + j] =
                std::inner_product(point.slopes.begin() + static_cast<std::ptrdiff_t>(i * size),
                                   point.slopes.begin() + static_cast<std::ptrdiff_t>((i + 1) * size),
                                   point.slopes.begin() + static_cast<std::ptrdiff_t>(j * size), 0.0);
        trace += gram[i * n + i];
    }
    // Wishes may depend on each other.
    for (std::size_t i = 0; i < n; ++i) gram[i * n + i] += (damping + 1e-15) * trace;
    return cholesky(std::move(gram), v);
}

std::vector<double> LeastChange::corrected(const Point& point, double damping) const {
    return added(point.z, 1, along(point, solved(point, point.residual, damping)));
}

std::vector<double> LeastChange::multipliers_of(const Point& point) const {
    std::vector<double> v(goals_.size());
    const std::size_t size = point.z.size();
    for (std::size_t w = 0; w < v.size(); ++w)
        for (std::size_t c = 0; c < size; ++c) v[w] += point.slopes[w * size + c] * point.z[c];
    return solved(point, v, 0);
}

std::vector<double> LeastChange::idle_part(const Point& point) const {
    return added(point.z, -1, along(point, multipliers_of(point)));
}

std::vector<double> LeastChange::shares(std::size_t row) const {
    const std::vector<double> all = multipliers();
    std::size_t first = 0;
    for (std::size_t r = 0; r < row; ++r) first += rows_[r].wishes.size();
    const auto& [scores, lever, wishes] = rows_[row];
    const double* y = all.data() + first;
    const double sum = std::accumulate(y, y + wishes.size(), 0.0);
    double rest = 1;
    for (const Wish& wish : wishes) rest -= here_.weights[row][static_cast<std::size_t>(wish.key)];
    std::vector<double> shares(scores.raw.size());
    for (std::size_t j = 0; j < shares.size(); ++j) {
        const auto key = static_cast<Index>(j);
        if (!is_open(scores, key)) continue;
        shares[j] = masked_at(scores, key, scores.raw[j] + lever.dot(key, here_.z)).slope;
        if (!has_wish(wishes, key)) shares[j] *= -sum * here_.weights[row][j] / rest;
    }
    for (std::size_t w = 0; w < wishes.size(); ++w) shares[static_cast<std::size_t>(wishes[w].key)] *= y[w];
    return shares;
}

double LeastChange::length() const { return length_of(here_.z); }

double LeastChange::idle_share() const {
    const double all = length();
    return all == 0 ? 0 : length_of(idle_part(here_)) / all;
}

void LeastChange::end(bool found, bool least) {
    phase_ = Phase::done;
    found_ = found;
    least_ = least;
}

void LeastChange::accept(Point point) {
    here_ = std::move(point);
    iterations_.push_back({here_.largest, length()});
}

bool LeastChange::step() {
    if (phase_ == Phase::reach)
        reach();
    else if (phase_ == Phase::shorten)
        shorten();
    if (!done() && ++evaluations_ == most_rows_tried) end(here_.has_wishes(), false);
    return !done();
}

void LeastChange::reach() {
    constexpr double most_damping = 1e12;
    Point next = at(corrected(here_, damping_));
    const double before = dot(here_.residual, here_.residual), after = dot(next.residual, next.residual);
    // What only scores far beyond those of the row can bring about is lost in their rounding.
    if (!(after < before) || next.largest_score > score_limit_) {
        damping_ = std::max(4 * damping_, 1e-6);
        if (damping_ > most_damping) end(false, false);
        return;
    }
    stalled_ = after > before * (1 - 1e-6) ? stalled_ + 1 : 0;
    damping_ = damping_ < 1e-14 ? 0 : damping_ / 10;
    accept(std::move(next));
    if (here_.has_wishes()) {
        begin_to_shorten();
    } else if (stalled_ == most_stalls) {
        end(false, false);
    }
}

void LeastChange::begin_to_shorten() {
    phase_ = Phase::shorten;
    idle_ = idle_part(here_);
    multipliers_ = multipliers_of(here_);
    if (length() == 0) end(true, true);
}

void LeastChange::shorten() {
    const double idle = length_of(idle_), length = length_of(here_.z);
    if (!trial_) {
        if (idle <= idle_tolerance * length) return end(true, true);
        if (pace_ < least_pace) return end(true, false);
        trial_ = Trial{added(here_.z, -pace_, idle_)};
    }
    Point next = at(trial_->z);
    if (!next.has_wishes()) {
        if (trial_->corrections++ < most_corrections && std::isfinite(next.largest)) {
            trial_->z = corrected(next, 0);
            return;
        }
        trial_.reset();
        pace_ /= 2;
        return;
    }
    trial_.reset();
    // Armijo's condition on the Lagrangian ½ |z|² + y · (b − g), in which what the wishes are off by cancels.
    const double before = length * length / 2 + dot(multipliers_, here_.residual),
                 after = dot(next.z, next.z) / 2 + dot(multipliers_, next.residual);
    if (after > before + 1e-15 * length * length - 1e-4 * pace_ * idle * idle) {
        pace_ /= 2;
        return;
    }
    const std::vector<double> moved = added(next.z, -1, here_.z);
    std::vector<double> next_idle = idle_part(next);
    const double bent = dot(moved, added(next_idle, -1, idle_));
    pace_ = bent > 0 ? std::clamp(dot(moved, moved) / bent, 1e-3, most_pace) : 1;
    idle_ = std::move(next_idle);
    multipliers_ = multipliers_of(next);
    accept(std::move(next));
}

}  // namespace attn
