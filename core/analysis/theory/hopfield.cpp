#include "analysis/theory/hopfield.hpp"

#include <algorithm>
#include <cmath>

namespace attn {

namespace {

// Sums in lanes, which the compiler turns into vectors.
template <typename Real>
Real pattern_product(const float* a, const Real* b, Index count) {
    constexpr Index lanes = 8;
    Real sums[lanes] = {};
    Index i = 0;
    for (; i + lanes <= count; i += lanes)
        for (Index lane = 0; lane < lanes; ++lane) sums[lane] += static_cast<Real>(a[i + lane]) * b[i + lane];
    Real sum = 0;
    for (; i < count; ++i) sum += static_cast<Real>(a[i]) * b[i];
    for (const Real each : sums) sum += each;
    return sum;
}

}  // namespace

Result<HopfieldPatterns> hopfield_patterns(ConstMatrix k, std::span<const std::uint8_t> allowed) {
    if (k.cols == 0) return Error{"These keys have no components, so they are no patterns."};
    HopfieldPatterns patterns;
    patterns.components = k.cols;
    patterns.mean.assign(static_cast<std::size_t>(k.cols), 0);
    for (Index j = 0; j < k.rows; ++j)
        if (allowed[static_cast<std::size_t>(j)]) patterns.keys.push_back(j);
    patterns.values.resize(static_cast<std::size_t>(patterns.count() * k.cols));
    float* to = patterns.values.data();
    std::vector<double> pattern(static_cast<std::size_t>(k.cols));
    double* const mean = patterns.mean.data();
    for (const Index j : patterns.keys) {
        const float* from = k.row(j);
        to = std::copy_n(from, k.cols, to);
        std::copy_n(from, k.cols, pattern.data());
        for (std::size_t a = 0; a < pattern.size(); ++a) mean[a] += pattern[a];
        const double square = pattern_product(from, pattern.data(), k.cols);
        if (!std::isfinite(square)) return Error{"A key that this query sees is not a finite number."};
        patterns.largest = std::max(patterns.largest, std::sqrt(square));
    }
    if (patterns.count() > 0)
        for (double& each : patterns.mean) each /= static_cast<double>(patterns.count());
    return patterns;
}

template <typename Real>
void hopfield_look(const HopfieldPatterns& patterns, double beta, std::span<const Real> state,
                   HopfieldLook<Real>& look) {
    const auto count = static_cast<std::size_t>(patterns.count()),
               d = static_cast<std::size_t>(patterns.components);
    const Real b = static_cast<Real>(beta);
    look.products.resize(count);
    look.weights.resize(count);
    look.next.assign(d, 0);
    look.highest = look.sum = look.energy = 0;
    if (count == 0) return;
    for (std::size_t j = 0; j < count; ++j)
        look.products[j] = pattern_product(patterns.values.data() + j * d, state.data(), patterns.components);
    look.highest = std::ranges::max(look.products);
    for (std::size_t j = 0; j < count; ++j) {
        look.weights[j] = std::exp(b * (look.products[j] - look.highest));
        look.sum += look.weights[j];
    }
    Real square = 0;
    for (const Real each : state) square += each * each;
    const Real largest = static_cast<Real>(patterns.largest);
    look.energy = (square + largest * largest) / 2 - look.highest -
                  (std::log(look.sum) - std::log(static_cast<Real>(count))) / b;
    for (std::size_t j = 0; j < count; ++j) {
        const Real weight = look.weights[j] /= look.sum;
        if (weight == 0) continue;
        const float* pattern = patterns.values.data() + j * d;
        for (std::size_t a = 0; a < d; ++a) look.next[a] += weight * static_cast<Real>(pattern[a]);
    }
}
template void hopfield_look(const HopfieldPatterns&, double, std::span<const float>, HopfieldLook<float>&);
template void hopfield_look(const HopfieldPatterns&, double, std::span<const double>, HopfieldLook<double>&);

double effective_patterns(std::span<const double> weights) {
    double entropy = 0;
    for (const double w : weights)
        if (w > 0) entropy -= w * std::log(w);
    return weights.empty() ? 0 : std::exp(entropy);
}

double distance_between(std::span<const double> a, std::span<const double> b) {
    double square = 0;
    for (std::size_t i = 0; i < a.size(); ++i) square += (a[i] - b[i]) * (a[i] - b[i]);
    return std::sqrt(square);
}

MemoryKind memory_kind(double effective, Index patterns) {
    if (effective < 1.5) return MemoryKind::one;
    return effective >= 0.75 * static_cast<double>(patterns) ? MemoryKind::all : MemoryKind::few;
}

Retrieval::Retrieval(std::shared_ptr<const HopfieldPatterns> patterns, double beta, std::vector<double> start)
    : patterns_(std::move(patterns)), beta_(beta) {
    points_.push_back({std::move(start)});
}

bool Retrieval::step() {
    if (done_) return false;
    hopfield_look<double>(*patterns_, beta_, points_.back().state, look_);
    points_.back().energy = look_.energy;
    ++looked_;
    const double moved = distance_between(points_.back().state, look_.next);
    settled_ = moved <= still * patterns_->largest;
    done_ = settled_ || steps() == most_steps;
    if (done_) return false;
    if (steps() > kept_weights) points_.back().weights = {};
    points_.push_back({look_.next, 0, moved, effective_patterns(look_.weights), look_.weights});
    return true;
}

}  // namespace attn
