#include "text/words.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "text/unicode_class.hpp"
#include "text/utf8.hpp"

namespace attn {

namespace {

constexpr std::array<std::string_view, 4> space_marks{" ", "Ġ", "▁", "·"};
constexpr std::string_view going_on = "##";

// Returns how many bytes of space marks the piece begins with.
std::size_t marks_before(std::string_view piece) {
    std::size_t length = 0;
    for (bool found = true; found;) {
        found = false;
        for (const std::string_view mark : space_marks)
            if (piece.substr(length).starts_with(mark)) {
                length += mark.size();
                found = true;
            }
    }
    return length;
}

bool is_special(std::string_view piece) {
    return piece.size() > 2 && ((piece.starts_with('<') && piece.ends_with('>')) ||
                                (piece.starts_with('[') && piece.ends_with(']')));
}

bool holds(std::string_view text, auto is_one) {
    while (!text.empty()) {
        const CodePoint point = first_code_point(text);
        if (is_one(point.value)) return true;
        text.remove_prefix(point.bytes);
    }
    return false;
}

// Marks over and under the letters of Latin, Cyrillic, Hebrew, Arabic and Indic scripts belong to their word.
bool is_mark(char32_t point) {
    const bool indic = point >= 0x900 && point < 0xe00 && point != 0x964 && point != 0x965 && point != 0x970;
    return (point >= 0x300 && point < 0x370) || (point >= 0x591 && point < 0x5be) ||
           (point >= 0x64b && point < 0x660) || (indic && class_of(point) == UnicodeClass::other);
}

bool says_something(char32_t point) {
    constexpr char32_t space = U'Ġ', line_break = U'Ċ';  // the way byte-level vocabularies spell them
    const UnicodeClass kind = class_of(point);
    return (kind == UnicodeClass::letter && point != space && point != line_break) ||
           kind == UnicodeClass::number || is_mark(point);
}

bool is_space(char32_t point) { return class_of(point) == UnicodeClass::space; }

bool without_spaces(char32_t point) {  // Han and Kana
    return (point >= 0x3040 && point < 0x3100) || (point >= 0x3400 && point < 0xa000) ||
           (point >= 0xf900 && point < 0xfb00) || (point >= 0x20000 && point < 0x40000);
}

// A piece with the parts of characters in it made whole again: web/shell/pieces.js writes "⟨猫 1/2⟩" and "⟨猫
// 2/2⟩".
struct Read {
    std::string text;
    bool goes_on = false;  // it begins within a character
};

// Returns the number at the beginning of the text, which loses it; 0 if there is none.
int take_number(std::string_view& text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{}) return 0;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

Read read(std::string_view piece) {
    constexpr std::string_view opening = "⟨", closing = "⟩";
    Read read;
    while (!piece.empty()) {
        const std::size_t at = std::min(piece.find(opening), piece.size());
        read.text += piece.substr(0, at);
        piece.remove_prefix(at);
        if (piece.empty()) break;
        const std::size_t blank = piece.find(' '), end = piece.find(closing);
        std::string_view count = blank < end ? piece.substr(blank + 1, end - blank - 1) : std::string_view{};
        const int part = take_number(count);
        const bool slash = count.starts_with('/');
        if (slash) count.remove_prefix(1);
        if (part < 1 || !slash || take_number(count) < part || !count.empty()) {
            read.text += opening;
            piece.remove_prefix(opening.size());
            continue;
        }
        if (part == 1) read.text += piece.substr(opening.size(), blank - opening.size());
        if (part > 1 && at == 0 && read.text.empty()) read.goes_on = true;
        piece.remove_prefix(end + closing.size());
    }
    return read;
}

// Says how the pieces of a text show where words begin.
enum class Spelling { spaces, continuations, one_word };

Spelling spelling_of(std::span<const std::string> pieces, std::string_view text) {
    for (const std::string& piece : pieces)
        if (const std::size_t marks = marks_before(piece); marks > 0 && marks < piece.size())
            return Spelling::spaces;
    return text.empty() || holds(text, is_space) ? Spelling::continuations : Spelling::one_word;
}

}  // namespace

std::vector<Word> words_of(std::span<const std::string> pieces, std::string_view text) {
    const Spelling spelling = spelling_of(pieces, text);
    std::vector<Word> words;
    bool open = false;  // whether the last word may go on
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto token = static_cast<Index>(i);
        const Read whole = read(pieces[i]);
        std::string_view piece = whole.text;
        if (whole.goes_on && !words.empty()) {
            words.back().tokens.end = token + 1;
            words.back().name += piece;
            open |= holds(piece, says_something);
            continue;
        }
        const bool alone = is_special(piece) || !holds(piece, says_something);
        const std::size_t marks = marks_before(piece);
        const bool continues = spelling != Spelling::spaces && piece.starts_with(going_on) && !alone;
        if (continues) piece.remove_prefix(going_on.size());
        const bool goes_on = open && !alone && words.back().tokens.size() < most_tokens_a_word &&
                             (continues || (spelling != Spelling::continuations && marks == 0 &&
                                            !without_spaces(first_code_point(piece).value)));
        if (goes_on) {
            words.back().tokens.end = token + 1;
            words.back().name += piece;
        } else {
            if (!alone) piece.remove_prefix(marks);
            words.push_back(
                {{token, token + 1}, std::string(piece), marks > 0 || spelling == Spelling::continuations});
        }
        open = !alone;
    }
    return words;
}

}  // namespace attn
