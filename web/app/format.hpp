// Converts numbers to text and back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attention/head_index.hpp"
#include "tensor/decimal.hpp"

namespace attn::app {

using attn::shortest;
std::string rounded(double value, int decimals);  // "0.43"; for one number among many
// "0.433", "−∞", "NaN"; scientific if fixed notation would show only zeros.
std::string fixed(double value, int decimals);
inline std::string four(double value) { return fixed(value, 4); }  // for steps and notes

// Says how the numbers of one picture are written, so that all of them are written alike.
struct Digits {
    int decimals = 2;
    bool scientific = false;
    bool operator==(const Digits&) const = default;
};
// Returns the digits for numbers up to `largest`: the usual decimals if they show two digits of it, and
// otherwise three digits of it. Counts, which usually have no decimals, never have any.
Digits digits_for(double largest, int usual_decimals);
// Returns fewer digits, at least one for the largest number, for places with little room.
Digits fewest_digits(double largest, Digits digits);
std::string with_digits(double value, Digits digits);  // "0.0103", "1.53e-06", "−∞", "NaN"

std::string signed_number(double value);  // "+4.12", "-0.30"

std::string significant(double value, int digits);  // "0.43300000", "−∞", "NaN"

// Writes the size of an error with two digits: "3.1e-4", "0.31", "NaN".
std::string error_size(double error);
// Returns the least number of two digits that is not below this one, so that a bound remains one.
double two_digits_up(double error);

std::string curly_quoted(std::string_view text);  // “big”
std::string on_one_line(std::string_view text);   // with blanks for control characters
// Returns "98 %", or "0.04 %" where a whole number would say nothing.
std::string percent(double share);
// The page gives one probability for a next token, from the model's own distribution, together with its
// setting.
inline constexpr const char* at_temperature = "at temperature 1";
std::string chance(double probability);                // "35 % at temperature 1"
std::string chance_change(double before, double now);  // "from 35 % to 24 % at temperature 1"
// Returns "10⁻⁸" or "2·10⁻⁸": a number other than 0 with one digit, as axes show it.
std::string power_text(double value);
// Returns "1 token", "2 tokens".
std::string many(std::ptrdiff_t count, std::string_view what);
// Counts the layers of heads and names them. An encoder–decoder's layers are the encoder's, then the
// decoder's self-attentions, then its cross-attentions.
struct Layers {
    std::ptrdiff_t count = 1;
    std::ptrdiff_t decoder = 0;  // decoder layers of an encoder–decoder

    Layers(std::ptrdiff_t layers = 1, std::ptrdiff_t decoder_layers = 0)
        : count(layers), decoder(decoder_layers) {}
    std::string name(std::ptrdiff_t layer) const;  // "layer 2", "encoder 0", "decoder 1", "cross 1"
    std::string short_head(HeadIndex head) const;  // "2.1", "E0.1"; "1" where there is only one layer
    bool operator==(const Layers&) const = default;
};

// Returns "layer 2 · head 1", or without the layer if there is only one.
std::string head_text(HeadIndex head, const Layers& layers, std::string_view between = " · ");
std::string capitalised(std::string text);    // `text` begins with an ASCII letter
std::string with_commas(std::int64_t count);  // "16,384"; count >= 0
// Returns "87.5 KB" with units such as " B" and " KB", each a thousand times the one before; count >= 0.
std::string in_thousands(double count, std::span<const char* const> units);

// Reads a text that as a whole is a decimal number, "inf" or "-inf"; nothing if it is none of these or out of
// a double's range.
std::optional<double> read_number(std::string_view text);
// Reads a number that a person typed: the keypads of many phones have a comma instead of a point.
std::optional<double> read_typed_number(std::string text);

std::string label_at(std::span<const std::string> labels, Index i);  // the position if there is no label

}  // namespace attn::app
