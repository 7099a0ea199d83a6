#include "text/utf8.hpp"

#include <algorithm>

namespace attn {

namespace {

constexpr char32_t replacement = 0xFFFD;
constexpr std::string_view replacement_bytes = "\xEF\xBF\xBD";

std::size_t length_by_lead(unsigned lead) {
    if (lead < 0x80) return 1;
    if (lead < 0xC2) return 0;  // a continuation byte, or the lead of an overlong form
    if (lead < 0xE0) return 2;
    if (lead < 0xF0) return 3;
    return lead < 0xF5 ? 4 : 0;
}

bool begins_code_point(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

// Returns how many bytes at the start are well-formed.
std::size_t well_formed_prefix(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const CodePoint point = first_code_point(text.substr(at));
        if (!point.well_formed) break;
        at += point.bytes;
    }
    return at;
}

}  // namespace

CodePoint first_code_point(std::string_view text) {
    const unsigned lead = static_cast<unsigned char>(text.front());
    const std::size_t length = length_by_lead(lead);
    if (length == 0) return {replacement, 1, false};
    if (length == 1) return {lead, 1, true};
    // The range of the second byte excludes overlong forms, surrogates and anything above U+10FFFF.
    unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    char32_t value = lead & (0x7Fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        const unsigned byte = i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
        if (byte < low || byte > high) return {replacement, i, false};
        value = value << 6 | (byte & 0x3F);
        low = 0x80, high = 0xBF;
    }
    return {value, length, true};
}

bool is_utf8(std::string_view text) { return well_formed_prefix(text) == text.size(); }

std::ptrdiff_t count_code_points(std::string_view text) {
    return std::ranges::count_if(text, begins_code_point);
}

std::string_view first_code_points(std::string_view text, std::ptrdiff_t most) {
    std::size_t end = 0;
    for (std::ptrdiff_t count = 0; end < text.size(); ++end)
        if (begins_code_point(text[end]) && ++count > most) break;
    return text.substr(0, end);
}

std::string_view well_formed(std::string_view text, std::string& storage) {
    std::size_t good = well_formed_prefix(text);
    if (good == text.size()) return text;
    storage.clear();
    while (true) {
        storage.append(text.substr(0, good));
        text.remove_prefix(good);
        if (text.empty()) return storage;
        storage.append(replacement_bytes);
        text.remove_prefix(first_code_point(text).bytes);
        good = well_formed_prefix(text);
    }
}

}  // namespace attn
