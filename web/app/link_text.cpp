#include "app/link_text.hpp"

#include <algorithm>

#include "app/format.hpp"
#include "io/deflate.hpp"
#include "text/utf8.hpp"

namespace attn::app {

namespace {

constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
// In bytes: 32,000 characters of four bytes each, and the names around them.
constexpr std::size_t unpacked_limit = std::size_t{1} << 18;

std::optional<unsigned> hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return std::nullopt;
}

}  // namespace

bool fits_into_a_link(std::string_view text) {
    constexpr std::ptrdiff_t limit = 32'000;
    return count_code_points(text) <= limit;
}

bool is_packed_in_a_link(std::string_view value) {
    constexpr std::ptrdiff_t plain_limit = 2000;
    return count_code_points(value) > plain_limit;
}

std::string pack(std::string_view value) {
    std::string out;
    unsigned bits = 0;
    int waiting = 0;  // bits waiting in it
    for (const char c : deflated(value)) {
        bits = bits << 8 | static_cast<unsigned char>(c);
        for (waiting += 8; waiting >= 6; waiting -= 6) out += letters[bits >> (waiting - 6) & 63];
    }
    if (waiting > 0) out += letters[bits << (6 - waiting) & 63];
    return out;
}

std::optional<std::string> unpack(std::string_view packed) {
    std::string bytes;
    unsigned bits = 0;
    int waiting = 0;
    for (const char c : packed) {
        const auto letter = letters.find(c);
        if (letter == std::string_view::npos) return std::nullopt;
        bits = bits << 6 | static_cast<unsigned>(letter);
        if ((waiting += 6) < 8) continue;
        waiting -= 8;
        bytes += static_cast<char>(bits >> waiting & 255);
    }
    return inflated(bytes, unpacked_limit);
}

std::string percent_encode(std::string_view text) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~,:";
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string out;
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (plain.find(c) != std::string_view::npos)
            out += c;
        else
            out.append("%").append(1, digits[byte >> 4]).append(1, digits[byte & 15]);
    }
    return out;
}

std::optional<std::string> percent_decode(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        if (text.size() - i < 3) return std::nullopt;
        const auto high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
        if (!high || !low) return std::nullopt;
        out += static_cast<char>(*high << 4 | *low);
        i += 2;
    }
    return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const auto at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos || std::ssize(parts) > matrix_size_limit * matrix_size_limit)
            return parts;
        text.remove_prefix(at + 1);
    }
}

std::string write_integers(std::span<const Index> values) {
    std::string text;
    for (const Index value : values) text += (text.empty() ? "" : ",") + std::to_string(value);
    return text;
}

std::optional<std::vector<Index>> read_integers(std::string_view text) {
    std::vector<Index> values;
    for (const auto part : split(text, ',')) {
        const auto value = read_integer<Index>(part);
        if (!value) return std::nullopt;
        values.push_back(*value);
    }
    return values;
}

std::string write_matrix(const Matrix& matrix) {
    std::string text = std::to_string(matrix.rows) + "x" + std::to_string(matrix.cols);
    char separator = ':';
    for (const double value : matrix.values) {
        text += separator + shortest(value);
        separator = ',';
    }
    return text;
}

std::optional<Matrix> read_matrix(std::string_view text) {
    const auto cross = text.find('x'), colon = text.find(':');
    if (cross == std::string_view::npos || colon == std::string_view::npos || colon < cross)
        return std::nullopt;
    const auto rows = read_integer<Index>(text.substr(0, cross));
    const auto cols = read_integer<Index>(text.substr(cross + 1, colon - cross - 1));
    const auto within = [](const std::optional<Index>& size) {
        return size && *size >= 1 && *size <= matrix_size_limit;
    };
    if (!within(rows) || !within(cols)) return std::nullopt;
    const auto numbers = split(text.substr(colon + 1), ',');
    if (std::ssize(numbers) != *rows * *cols) return std::nullopt;
    Matrix m(*rows, *cols);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto value = read_number(numbers[i]);
        if (!value) return std::nullopt;
        m.values[i] = *value;
    }
    return m;
}

std::string write_names(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        if (&name != &names.front()) text += ',';
        for (const char c : name) {
            if (c == ',' || c == '\\') text += '\\';
            text += c;
        }
    }
    return text;
}

std::vector<std::string> read_names(std::string_view text) {
    std::vector<std::string> names(1);
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == ',') {
            names.emplace_back();
            continue;
        }
        if (text[i] == '\\' && i + 1 < text.size()) ++i;
        names.back() += text[i];
    }
    return names;
}

std::optional<std::vector<std::string>> read_names(std::string_view text, std::size_t count) {
    auto names = read_names(text);
    if (names.size() != count) return std::nullopt;
    return names;
}

std::string write_cells(const std::vector<std::uint8_t>& cells) {
    std::string text;
    for (std::size_t i = 0; i < cells.size(); i += 4) {
        unsigned digit = 0;
        for (std::size_t bit = i; bit < std::min(i + 4, cells.size()); ++bit)
            digit |= static_cast<unsigned>(cells[bit] != 0) << (3 - (bit - i));
        text += "0123456789abcdef"[digit];
    }
    return text;
}

std::optional<std::vector<std::uint8_t>> read_cells(std::string_view text, std::size_t count) {
    if (text.size() != (count + 3) / 4) return std::nullopt;
    std::vector<std::uint8_t> cells;
    for (std::size_t i = 0; i < count; ++i) {
        const auto digit = hex_digit(text[i / 4]);
        if (!digit) return std::nullopt;
        cells.push_back(*digit >> (3 - i % 4) & 1);
    }
    return cells;
}

}  // namespace attn::app
