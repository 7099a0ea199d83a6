#include "widgets/script.hpp"

#include <imgui_internal.h>

#include <map>
#include <utility>
#include <vector>

namespace attn::ui {

namespace {

// The last plane is for private use. Its last two code points are not characters.
constexpr ImWchar first_run = 0x100000, most_runs = 0xfffd;

struct Runs {
    std::map<std::string, ImWchar, std::less<>> characters;
    std::vector<std::string> texts;
};
Runs runs;
bool joins_letters = true;

bool is_within(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

// Covers Hebrew to Tibetan, Burmese, Khmer, Mongolian, Balinese to Lepcha, Javanese and its neighbours, the
// presentation forms of Hebrew and Arabic letters, and Adlam.
bool joins(char32_t c) {
    return is_within(c, 0x590, 0x109f) || is_within(c, 0x1780, 0x18af) || is_within(c, 0x1b00, 0x1c4f) ||
           is_within(c, 0xa8e0, 0xaadf) || is_within(c, 0xfb1d, 0xfdff) || is_within(c, 0xfe70, 0xfeff) ||
           is_within(c, 0x1e900, 0x1e95f);
}

// Hebrew, Arabic, Syriac, Thaana, N'Ko and Adlam.
bool runs_leftwards(char32_t c) {
    return is_within(c, 0x590, 0x8ff) || is_within(c, 0xfb1d, 0xfdff) || is_within(c, 0xfe70, 0xfeff) ||
           is_within(c, 0x1e900, 0x1e95f);
}

constexpr char32_t zero_width_joiner = 0x200d;

// Skin tones belong to people and hands.
bool takes_skin_tone(char32_t c) {
    return is_within(c, 0x1f300, 0x1faff) || is_within(c, 0x270a, 0x270d) || c == 0x261d || c == 0x26f9 ||
           c == 0xfe0f;
}

// Belongs to the character before it: combining marks, keycaps, variation selectors, skin tones, tags. A
// token that is a mark alone stands in brackets, and does not belong to them.
bool extends(char32_t before, char32_t c) {
    constexpr char32_t bracket = 0x27e8;
    if (before == bracket) return false;
    if (is_within(c, 0x1f3fb, 0x1f3ff)) return takes_skin_tone(before);
    return is_within(c, 0x300, 0x36f) || is_within(c, 0x1ab0, 0x1aff) || is_within(c, 0x1dc0, 0x1dff) ||
           is_within(c, 0x20d0, 0x20ff) || is_within(c, 0xfe00, 0xfe0f) || is_within(c, 0xfe20, 0xfe2f) ||
           is_within(c, 0xe0020, 0xe007f) || c == zero_width_joiner;
}

// Two regional indicators are a flag; Hangul's jamo make syllables.
bool is_half_flag(char32_t c) { return is_within(c, 0x1f1e6, 0x1f1ff); }
bool is_jamo(char32_t c) { return is_within(c, 0x1100, 0x11ff); }

// Returns where the character that begins here ends, with what belongs to it: the common part of the grapheme
// clusters of Unicode's UAX 29.
const char* end_of_cluster(const char* at, const char* end) {
    unsigned first = 0, before = 0, next = 0;
    at += ImTextCharFromUtf8(&first, at, end);
    before = first;
    bool flag = is_half_flag(first);
    while (at < end) {
        const int bytes = ImTextCharFromUtf8(&next, at, end);
        const bool second_half = flag && is_half_flag(next);
        if (!extends(before, next) && before != zero_width_joiner && !second_half &&
            !(is_jamo(before) && is_jamo(next)))
            break;
        flag = flag && !second_half;
        before = next;
        at += bytes;
    }
    return at;
}

ImWchar character_of(std::string_view run) {
    if (const auto found = runs.characters.find(run); found != runs.characters.end()) return found->second;
    if (runs.texts.size() >= most_runs) return IM_UNICODE_CODEPOINT_INVALID;
    const ImWchar character = first_run + static_cast<ImWchar>(runs.texts.size());
    runs.texts.emplace_back(run);
    runs.characters.emplace(run, character);
    return character;
}

void append(std::string& to, ImWchar character) {
    char utf8[5];
    ImTextCharToUtf8(utf8, character);
    to += utf8;
}

}  // namespace

void join_letters(bool browser_draws) { joins_letters = browser_draws; }

bool has_joined_runs(std::string_view text) {
    if (!joins_letters) return false;
    // Tests the first bytes of these characters in UTF-8, but not what quotation marks begin with.
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
        switch (byte(i)) {
            case 0xcc:
            case 0xcd:
            case 0xea:
            case 0xef:
            case 0xf0:
            case 0xf3: return true;
            case 0xe2:
                if (i + 2 < text.size() &&
                    (byte(i + 1) == 0x83 || (byte(i + 1) == 0x80 && byte(i + 2) == 0x8d)))
                    return true;
                break;
            default:
                if (is_within(byte(i), 0xd6, 0xe1)) return true;
        }
    }
    return false;
}

std::string with_joined_runs(std::string_view text) {
    std::string joined, phrase, blanks;  // a phrase of right-to-left words, and the blanks after it
    const auto close_phrase = [&] {
        joined += phrase + blanks;
        phrase.clear();
        blanks.clear();
    };
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
        const char* const begin = at;
        unsigned first = 0, character = 0;
        at += ImTextCharFromUtf8(&first, at, end);
        if (!joins(first)) {
            const char* const cluster = end_of_cluster(begin, end);
            const std::string_view other(begin, static_cast<std::size_t>(cluster - begin));
            if (first == ' ' && cluster == at && !phrase.empty()) {
                blanks += other;
            } else {
                close_phrase();
                cluster == at ? void(joined += other) : append(joined, character_of(other));
            }
            at = cluster;
            continue;
        }
        for (int bytes = 0; at < end && (bytes = ImTextCharFromUtf8(&character, at, end), joins(character));)
            at += bytes;
        std::string word;
        append(word, character_of({begin, static_cast<std::size_t>(at - begin)}));
        if (!runs_leftwards(first)) {
            close_phrase();
            joined += word;
        } else {
            phrase = word + std::exchange(blanks, {}) + phrase;
        }
    }
    close_phrase();
    return joined;
}

std::string text_of(ImWchar character) {
    if (character >= first_run && character - first_run < runs.texts.size())
        return runs.texts[character - first_run];
    std::string text;
    append(text, character);
    return text;
}

}  // namespace attn::ui
