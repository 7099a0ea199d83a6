#include "analysis/theory/score_maps.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace attn {

namespace {

// x / T, of which the limit at T = 0 is 0 for x = 0.
double over(double x, double temperature) { return x == 0 ? 0 : x / temperature; }

bool hidden(const EnergyLevels& levels, std::size_t key) { return std::isinf(levels.above[key]); }

// (s_j − max s) / T where a weight may be over 0: `reach` below the highest there is none. Descending.
std::vector<double> candidates(const EnergyLevels& levels, double temperature, double reach) {
    std::vector<double> scores;
    for (std::size_t j = 0; j < levels.above.size(); ++j)
        if (!hidden(levels, j))
            if (const double score = -over(levels.above[j], temperature); score > -reach)
                scores.push_back(score);
    std::ranges::sort(scores, std::greater{});
    return scores;
}

// The largest k whose k-th score is over the threshold that the first k of them have.
double sparsemax_threshold(std::span<const double> scores) {
    double sum = 0, threshold = 0, count = 0;
    for (const double score : scores) {
        if (1 + (count + 1) * score <= sum + score) break;
        sum += score;
        threshold = (sum - 1) / ++count;
    }
    return threshold;
}

// The same, for halves of scores whose squares over the threshold sum to 1; mean and variance by Welford's
// recurrence.
double entmax_threshold(std::span<const double> scores) {
    double mean = 0, squares = 0, threshold = 0, count = 0;
    for (const double score : scores) {
        const double half = score / 2, off = half - mean;
        ++count;
        mean += off / count;
        squares += off * (half - mean);
        const double now = mean - std::sqrt(std::max(1 - squares, 0.0) / count);
        if (now > half) break;
        threshold = now;
    }
    return threshold;
}

double logistic(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

void count(MappedRow& row) {
    for (const double weight : row.weights) {
        row.sum += weight;
        row.support += weight > 0;
    }
}

}  // namespace

MappedRow mapped_row(ScoreMap map, const EnergyLevels& levels, double temperature) {
    MappedRow row;
    row.weights.assign(levels.above.size(), 0);
    const auto n = static_cast<double>(levels.keys);
    // The key of score 0 that softmax + 1 adds, below the highest or, if positive, above it.
    const double added = -over(levels.highest, temperature), top = std::max(added, 0.0);
    if (map == ScoreMap::softmax_one) row.common = added > 0 ? 1 : std::exp(added);
    if (map == ScoreMap::sparsemax) row.common = sparsemax_threshold(candidates(levels, temperature, 1));
    if (map == ScoreMap::entmax) row.common = entmax_threshold(candidates(levels, temperature, 2));
    if (map == ScoreMap::sigmoid || map == ScoreMap::relu_squared) row.common = n;
    for (std::size_t j = 0; j < row.weights.size(); ++j) {
        if (hidden(levels, j)) continue;
        double& weight = row.weights[j];
        const double below = -over(levels.above[j], temperature), score = over(levels.scores[j], temperature);
        switch (map) {
            case ScoreMap::softmax: weight = std::exp(below); break;
            case ScoreMap::softmax_one: weight = std::exp(below - top); break;
            case ScoreMap::sparsemax: weight = std::max(below - row.common, 0.0); break;
            case ScoreMap::entmax: weight = std::pow(std::max(below / 2 - row.common, 0.0), 2); break;
            case ScoreMap::sigmoid: weight = logistic(score - std::log(n)); break;
            case ScoreMap::relu_squared: weight = std::max(score, 0.0) * std::max(score, 0.0) / n; break;
            case ScoreMap::linear: break;
        }
        if (map == ScoreMap::softmax || map == ScoreMap::softmax_one) row.common += weight;
    }
    if (map == ScoreMap::softmax || map == ScoreMap::softmax_one)
        for (double& weight : row.weights)
            if (weight != 0) weight /= row.common;
    count(row);
    return row;
}

double linear_feature(double x) { return x > 0 ? x + 1 : std::exp(x); }

MappedRow linear_row(std::span<const float> q, ConstMatrix k, const EnergyLevels& levels) {
    MappedRow row;
    add_linear_products(row, q, k, levels, {0, k.rows});
    divide_linear_products(row);
    return row;
}

void add_linear_products(MappedRow& row, std::span<const float> q, ConstMatrix k, const EnergyLevels& levels,
                         Range keys) {
    row.weights.resize(levels.above.size());
    std::vector<double> features;
    for (const float each : q) features.push_back(linear_feature(static_cast<double>(each)));
    for (Index key = keys.begin; key < keys.end; ++key) {
        const auto j = static_cast<std::size_t>(key);
        if (hidden(levels, j)) continue;
        for (std::size_t a = 0; a < features.size(); ++a)
            row.weights[j] += features[a] * linear_feature(static_cast<double>(k.row(key)[a]));
        row.common += row.weights[j];
    }
}

void divide_linear_products(MappedRow& row) {
    if (row.common != 0)
        for (double& weight : row.weights) weight /= row.common;
    count(row);
}

std::vector<double> mapped_output(std::span<const double> weights, ConstMatrix v) {
    std::vector<double> output(static_cast<std::size_t>(v.cols));
    for (std::size_t j = 0; j < weights.size(); ++j) {
        if (weights[j] == 0) continue;
        const float* value = v.row(static_cast<Index>(j));
        for (std::size_t b = 0; b < output.size(); ++b)
            output[b] += weights[j] * static_cast<double>(value[b]);
    }
    return output;
}

double relative_difference(std::span<const double> a, std::span<const double> b) {
    double off = 0, size = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        off += (a[i] - b[i]) * (a[i] - b[i]);
        size += b[i] * b[i];
    }
    return std::sqrt(off) / std::sqrt(size);
}

}  // namespace attn
