#include "text/byte_level_tokens.hpp"

#include "text/byte_alphabet.hpp"
#include "text/utf8.hpp"

namespace attn {

std::vector<std::string> read_byte_level(std::span<const std::string> tokens) {
    std::vector<std::string> as_they_are(tokens.begin(), tokens.end());
    std::string text;
    std::vector<std::size_t> owner;  // the token of each byte
    for (std::size_t i = 0; i < tokens.size(); ++i) {
        const auto bytes = unspell(tokens[i]);
        if (!bytes) return as_they_are;
        text += *bytes;
        owner.insert(owner.end(), bytes->size(), i);
    }
    std::vector<std::string> read(tokens.size());
    for (std::size_t at = 0; at < text.size();) {
        const CodePoint point = first_code_point(std::string_view(text).substr(at));
        if (!point.well_formed) return as_they_are;
        const std::string_view bytes = std::string_view(text).substr(at, point.bytes);
        const std::string character = point.value < 0x80 ? spell(bytes) : std::string(bytes);
        std::size_t parts = 1;
        for (std::size_t i = 1; i < point.bytes; ++i) parts += owner[at + i] != owner[at + i - 1];
        std::size_t part = 0;
        for (std::size_t i = 0; i < point.bytes; ++i) {
            if (i > 0 && owner[at + i] == owner[at + i - 1]) continue;
            ++part;
            read[owner[at + i]] +=
                parts == 1 ? character
                           : "⟨" + character + " " + std::to_string(part) + "/" + std::to_string(parts) + "⟩";
        }
        at += point.bytes;
    }
    return read;
}

}  // namespace attn
