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

// Covers Hebrew to Tibetan, Burmese, Khmer, and the presentation forms of Hebrew and Arabic letters.
bool joins(char32_t c) {
    return (c >= 0x590 && c < 0x10a0) || (c >= 0x1780 && c < 0x1800) || (c >= 0xfb1d && c < 0xfe00) ||
           (c >= 0xfe70 && c < 0xff00);
}

// Hebrew, Arabic, Syriac, Thaana and N'Ko.
bool runs_leftwards(char32_t c) {
    return (c >= 0x590 && c < 0x900) || (c >= 0xfb1d && c < 0xfe00) || (c >= 0xfe70 && c < 0xff00);
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
    // Tests the first bytes of these characters in UTF-8.
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if ((byte >= 0xd6 && byte <= 0xe1) || byte == 0xef) return true;
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
            const std::string_view other(begin, static_cast<std::size_t>(at - begin));
            if (first == ' ' && !phrase.empty()) {
                blanks += other;
            } else {
                close_phrase();
                joined += other;
            }
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
