// Spells texts, numbers, matrices and names for links.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/matrix.hpp"

namespace attn::app {

// Says whether a text is short enough for a link: at most 32,000 characters.
bool fits_into_a_link(std::string_view text);
// A value of more than 2,000 characters is packed: deflated, and written in the 64 letters of RFC 4648,
// section 5.
bool is_packed_in_a_link(std::string_view value);
std::string pack(std::string_view value);
std::optional<std::string> unpack(std::string_view packed);

std::string percent_encode(std::string_view text);
std::optional<std::string> percent_decode(std::string_view text);

// Splits a text at the separators, and stops after more parts than any value in a link has.
std::vector<std::string_view> split(std::string_view text, char separator);

template <class Integer>
std::optional<Integer> read_integer(std::string_view text) {
    Integer value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}
template <std::size_t n>
std::optional<int> index_of(const std::array<std::string_view, n>& names, std::string_view name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<int>(found - names.begin());
}

std::string write_integers(std::span<const Index> values);  // "4,4,8,8"
std::optional<std::vector<Index>> read_integers(std::string_view text);

// Writes "2x2:1,0,0,1". Reading returns nothing unless the text is a matrix of 1×1 to 64×64.
std::string write_matrix(const Matrix& matrix);
std::optional<Matrix> read_matrix(std::string_view text);

// Joins names with commas; a comma or backslash within a name is escaped with a backslash.
std::string write_names(const std::vector<std::string>& names);
std::vector<std::string> read_names(std::string_view text);  // at least one
// Reads `count` names; nothing if there are more or fewer.
std::optional<std::vector<std::string>> read_names(std::string_view text, std::size_t count);

// Writes hexadecimal digits of four cells each, the first cell in the highest bit.
std::string write_cells(const std::vector<std::uint8_t>& cells);
std::optional<std::vector<std::uint8_t>> read_cells(std::string_view text, std::size_t count);

}  // namespace attn::app
