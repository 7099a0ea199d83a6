#include "tensor/number_format.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace attn {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

int exponent_bias(const FormatInfo& format) { return 1 - format.least_exponent; }

// Long chains are rounded at every step, so this avoids the functions of <cmath>.
constexpr double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}
bool is_normal(const FormatInfo& format, double value) {
    return std::abs(value) >= power_of_two(format.least_exponent);
}
// Drops that many bits of the fraction; a carry goes on into the exponent, as it should.
double to_nearest_even(double value, int bits) {
    const auto code = std::bit_cast<std::uint64_t>(value);
    const std::uint64_t unit = std::uint64_t{1} << bits, is_odd = code >> bits & 1;
    return std::bit_cast<double>((code + unit / 2 - 1 + is_odd) & ~(unit - 1));
}
// The nearest multiple of 2^exponent, where all of them that are near are doubles: adding 1.5 · 2^(52 +
// exponent) leaves no smaller bits.
double to_multiple(double value, int exponent) {
    const double large = 1.5 * power_of_two(52 + exponent);
    return std::copysign(value + large - large, value);
}

}  // namespace

std::optional<NumberFormat> number_format(std::string_view key) {
    const auto* found = std::ranges::find(number_formats, key, &FormatInfo::key);
    return found == number_formats.end() ? std::nullopt : std::optional(found->format);
}

double rounded(NumberFormat format, double value) {
    if (format == NumberFormat::f64 || !std::isfinite(value) || value == 0) return value;
    if (format == NumberFormat::f32) return static_cast<double>(static_cast<float>(value));
    const FormatInfo& to = info(format);
    const double nearest = is_normal(to, value) ? to_nearest_even(value, 52 - to.fraction_bits)
                                                : to_multiple(value, to.least_exponent - to.fraction_bits);
    if (std::abs(nearest) <= to.largest) return nearest;
    return to.has_infinities ? std::copysign(std::numeric_limits<double>::infinity(), value)
                             : std::copysign(nan, value);
}

void round_all(NumberFormat format, std::span<double> values) {
    for (double& value : values) value = rounded(format, value);
}

double decoded(NumberFormat format, std::uint16_t bits) {
    const FormatInfo& from = info(format);
    const int fraction = bits & ((1 << from.fraction_bits) - 1);
    const int exponent = (bits >> from.fraction_bits) & ((1 << from.exponent_bits) - 1);
    const double sign = (bits >> (from.bits - 1)) & 1 ? -1 : 1;
    const int all_ones = (1 << from.exponent_bits) - 1;
    if (from.has_infinities && exponent == all_ones)
        return fraction == 0 ? sign * std::numeric_limits<double>::infinity() : std::copysign(nan, sign);
    if (!from.has_infinities && exponent == all_ones && fraction == (1 << from.fraction_bits) - 1)
        return std::copysign(nan, sign);
    const int significand = exponent == 0 ? fraction : fraction + (1 << from.fraction_bits);
    return sign * std::ldexp(significand, std::max(exponent, 1) - exponent_bias(from) - from.fraction_bits);
}

std::uint16_t encoded(NumberFormat format, double value) {
    const FormatInfo& to = info(format);
    const int sign = std::signbit(value) ? 1 << (to.bits - 1) : 0;
    const double size = std::abs(rounded(format, value));
    const int all_ones = (1 << to.exponent_bits) - 1;
    int code = 0;
    if (std::isnan(size)) {
        // IEEE formats set the first bit of the fraction; e4m3 has one NaN, all ones.
        const int fraction = to.has_infinities ? 1 << (to.fraction_bits - 1) : (1 << to.fraction_bits) - 1;
        code = (all_ones << to.fraction_bits) + fraction;
    } else if (std::isinf(size)) {
        code = all_ones << to.fraction_bits;
    } else if (size != 0) {
        const int exponent = std::max(std::ilogb(size), to.least_exponent);
        const int significand = static_cast<int>(std::ldexp(size, to.fraction_bits - exponent));
        // A subnormal number lacks the leading bit, so the exponent's code stays 0.
        code = ((exponent + exponent_bias(to) - 1) << to.fraction_bits) + significand;
    }
    return static_cast<std::uint16_t>(sign | code);
}

}  // namespace attn
