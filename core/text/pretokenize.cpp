#include "text/pretokenize.hpp"

#include <array>

#include "text/unicode_class.hpp"
#include "text/utf8.hpp"

namespace attn {

namespace {

struct Character {
    UnicodeClass kind = UnicodeClass::other;
    std::size_t bytes = 0;
};

Character first_character(std::string_view text) {
    const char c = text.front();
    if (('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z')) return {UnicodeClass::letter, 1};
    if (c == ' ') return {UnicodeClass::space, 1};
    const CodePoint point = first_code_point(text);
    return {class_of(point.value), point.bytes};
}

// Returns where the run of characters of one class that begins at `at` ends.
std::size_t run_end(std::string_view text, std::size_t at, UnicodeClass kind) {
    while (at < text.size()) {
        const Character next = first_character(text.substr(at));
        if (next.kind != kind) break;
        at += next.bytes;
    }
    return at;
}

// Takes all white space at the start. If something else follows, the last character is left to that,
// unless it is the only one.
std::size_t white_space(std::string_view text) {
    std::size_t end = 0, last = 0;
    while (end < text.size()) {
        const Character next = first_character(text.substr(end));
        if (next.kind != UnicodeClass::space) return last > 0 ? last : end;
        last = end;
        end += next.bytes;
    }
    return end;
}

}  // namespace

std::size_t first_piece(std::string_view text) {
    constexpr std::array<std::string_view, 7> contractions{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    if (text.front() == '\'')
        for (const std::string_view contraction : contractions)
            if (text.starts_with(contraction)) return contraction.size();
    const std::size_t begin = text.front() == ' ' && text.size() > 1 ? 1 : 0;
    const UnicodeClass kind = first_character(text.substr(begin)).kind;
    return kind == UnicodeClass::space ? white_space(text) : run_end(text, begin, kind);
}

}  // namespace attn
