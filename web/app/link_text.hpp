// How texts, numbers, matrices and names are spelt in a link.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/state.hpp"

namespace attn::app {

std::string percent_encode(std::string_view text);
std::optional<std::string> percent_decode(std::string_view text);

// Between separators; stops at more parts than any value of a link has.
std::vector<std::string_view> split(std::string_view text, char separator);

template <class Integer>
std::optional<Integer> read_integer(std::string_view text) {
    Integer value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}
// Where a name is among those that there are.
template <std::size_t n>
std::optional<int> index_of(const std::array<std::string_view, n>& names, std::string_view name) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) return std::nullopt;
    return static_cast<int>(found - names.begin());
}

std::string write_integers(std::span<const Index> values);  // "4,4,8,8"
std::optional<std::vector<Index>> read_integers(std::string_view text);

// "2x2:1,0,0,1"; nothing where that is no matrix of 1×1 to 64×64.
std::string write_matrix(const Matrix& matrix);
std::optional<Matrix> read_matrix(std::string_view text);

// Names joined by commas; a comma or backslash in a name stands after a backslash.
std::string write_names(const std::vector<std::string>& names);
std::vector<std::string> read_names(std::string_view text);  // one at least
// `count` names, or nothing.
std::optional<std::vector<std::string>> read_names(std::string_view text, std::size_t count);

// Hexadecimal, four cells a digit, the first in its highest bit.
std::string write_cells(const std::vector<std::uint8_t>& cells);
std::optional<std::vector<std::uint8_t>> read_cells(std::string_view text, std::size_t count);

}  // namespace attn::app
