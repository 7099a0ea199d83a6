#include "analysis/theory/best_weight.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/linalg/vectors.hpp"

namespace attn {

namespace {

constexpr Index most_weighings = 600;
constexpr double flat = 1e-10;  // slope of log a_j
constexpr double price_of_length = 1e-10;

}  // namespace

BestWeight::BestWeight(const ScoreRow& row, const Lever& lever, Index key)
    : problem_(std::make_shared<Problem>(Problem{row, lever, key, {}})),
      search_(std::vector<double>(static_cast<std::size_t>(lever.size())),
              [problem = problem_](const std::vector<double>& z, std::vector<double>& slopes) {
                  return problem->weigh(z, slopes);
              }) {}

double BestWeight::Problem::weigh(const std::vector<double>& z, std::vector<double>& slopes) {
    const Index n = std::ssize(row.raw);
    std::vector<double> slope(static_cast<std::size_t>(n));
    weights.assign(static_cast<std::size_t>(n), -std::numeric_limits<double>::infinity());
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (Index j = 0; j < n; ++j) {
        if (!is_open(row, j)) continue;
        const auto at = static_cast<std::size_t>(j);
        const Masked now = masked_at(row, j, row.raw[at] + lever.dot(j, z));
        weights[at] = now.score, slope[at] = now.slope;
        most = std::max(most, now.score);
    }
    const double own = weights[static_cast<std::size_t>(key)];
    for (double& each : weights) sum += each = std::exp(each - most);
    for (std::size_t c = 0; c < z.size(); ++c) slopes[c] = price_of_length * z[c];
    for (Index j = 0; j < n; ++j) {
        const auto at = static_cast<std::size_t>(j);
        weights[at] /= sum;
        const double by = (weights[at] - (j == key ? 1 : 0)) * slope[at];
        if (by != 0) lever.add(j, by, slopes);
    }
    return most + std::log(sum) - own + price_of_length * dot(z, z) / 2;
}

bool BestWeight::step() {
    if (done_) return false;
    done_ = !search_.step() || ++evaluations_ == most_weighings || search_.slope() <= flat;
    if (!done_) return true;
    std::vector<double> slopes(search_.x().size());
    problem_->weigh(search_.x(), slopes);
    return false;
}

double BestWeight::weight() const { return problem_->weights[static_cast<std::size_t>(problem_->key)]; }

std::vector<double> BestWeight::mixture() const {
    std::vector<double> shares = problem_->weights;
    double others = 0;
    shares[static_cast<std::size_t>(problem_->key)] = 0;
    for (const double share : shares) others += share;
    for (double& share : shares) share /= others;
    return shares;
}

double BestWeight::off_mixture() const {
    const Lever& lever = problem_->lever;
    const std::vector<double> shares = mixture();
    std::vector<double> off(static_cast<std::size_t>(lever.size()));
    lever.add(problem_->key, 1, off);
    for (Index j = 0; j < std::ssize(shares); ++j)
        if (shares[static_cast<std::size_t>(j)] != 0) lever.add(j, -shares[static_cast<std::size_t>(j)], off);
    double squares = 0, farthest = 0;
    for (const double each : off) squares += each * each;
    for (Index j = 0; j < std::ssize(shares); ++j) {
        if (!is_open(problem_->row, j)) continue;
        double distance = 0;
        for (Index c = 0; c < lever.size(); ++c) {
            const double each = lever.at(j, c) - lever.at(problem_->key, c);
            distance += each * each;
        }
        farthest = std::max(farthest, distance);
    }
    return farthest > 0 ? std::sqrt(squares / farthest) : 0;
}

}  // namespace attn
