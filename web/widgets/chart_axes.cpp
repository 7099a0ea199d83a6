// Places ticks on the axes of charts, and writes their numbers.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "widgets/chart.hpp"

namespace attn::ui {

namespace {

constexpr std::array round_numbers{1.0, 2.0, 5.0};

constexpr double very_large = 1e6, very_small = 1e-4;  // beyond these, ticks are written with powers of ten

int power_of(double size) { return static_cast<int>(std::floor(std::log10(size) + 1e-9)); }

// Counts the decimals of a round distance between ticks.
int decimals_of(double step) {
    constexpr int most = 12;
    constexpr double a_little = 1e-3;  // a distance between large numbers is not exact
    return std::clamp(static_cast<int>(std::ceil(-std::log10(step) - a_little)), 0, most);
}

std::string tick_text(double value, int decimals) {
    if (value == 0) return "0";
    if (decimals == 0 && std::abs(value) >= 1000)
        return (value < 0 ? "-" : "") + app::with_commas(std::lround(std::abs(value)));
    return app::fixed(value, decimals);
}

// Numbers the values 1, 2 and 5 times a power of ten, starting at 1: number 0 is 1, 1 is 2, -1 is 0.5.
double round_number(int at) {
    const int count = static_cast<int>(round_numbers.size()), times = (at % count + count) % count;
    return round_numbers[static_cast<std::size_t>(times)] * std::pow(10.0, (at - times) / count);
}
bool is_round(double value) {
    const double times = value / std::pow(10.0, power_of(value));
    return std::ranges::any_of(round_numbers, [&](double each) { return std::abs(times - each) < 1e-6; });
}

constexpr std::size_t fewest_ticks = 2;
constexpr double finest_range = 1e-12;  // relative to the numbers; doubles have no ticks in a smaller range

bool is_on(const ChartAxis& axis, double tick) {
    const double share = along(axis, tick);
    return share > -1e-9 && share < 1 + 1e-9;
}

std::vector<double> powers(const ChartAxis& axis, int every, bool between) {
    std::vector<double> ticks;
    for (int power = static_cast<int>(std::floor(std::log10(axis.low)));
         std::pow(10.0, power) <= axis.high * (1 + 1e-9); ++power)
        for (const double times : round_numbers)
            if ((times == 1 && power % every == 0) || between)
                if (const double tick = times * std::pow(10.0, power); is_on(axis, tick))
                    ticks.push_back(tick);
    return ticks;
}

std::vector<double> multiples(const ChartAxis& axis, double step) {
    std::vector<double> ticks;
    // Counts ticks instead of adding steps, so that 0 is exactly 0.
    for (double i = std::ceil(axis.low / step - 1e-9); i * step <= axis.high + 1e-9 * step; ++i)
        if (is_on(axis, i * step)) ticks.push_back(i * step);
    return ticks;
}

}  // namespace

double along(const ChartAxis& axis, double value) {
    if (axis.logarithmic) return std::log(value / axis.low) / std::log(axis.high / axis.low);
    return (value - axis.low) / (axis.high - axis.low);
}

std::string number_text(const ChartAxis& y, double value) {
    if (!y.unit.empty()) {
        constexpr int digits = 4;
        const int decimals = value == std::floor(value) || !std::isfinite(value)
                                 ? 0
                                 : std::clamp(digits - 1 - power_of(std::abs(value)), 0, digits);
        return app::rounded(value, decimals) + " " + y.unit;
    }
    if (y.whole && value == std::floor(value)) return app::fixed(value, 0);
    return std::abs(value) >= 1000 ? app::fixed(value, 1) : app::fixed(value, 4);
}

std::vector<double> axis_ticks(const ChartAxis& axis, int wanted) {
    if (!(axis.high > axis.low) || (axis.logarithmic && !(axis.low > 0))) return {};
    const double range = axis.high - axis.low, size = std::max(std::abs(axis.low), std::abs(axis.high));
    if (!std::isfinite(range) || range < finest_range * size) return {};
    if (axis.logarithmic) {
        const double decades = std::log10(axis.high / axis.low);
        int every = std::max(1, static_cast<int>(std::ceil(decades / wanted)));
        std::vector<double> ticks = powers(axis, every, decades * 3 <= wanted);
        while (ticks.size() < fewest_ticks && every > 1) ticks = powers(axis, --every, false);
        if (ticks.size() < fewest_ticks) ticks = powers(axis, every, true);
        if (ticks.size() >= fewest_ticks) return ticks;
    }
    const double least = range / wanted;
    int at = 3 * static_cast<int>(std::floor(std::log10(least)));
    while (round_number(at) < least * (1 - 1e-9)) ++at;
    if (axis.whole) at = std::max(at, 0);
    std::vector<double> ticks = multiples(axis, round_number(at));
    // The number of multiples depends on where the axis begins.
    while (ticks.size() < fewest_ticks && (!axis.whole || at > 0))
        ticks = multiples(axis, round_number(--at));
    return ticks;
}

std::vector<std::string> tick_labels(const ChartAxis& axis, std::span<const double> ticks) {
    std::vector<std::string> labels;
    const bool by_powers = axis.logarithmic && std::ranges::all_of(ticks, is_round);
    double largest = 0, step = 1;
    for (const double tick : ticks) largest = std::max(largest, std::abs(tick));
    if (ticks.size() > 1) step = ticks[1] - ticks[0];
    const bool scaled = largest >= very_large || (largest > 0 && largest < very_small);
    for (const double tick : ticks) {
        if (by_powers) {
            labels.push_back(tick >= very_large || tick < very_small ? app::power_text(tick)
                                                                     : tick_text(tick, decimals_of(tick)));
        } else if (scaled && tick != 0) {
            const double unit = std::pow(10.0, power_of(largest));
            const std::string times = app::fixed(tick / unit, decimals_of(step / unit));
            labels.push_back((times == "1" ? "" : times + "·") + app::power_text(unit));
        } else {
            labels.push_back(tick_text(tick, decimals_of(step)));
        }
    }
    return labels;
}

ChartAxis fitted(std::string title, std::span<const ChartCurve> curves, bool from_zero) {
    double low = from_zero ? 0 : HUGE_VAL, high = from_zero ? 0 : -HUGE_VAL;
    for (const ChartCurve& curve : curves)
        for (const auto* numbers : {&curve.y, &curve.band_low, &curve.band_high})
            for (const double number : *numbers)
                if (std::isfinite(number)) low = std::min(low, number), high = std::max(high, number);
    if (!(low <= high)) low = 0, high = 1;
    if (high - low <= finest_range * std::max(std::abs(low), std::abs(high)))
        high = low + std::max(1.0, std::abs(low));
    const double margin = 0.06 * (high - low);
    return {std::move(title), low == 0 ? 0 : low - margin, high == 0 ? 0 : high + margin, false};
}

}  // namespace attn::ui
