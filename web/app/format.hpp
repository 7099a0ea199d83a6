// Converts numbers to text and back.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attention/head_index.hpp"

namespace attn::app {

std::string shortest(double value);               // reads back as the same double: "0.1", "-inf", "1e-07"
std::string shortest(float value);                // reads back as the same float
std::string rounded(double value, int decimals);  // "0.43"; for one number among many
std::string fixed(double value, int decimals);    // "0.433", "−∞", "NaN"; scientific if fixed says nothing

std::string significant(double value, int digits);  // "0.43300000", "−∞", "NaN"

std::string curly_quoted(std::string_view text);  // “big”
std::string on_one_line(std::string_view text);   // with blanks for control characters
// Returns "98 %", or "0.04 %" where no whole number says anything.
std::string percent(double share);
// A next token has one probability on the page, that of the model's own distribution, and it names its setting.
inline constexpr const char* at_temperature = "at temperature 1";
std::string chance(double probability);                // "35 % at temperature 1"
std::string chance_change(double before, double now);  // "from 35 % to 24 % at temperature 1"
// Returns "10⁻⁸", "2·10⁻⁸": a number other than 0 with one digit, as axes have them.
std::string power_text(double value);
// Returns "1 token", "2 tokens".
std::string many(std::ptrdiff_t count, std::string_view what);
// How many layers of heads there are, and how each is called: of an encoder–decoder, the encoder's come first, then the
// decoder's own attentions, then those of the decoder to the encoder.
struct Layers {
    std::ptrdiff_t count = 1;
    std::ptrdiff_t decoder = 0;  // layers of a decoder that reads an encoder's text

    Layers(std::ptrdiff_t layers = 1, std::ptrdiff_t decoder_layers = 0)
        : count(layers), decoder(decoder_layers) {}
    std::string name(std::ptrdiff_t layer) const;  // "layer 2", "encoder 0", "decoder 1", "cross 1"
    std::string short_head(HeadIndex head) const;  // "2.1", "E0.1"; "1" where there is only one layer
    bool operator==(const Layers&) const = default;
};

// Returns "layer 2 · head 1"; without the layer where there is only one.
std::string head_text(HeadIndex head, const Layers& layers, std::string_view between = " · ");
std::string capitalised(std::string text);    // that begins with a letter of ASCII
std::string with_commas(std::int64_t count);  // "16,384"; count >= 0

// Reads a text that is a decimal number, "inf" or "-inf" as a whole; nothing if it is none of these or out of
// a double's range.
std::optional<double> read_number(std::string_view text);
// Reads one that a person has typed: the keypads of many phones have a comma instead of the point.
std::optional<double> read_typed_number(std::string text);

std::string label_at(std::span<const std::string> labels, Index i);  // the position if there is no label

}  // namespace attn::app
