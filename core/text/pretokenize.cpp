#include "text/pretokenize.hpp"

#include <array>

#include "text/unicode_class.hpp"
#include "text/utf8.hpp"

namespace attn {

namespace {

constexpr std::array<std::string_view, 7> contractions{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

struct Character {
    char32_t value = 0;
    UnicodeClass kind = UnicodeClass::other;
    std::size_t bytes = 0;  // 0: the text has ended
};

bool breaks_line(const Character& c) { return c.value == '\r' || c.value == '\n'; }
bool is_sign(const Character& c) { return c.bytes > 0 && c.kind == UnicodeClass::other; }

bool is_default_mark(char32_t point) {
    constexpr std::string_view more = "$+<=>^~|";
    return is_punctuation(point) || (point < 0x80 && more.find(static_cast<char>(point)) != more.npos);
}

// Returns the length of the first piece of a run of numbers.
std::size_t digits_in_threes(std::string_view run) {
    const auto is_digit = [&](std::size_t place) { return '0' <= run[place] && run[place] <= '9'; };
    for (std::size_t i = 0; i + 3 <= run.size(); ++i)
        if (is_digit(i) && is_digit(i + 1) && is_digit(i + 2)) return i == 0 ? 3 : i;
    return run.size();
}

// A text to be divided.
class Divided {
  public:
    Divided(std::string_view text, PreTokenizer by)
        : text_(text),
          alone_(by == PreTokenizer::single_digits),
          between_marks_(by == PreTokenizer::llama_default) {}

    Character at(std::size_t place) const {
        if (place >= text_.size()) return {};
        const char c = text_[place];
        const auto value = static_cast<char32_t>(static_cast<unsigned char>(c));
        if (('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z')) return {value, UnicodeClass::letter, 1};
        if (c == ' ') return {value, UnicodeClass::space, 1};
        const CodePoint point = first_code_point(text_.substr(place));
        if (between_marks_ && is_default_mark(point.value)) return {};
        return {point.value, class_of(point.value), point.bytes};
    }

    // Returns where the run of characters of one class that begins at `place` ends, after so many of them at
    // the most.
    std::size_t run_end(std::size_t place, UnicodeClass kind, int most = -1) const {
        for (Character next = at(place); next.bytes > 0 && next.kind == kind && most != 0; next = at(place)) {
            place += next.bytes;
            --most;
        }
        return place;
    }

    // Returns where the run of line breaks, or of slashes too, that begins at `place` ends.
    std::size_t breaks_end(std::size_t place, bool slashes) const {
        while (place < text_.size() &&
               (text_[place] == '\r' || text_[place] == '\n' || (slashes && text_[place] == '/')))
            ++place;
        return place;
    }

    // Returns the length of the contraction at `place`, or 0.
    std::size_t contraction(std::size_t place, bool any_case) const {
        if (place >= text_.size() || text_[place] != '\'') return 0;
        for (const std::string_view each : contractions) {
            bool same = text_.size() - place >= each.size();
            for (std::size_t i = 1; same && i < each.size(); ++i) {
                const char c = text_[place + i];
                same = c == each[i] || (any_case && c == each[i] - 'a' + 'A');
            }
            if (same) return each.size();
        }
        return 0;
    }

    // Takes all white space at the start. If something else follows, the last character is left to that,
    // unless it is the only one.
    std::size_t white_space() const {
        std::size_t end = 0, last = 0;
        for (Character next = at(0); next.bytes > 0; next = at(end)) {
            if (next.kind != UnicodeClass::space)
                return last > 0 && !(alone_ && next.kind == UnicodeClass::number) ? last : end;
            last = end;
            end += next.bytes;
        }
        return end;
    }

    // Takes the white space at the start up to its last line break, or else as above.
    std::size_t white_space_or_breaks() const {
        std::size_t end = 0, broken = 0;
        for (Character next = at(0); next.bytes > 0 && next.kind == UnicodeClass::space; next = at(end)) {
            end += next.bytes;
            if (breaks_line(next)) broken = end;
        }
        return broken > 0 ? broken : white_space();
    }

    std::size_t gpt2_piece() const {
        if (const std::size_t length = contraction(0, false)) return length;
        const Character first = at(0);
        if (alone_ && first.kind == UnicodeClass::number) return first.bytes;
        const Character second = at(first.bytes);
        const bool leads = first.value == ' ' && second.bytes > 0 && second.kind != UnicodeClass::space &&
                           !(alone_ && second.kind == UnicodeClass::number);
        if (first.kind == UnicodeClass::space && !leads) return white_space();
        return run_end(leads ? first.bytes : 0, (leads ? second : first).kind);
    }

    // What the newer expressions say of everything but words.
    std::size_t other_piece(int digits, bool slashes) const {
        const Character first = at(0), second = at(first.bytes);
        if (first.kind == UnicodeClass::number) return run_end(0, UnicodeClass::number, digits);
        if (is_sign(first) || (first.value == ' ' && is_sign(second)))
            return breaks_end(run_end(first.bytes, UnicodeClass::other), slashes);
        return white_space_or_breaks();
    }

    std::size_t qwen2_piece(int digits) const {
        if (const std::size_t length = contraction(0, true)) return length;
        const Character first = at(0), second = at(first.bytes);
        const bool leads = first.kind != UnicodeClass::letter && first.kind != UnicodeClass::number &&
                           !breaks_line(first) && second.kind == UnicodeClass::letter;
        if (leads || first.kind == UnicodeClass::letter)
            return run_end(leads ? first.bytes : 0, UnicodeClass::letter);
        return other_piece(digits, false);
    }

    std::size_t llama_default_piece() const {
        std::size_t marks = 0;
        while (marks < text_.size()) {
            const CodePoint point = first_code_point(text_.substr(marks));
            if (!is_default_mark(point.value)) break;
            marks += point.bytes;
        }
        if (marks > 0) return marks;
        const std::size_t end = gpt2_piece();
        const Character first = at(0);
        if (first.kind == UnicodeClass::number) return digits_in_threes(text_.substr(0, end));
        return first.bytes < end && at(first.bytes).kind == UnicodeClass::number ? first.bytes : end;
    }

    std::size_t cased_piece(int digits, bool contracted) const {
        const Character first = at(0);
        const bool may_lead =
            first.kind != UnicodeClass::letter && first.kind != UnicodeClass::number && !breaks_line(first);
        for (const bool capitals_alone : {false, true})
            for (const bool leads : {true, false})
                if (may_lead || !leads)
                    if (const std::size_t end = cased_word(leads ? first.bytes : 0, capitals_alone))
                        return end + (contracted ? contraction(end, true) : 0);
        return other_piece(digits, true);
    }

  private:
    // Returns where U*W+ from `place` on ends or, with capitals alone, U+; 0: there is no such word.
    std::size_t cased_word(std::size_t place, bool capitals_alone) const {
        std::size_t end = place, after_both = 0;  // the end of the last character that U and W share
        for (Character next = at(end); next.bytes > 0; next = at(end)) {
            const LetterCase letter = case_of(next.value);
            if (letter != LetterCase::upper && letter != LetterCase::uncased) break;
            end += next.bytes;
            if (letter == LetterCase::uncased) after_both = end;
        }
        if (capitals_alone) return end > place ? end : 0;
        if (const Character next = at(end); next.bytes == 0 || case_of(next.value) != LetterCase::lower)
            return after_both;
        for (Character next = at(end); next.bytes > 0; next = at(end)) {
            const LetterCase letter = case_of(next.value);
            if (letter != LetterCase::lower && letter != LetterCase::uncased) break;
            end += next.bytes;
        }
        return end;
    }

    std::string_view text_;
    bool alone_;          // digits
    bool between_marks_;  // the text ends where a mark stands
};

}  // namespace

std::size_t first_piece(std::string_view text, PreTokenizer by) {
    const Divided divided(text, by);
    switch (by) {
        case PreTokenizer::gpt2:
        case PreTokenizer::single_digits: break;
        case PreTokenizer::llama_default: return divided.llama_default_piece();
        case PreTokenizer::qwen2: return divided.qwen2_piece(1);
        case PreTokenizer::llama3: return divided.qwen2_piece(3);
        case PreTokenizer::gpt4o: return divided.cased_piece(3, true);
        case PreTokenizer::tekken: return divided.cased_piece(1, false);
    }
    return divided.gpt2_piece();
}

}  // namespace attn
