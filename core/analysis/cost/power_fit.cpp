#include "analysis/cost/power_fit.hpp"

#include <algorithm>
#include <cmath>

namespace attn {

namespace {

constexpr Index fewest_points = 3, wanted_points = 4;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

}  // namespace

double PowerFit::at(double x) const { return std::exp(log_factor + exponent * std::log(x)); }

std::optional<PowerFit> power_fit(std::span<const double> x, std::span<const double> y, Range points) {
    const Index count = points.size();
    if (count < fewest_points) return std::nullopt;
    double mean_x = 0, mean_y = 0;
    for (Index i = points.begin; i < points.end; ++i) {
        if (!(x[at(i)] > 0) || !(y[at(i)] > 0)) return std::nullopt;
        mean_x += std::log(x[at(i)]) / static_cast<double>(count);
        mean_y += std::log(y[at(i)]) / static_cast<double>(count);
    }
    double spread = 0, products = 0;
    for (Index i = points.begin; i < points.end; ++i) {
        const double off = std::log(x[at(i)]) - mean_x;
        spread += off * off;
        products += off * (std::log(y[at(i)]) - mean_y);
    }
    if (!(spread > 0)) return std::nullopt;
    PowerFit fit{.exponent = products / spread, .points = points};
    fit.log_factor = mean_y - fit.exponent * mean_x;
    double squares = 0;
    for (Index i = points.begin; i < points.end; ++i) {
        const double off = std::log(y[at(i)]) - fit.log_factor - fit.exponent * std::log(x[at(i)]);
        squares += off * off;
    }
    fit.scatter = std::sqrt(squares / static_cast<double>(count - 2));
    fit.error = fit.scatter / std::sqrt(spread);
    return fit;
}

FittedPoints fitted_points(std::span<const double> x, std::span<const double> y, const PowerFit& fit) {
    FittedPoints all;
    const auto count = static_cast<double>(fit.points.size());
    double mean_x = 0, mean_y = 0;
    for (Index i = fit.points.begin; i < fit.points.end; ++i) {
        all.x.push_back(std::log(x[at(i)]));
        all.y.push_back(std::log(y[at(i)]));
        all.residuals.push_back(all.y.back() - fit.log_factor - fit.exponent * all.x.back());
        mean_x += all.x.back() / count;
        mean_y += all.y.back() / count;
    }
    for (double& each : all.x) each -= mean_x;
    for (double& each : all.y) each -= mean_y;
    return all;
}

double LeadingTerm::share(double x) const {
    const double first = leading * x;
    return first + lower > 0 ? first / (first + lower) : 0;
}

std::optional<LeadingTerm> leading_term(std::span<const double> x, std::span<const double> y, double power) {
    if (x.size() < 2) return std::nullopt;
    // Divided by y, each point asks for a · u + b · v = 1.
    double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        if (!(x[i] > 0) || !(y[i] > 0)) return std::nullopt;
        const double v = std::pow(x[i], power - 1) / y[i], u = v * x[i];
        uu += u * u;
        uv += u * v;
        vv += v * v;
        u1 += u;
        v1 += v;
    }
    LeadingTerm fit{.power = power};
    const double determinant = uu * vv - uv * uv;
    if (determinant > 0) {
        fit.leading = (u1 * vv - v1 * uv) / determinant;
        fit.lower = (v1 * uu - u1 * uv) / determinant;
    }
    if (!(determinant > 0) || fit.lower < 0) {
        fit.lower = 0;
        fit.leading = u1 / uu;
    } else if (fit.leading < 0) {
        fit.leading = 0;
        fit.lower = v1 / vv;
    }
    return fit;
}

std::optional<PowerFit> dominant_fit(std::span<const double> x, std::span<const double> y, double power,
                                     double least_share) {
    const auto terms = leading_term(x, y, power);
    if (!terms) return std::nullopt;
    const Index count = std::ssize(x), last_begin = std::max<Index>(count - wanted_points, 0);
    Index begin = 0;
    while (begin < last_begin && terms->share(x[at(begin)]) < least_share) ++begin;
    return power_fit(x, y, {begin, count});
}

}  // namespace attn
