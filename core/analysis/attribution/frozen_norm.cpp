#include "analysis/attribution/frozen_norm.hpp"

#include <cmath>

namespace attn {

namespace {

template <class T>
double mean_of(std::span<const T> values) {
    double sum = 0;
    for (const T value : values) sum += static_cast<double>(value);
    return sum / static_cast<double>(values.size());
}

bool centres(const Norm& norm) { return norm.kind == Norm::Kind::layer; }
double gain_of(const Norm& norm, std::size_t i) { return static_cast<double>(norm.gain.values()[i]); }

}  // namespace

FrozenNorm::FrozenNorm(const Norm& norm, std::span<const double> x) : norm_(&norm) {
    const double mean = centres(norm) ? mean_of<double>(x) : 0;
    double squares = 0;
    for (const double each : x) squares += (each - mean) * (each - mean);
    deviation_ = std::sqrt(squares / static_cast<double>(x.size()) + norm.epsilon);
}

FrozenNorm::FrozenNorm(const Norm& norm, std::span<const float> x)
    : FrozenNorm(norm, std::vector<double>(x.begin(), x.end())) {}

std::vector<double> FrozenNorm::linear(std::span<const double> y) const {
    const double mean = centres(*norm_) ? mean_of<double>(y) : 0;
    std::vector<double> out;
    out.reserve(y.size());
    for (std::size_t i = 0; i < y.size(); ++i) out.push_back(gain_of(*norm_, i) * (y[i] - mean) / deviation_);
    return out;
}

std::vector<double> FrozenNorm::of(std::span<const double> y) const {
    std::vector<double> out = linear(y);
    for (std::size_t i = 0; i < static_cast<std::size_t>(norm_->bias.size()); ++i)
        out[i] += static_cast<double>(norm_->bias.values()[i]);
    return out;
}

std::vector<double> FrozenNorm::back(std::span<const double> direction) const {
    std::vector<double> out;
    for (std::size_t i = 0; i < direction.size(); ++i)
        out.push_back(gain_of(*norm_, i) * direction[i] / deviation_);
    if (!centres(*norm_)) return out;
    const double mean = mean_of<double>(out);
    for (double& each : out) each -= mean;
    return out;
}

double FrozenNorm::bias(std::span<const double> direction) const {
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(norm_->bias.size()); ++i)
        sum += direction[i] * static_cast<double>(norm_->bias.values()[i]);
    return sum;
}

void FrozenNorm::hold(std::span<float> row, bool with_bias) const {
    const auto mean = static_cast<float>(centres(*norm_) ? mean_of<float>(row) : 0),
               by = static_cast<float>(1 / deviation_);
    const std::span<const float> gain = norm_->gain.values(), bias = norm_->bias.values();
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = gain[i] * ((row[i] - mean) * by);
    for (std::size_t i = 0; with_bias && i < bias.size(); ++i) row[i] += bias[i];
}

void FrozenNorm::hold_back(std::span<float> direction) const {
    const auto by = static_cast<float>(1 / deviation_);
    const std::span<const float> gain = norm_->gain.values();
    for (std::size_t i = 0; i < direction.size(); ++i) direction[i] *= gain[i] * by;
    if (!centres(*norm_)) return;
    const auto mean = static_cast<float>(mean_of<float>(direction));
    for (float& each : direction) each -= mean;
}

}  // namespace attn
