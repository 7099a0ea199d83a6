#include "app/format.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>

namespace attn::app {

std::string fixed(double value, int decimals) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value < 0 ? "−∞" : "∞";
    if (value == 0) value = 0;  // no "-0.000"
    const double size = std::abs(value);
    const bool tiny = value != 0 && size < 0.5 * std::pow(10.0, -decimals);
    const bool huge = size >= 1e6;
    char text[64];
    if (tiny || huge)
        std::snprintf(text, sizeof text, "%.*e", decimals < 2 ? 0 : decimals < 4 ? 1 : decimals - 2, value);
    else
        std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return text;
}

std::string signed_number(double value) { return (value > 0 ? "+" : "") + fixed(value, 2); }

std::string significant(double value, int digits) {
    if (!std::isfinite(value)) return fixed(value, digits);
    char text[64];
    std::snprintf(text, sizeof text, "%#.*g", digits, value == 0 ? 0 : value);
    return text;
}

std::string error_size(double error) {
    if (error == 0) return "0";
    if (!std::isfinite(error)) return fixed(error, 1);
    char text[32];
    const double size = std::abs(error);
    std::snprintf(text, sizeof text,
                  size < 0.01 || size >= 1000 ? "%.1e"
                  : size < 100                ? "%.2g"
                                              : "%.0f",
                  error);
    std::string written = text;
    if (const auto e = written.find('e'); e != std::string::npos) {
        // "3.1e-04" is written as "3.1e-4".
        if (written[e + 1] == '+') written.erase(e + 1, 1);
        const auto digits = written.find_first_of("0123456789", e);
        while (written[digits] == '0' && digits + 1 < written.size()) written.erase(digits, 1);
    }
    return written;
}

double two_digits_up(double error) {
    if (error == 0 || !std::isfinite(error)) return error;
    const double unit = std::pow(10, std::floor(std::log10(error)) - 1);
    return std::ceil(error / unit - 1e-9) * unit;
}

std::string rounded(double value, int decimals) {
    if (!std::isfinite(value) || std::abs(value) >= 1e6) return fixed(value, decimals);
    char text[64];
    std::snprintf(text, sizeof text, "%.*f", decimals, value);
    return std::string_view(text).find_first_of("123456789") == std::string_view::npos && text[0] == '-'
               ? text + 1
               : text;
}

namespace {

// Counts the decimals that show this many digits of a number.
int decimals_showing(int digits, double size) {
    return std::max(digits - 1 - static_cast<int>(std::floor(std::log10(size))), 0);
}

}  // namespace

Digits digits_for(double largest, int usual_decimals) {
    constexpr double smallest_fixed = 1e-4;
    constexpr int wanted = 3, enough = 2;
    if (usual_decimals == 0 || !std::isfinite(largest) || largest == 0) return {usual_decimals};
    if (largest < smallest_fixed) return {wanted - 1, true};
    if (decimals_showing(enough, largest) <= usual_decimals) return {usual_decimals};
    return {decimals_showing(wanted, largest)};
}

Digits fewest_digits(double largest, Digits digits) {
    if (digits.scientific) return {0, true};
    if (!std::isfinite(largest) || largest == 0) return {std::min(digits.decimals, 1)};
    return {std::min(digits.decimals, std::max(decimals_showing(1, largest), 1))};
}

std::string with_digits(double value, Digits digits) {
    if (!digits.scientific || !std::isfinite(value)) return rounded(value, digits.decimals);
    if (value == 0) return "0";
    char text[64];
    std::snprintf(text, sizeof text, "%.*e", digits.decimals, value);
    return text;
}

std::string curly_quoted(std::string_view text) { return "“" + std::string(text) + "”"; }

std::string on_one_line(std::string_view text) {
    std::string line(text);
    for (char& c : line)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    return line;
}

std::string percent(double share) {
    const double hundredths = 100 * share, size = std::abs(hundredths);
    const int decimals = size >= 0.95 || size == 0 ? 0 : size >= 0.095 ? 1 : 2;
    return fixed(hundredths, decimals) + " %";
}

std::string chance(double probability) { return percent(probability) + " " + at_temperature; }

std::string chance_change(double before, double now) {
    return "from " + percent(before) + " to " + chance(now);
}

std::string power_text(double value) {
    constexpr std::array<const char*, 10> raised{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    int power = static_cast<int>(std::floor(std::log10(std::abs(value)) + 1e-9));
    long digit = std::lround(std::abs(value) / std::pow(10.0, power));
    if (digit == 10) digit = 1, ++power;
    std::string text = value < 0 ? "-" : "";
    if (digit != 1) text += std::to_string(digit) + "·";
    text += power < 0 ? "10⁻" : "10";
    for (const char c : std::to_string(std::abs(power))) text += raised[static_cast<std::size_t>(c - '0')];
    return text;
}

std::string many(std::ptrdiff_t count, std::string_view what) {
    return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

namespace {

// Returns the stack that a layer belongs to, and the layer's number in it.
std::pair<const char*, std::ptrdiff_t> in_stack(const Layers& layers, std::ptrdiff_t layer) {
    if (layers.decoder == 0) return {"layer", layer};
    const std::ptrdiff_t cross = layers.count - layers.decoder, own = cross - layers.decoder;
    return layer < own     ? std::pair{"encoder", layer}
           : layer < cross ? std::pair{"decoder", layer - own}
                           : std::pair{"cross", layer - cross};
}

}  // namespace

std::string Layers::name(std::ptrdiff_t layer) const {
    const auto [stack, number] = in_stack(*this, layer);
    return std::string(stack) + " " + std::to_string(number);
}

std::string Layers::short_head(HeadIndex head) const {
    if (count < 2) return std::to_string(head.head);
    const auto [stack, number] = in_stack(*this, head.layer);
    const std::string at = std::to_string(number) + "." + std::to_string(head.head);
    return decoder == 0 ? at : static_cast<char>(stack[0] - 'a' + 'A') + at;
}

std::string capitalised(std::string text) {
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

std::string head_text(HeadIndex head, const Layers& layers, std::string_view between) {
    std::string text = "head " + std::to_string(head.head);
    if (layers.count > 1) text = layers.name(head.layer) + std::string(between) + text;
    return text;
}

std::string with_commas(std::int64_t count) {
    std::string text = std::to_string(count);
    for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
    return text;
}

std::string in_thousands(double count, std::span<const char* const> units) {
    std::size_t unit = 0;
    for (; count >= 999.5 && unit + 1 < units.size(); ++unit) count /= 1000;
    return fixed(count, unit == 0 || count >= 99.95 ? 0 : 1) + units[unit];
}

std::optional<double> read_number(std::string_view text) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (text == "inf") return infinity;
    if (text == "-inf") return -infinity;
    // strtod also accepts "0x1p3", "nan" and leading blanks, which are not allowed here.
    std::array<char, 64> buffer{};
    if (text.empty() || text.size() >= buffer.size() ||
        text.find_first_not_of("0123456789+-.eE") != std::string_view::npos)
        return std::nullopt;
    std::ranges::copy(text, buffer.begin());
    char* end = nullptr;
    const double value = std::strtod(buffer.data(), &end);
    if (end != buffer.data() + text.size() || std::isinf(value)) return std::nullopt;
    return value;
}

std::optional<double> read_typed_number(std::string text) {
    std::ranges::replace(text, ',', '.');
    return read_number(text);
}

std::string label_at(std::span<const std::string> labels, Index i) {
    return i >= 0 && i < std::ssize(labels) ? labels[static_cast<std::size_t>(i)] : std::to_string(i);
}

}  // namespace attn::app
