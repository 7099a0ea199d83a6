#include "text/byte_alphabet.hpp"

#include <algorithm>

#include "text/utf8.hpp"

namespace attn {

namespace {

constexpr bool is_printable(unsigned byte) {
    return ('!' <= byte && byte <= '~') || (0xA1 <= byte && byte <= 0xAC) || 0xAE <= byte;
}

constexpr std::array<std::uint8_t, 256> bytes_by_character = [] {
    std::array<std::uint8_t, 256> bytes{};
    std::size_t count = 0;
    for (const bool printable : {true, false})
        for (unsigned byte = 0; byte < 256; ++byte)
            if (is_printable(byte) == printable) bytes[count++] = static_cast<std::uint8_t>(byte);
    return bytes;
}();

constexpr std::size_t printable_bytes = 188;
static_assert(is_printable(bytes_by_character[printable_bytes - 1]) &&
              !is_printable(bytes_by_character[printable_bytes]));

constexpr std::array<char32_t, 256> characters = [] {
    std::array<char32_t, 256> result{};
    for (std::size_t i = 0; i < 256; ++i)
        result[bytes_by_character[i]] =
            i < printable_bytes ? bytes_by_character[i] : static_cast<char32_t>(0x100 + i - printable_bytes);
    return result;
}();

}  // namespace

const std::array<std::uint8_t, 256>& bytes_in_alphabet_order() { return bytes_by_character; }

std::string spell(std::string_view bytes) {
    std::string spelling;
    for (const char byte : bytes) {
        const char32_t character = characters[static_cast<std::uint8_t>(byte)];
        if (character >= 0x80) spelling += static_cast<char>(0xC0 | character >> 6);
        spelling += static_cast<char>(character < 0x80 ? character : 0x80 | (character & 0x3F));
    }
    return spelling;
}

std::optional<std::string> unspell(std::string_view spelling) {
    std::string bytes;
    while (!spelling.empty()) {
        const CodePoint point = first_code_point(spelling);
        if (point.value < 0x100) {
            if (!is_printable(point.value)) return std::nullopt;
            bytes += static_cast<char>(point.value);
        } else {
            const std::size_t place = point.value - 0x100 + printable_bytes;
            if (place >= 256) return std::nullopt;
            bytes += static_cast<char>(bytes_by_character[place]);
        }
        spelling.remove_prefix(point.bytes);
    }
    return bytes;
}

}  // namespace attn
