// Computes the contrast of text as WCAG 2.2 defines it (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio): 1
// … 21.
#pragma once

#include <cmath>
#include <cstdint>

namespace attn::ui {

// Returns the relative luminance, 0 … 1, of a colour 0xRRGGBB.
inline float luminance(std::uint32_t colour) {
    const auto linear = [&](unsigned shift) {
        const float c = static_cast<float>((colour >> shift) & 255u) / 255;
        return c <= 0.04045f ? c / 12.92f : std::pow((c + 0.055f) / 1.055f, 2.4f);
    };
    return 0.2126f * linear(16) + 0.7152f * linear(8) + 0.0722f * linear(0);
}

inline float contrast(std::uint32_t a, std::uint32_t b) {
    const float first = luminance(a) + 0.05f, second = luminance(b) + 0.05f;
    return first > second ? first / second : second / first;
}

// Returns black or white, whichever is easier to read on the fill. At a luminance of 0.18, both have a
// contrast of 4.58.
inline std::uint32_t ink_on_colour(std::uint32_t fill) {
    return contrast(fill, 0x000000) >= contrast(fill, 0xffffff) ? 0x000000 : 0xffffff;
}

}  // namespace attn::ui
