#include "widgets/wording.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "widgets/page_field.hpp"

namespace attn::ui {

namespace {

struct Words {
    std::string_view mouse, fingers;
};

// Longer phrases come first. The replacement is capitalised if the original is.
constexpr std::array<Words, 33> phrases{{
    {"drag or type to change an input, or click it and scroll",
     "drag an input sideways to change it, or tap it"},
    {"drag any input, or click it and scroll or type", "drag any input sideways, or tap it"},
    {"click to keep it here", "it stays here"},
    {"; click to keep it", ""},
    {", and click to keep them", ""},
    {" (or ctrl + scroll)", " (or two fingers)"},
    {"ctrl + scroll zooms", "two fingers zoom"},
    {"ctrl + scroll zoom", "two fingers zoom"},
    {"drag and drop", "open"},
    {", onto this page", ""},
    {" onto this page", ""},
    {" onto the page", ""},
    {"hover over", "tap"},
    {"hovering over", "tapping"},
    {"hovered over", "tapped"},
    {"point at", "tap"},
    {"pointing at", "tapping"},
    {"double click", "double tap"},
    {"double-click", "double-tap"},
    {"clicking", "tapping"},
    {"clicked", "tapped"},
    {"clicks", "taps"},
    {"click", "tap"},
    {"drop the", "open the"},
    {"drop its", "open its"},
    {"drop it", "open it"},
    {"drop their", "open their"},
    {"drop a", "open a"},
    {"drop finished", "open finished"},
    {"drop what", "open what"},
    {"drop them", "open them"},
    {"the mouse", "a finger"},
    {"mouse", "finger"},
}};

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
char small(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }
char large(char c) { return static_cast<char>(std::toupper(static_cast<unsigned char>(c))); }

bool stands_at(std::string_view text, std::size_t at, std::string_view phrase) {
    if (at + phrase.size() > text.size()) return false;
    if (is_letter(phrase.front()) && at > 0 && is_letter(text[at - 1])) return false;
    const std::size_t end = at + phrase.size();
    if (is_letter(phrase.back()) && end < text.size() && is_letter(text[end])) return false;
    return std::ranges::equal(text.substr(at, phrase.size()), phrase,
                              [](char a, char b) { return small(a) == b; });
}

constexpr std::string_view opening = "“", closing = "”";

}  // namespace

std::string for_fingers(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        if (text.substr(at).starts_with(opening)) {
            const std::size_t end = text.find(closing, at);
            const std::size_t after = end == std::string_view::npos ? text.size() : end + closing.size();
            out += text.substr(at, after - at);
            at = after;
            continue;
        }
        const auto phrase =
            std::ranges::find_if(phrases, [&](const Words& each) { return stands_at(text, at, each.mouse); });
        if (phrase == phrases.end()) {
            out += text[at++];
            continue;
        }
        std::string words(phrase->fingers);
        if (!words.empty() && std::isupper(static_cast<unsigned char>(text[at])))
            words.front() = large(words.front());
        out += words;
        at += phrase->mouse.size();
    }
    return out;
}

std::string for_pointer(std::string_view text) {
    return ImGui::GetCurrentContext() && by_touch() ? for_fingers(text) : std::string(text);
}

}  // namespace attn::ui
