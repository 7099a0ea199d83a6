#include "tensor/decimal.hpp"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>

namespace attn {

namespace {

// The value is digits · 10^exponent.
struct Decimal {
    std::string digits;
    int exponent = 0;
};

// `value` is positive and finite. Grisu2 (Loitsch 2010, doi 10.1145/1806596.1806623) finds the fewest
// digits of every float, but one or two more than the fewest for one double in a thousand.
template <class Number>
Decimal decimal_of(Number value) {
    char text[32];
    int count = 0, exponent = 0;
    nlohmann::detail::dtoa_impl::grisu2(text, count, exponent, value);
    Decimal found{{text, static_cast<std::size_t>(count)}, exponent};
    if constexpr (std::is_same_v<Number, double>) {
        for (int fewer = std::numeric_limits<double>::digits10; fewer < count; ++fewer) {
            std::snprintf(text, sizeof text, "%.*e", fewer - 1, value);
            if (std::strtod(text, nullptr) != value) continue;
            const std::string written = text;
            const std::size_t end = written.find('e'), last = written.find_last_not_of('0', end - 1);
            return {written[0] + written.substr(2, last - 1),
                    std::atoi(text + end + 1) - static_cast<int>(last) + 1};
        }
    }
    return found;
}

std::string scientific(const Decimal& number) {
    const int exponent = number.exponent + static_cast<int>(std::ssize(number.digits)) - 1;
    char end[8];
    std::snprintf(end, sizeof end, "e%+03d", exponent);
    return number.digits.substr(0, 1) + (number.digits.size() > 1 ? "." + number.digits.substr(1) : "") + end;
}

std::string fixed(const Decimal& number, double value) {
    if (number.exponent > 0) {  // all digits of a whole number
        char text[32];
        std::snprintf(text, sizeof text, "%.0f", value);
        return text;
    }
    const int before = static_cast<int>(std::ssize(number.digits)) + number.exponent;
    if (number.exponent == 0) return number.digits;
    if (before <= 0) return "0." + std::string(static_cast<std::size_t>(-before), '0') + number.digits;
    std::string text = number.digits;
    return text.insert(static_cast<std::size_t>(before), 1, '.');
}

template <class Number>
std::string shortest_of(Number value) {
    const std::string sign = std::signbit(value) ? "-" : "";
    if (std::isnan(value)) return sign + "nan";
    if (std::isinf(value)) return sign + "inf";
    if (value == 0) return sign + "0";
    const Decimal number = decimal_of(std::abs(value));
    const std::string short_form = scientific(number);
    const int digits = static_cast<int>(std::ssize(number.digits));
    // Beyond these, the other notation is longer by far.
    if (number.exponent > 8 || number.exponent + digits < -8) return sign + short_form;
    const std::string long_form = fixed(number, static_cast<double>(std::abs(value)));
    return sign + (long_form.size() <= short_form.size() ? long_form : short_form);
}

}  // namespace

std::string shortest(double value) { return shortest_of(value); }
std::string shortest(float value) { return shortest_of(value); }

}  // namespace attn
