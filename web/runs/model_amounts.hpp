// What a model takes, as amounts with names and units, under a browser's roofline where that is measured.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "analysis/cost/attention_cost.hpp"
#include "analysis/cost/model_cost.hpp"

namespace attn::app {

enum class Amount : std::uint8_t {
    weights,
    reading,  // operations, of all tokens at once
    attention_share,
    reading_bytes,
    reading_intensity,
    writing,  // a token after those
    writing_bytes,
    writing_intensity,
    cache,
    reading_time,  // at best, under the roofline
    writing_time
};
inline constexpr std::size_t amount_count = 11;
inline constexpr std::array<const char*, amount_count> amount_names{
    "weights",   "reading",         "of it attention", "bytes moved",      "FLOP a byte",     "a token more",
    "its bytes", "its FLOP a byte", "keys and values", "reading, at best", "a token, at best"};

struct ModelUse {
    ModelShape shape;
    Index tokens = 1;  // read at once
    NumberBytes bytes{};
    std::optional<Roofline> roof{};

    ModelStep step(bool reads) const { return step_of(shape, {reads ? 0 : tokens, tokens + !reads}, bytes); }
    // Nothing of a time without a roofline, in ms.
    std::optional<double> amount(Amount amount) const;
};
constexpr bool is_of_reading(Amount amount) {
    return amount < Amount::writing || amount == Amount::reading_time;
}

std::string operations_text(double operations);  // "3.4 MFLOP"
std::string bytes_text(double bytes);            // "87.5 KB"
std::string time_text(double ms);                // "1.25 ms"
std::string amount_text(Amount amount, double value);

}  // namespace attn::app
