#include "platform/glyphs.hpp"

#include <emscripten.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include "widgets/script.hpp"

namespace attn::platform {

namespace {

EM_JS(double, js_draw_glyph, (const char* text, double size, std::byte* pixels, int width, int height),
      { return Module.shell.drawGlyph(UTF8ToString(text), size, pixels, width, height); });

// The picture that the browser draws, in multiples of the font size: where the text begins, and room for each
// of its characters, which may be written as its number, "U+10FFFF".
constexpr float picture_height = 2, origin_x = 0.5f, origin_y = 1.5f, room_for_one = 5;

float picture_width(std::string_view text) {
    const auto characters = std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; });
    return 2 * origin_x + room_for_one * static_cast<float>(characters);
}

bool contains(ImFontAtlas*, ImFontConfig*, ImWchar code) { return code >= 0x80; }

bool load(ImFontAtlas* atlas, ImFontConfig* source, ImFontBaked* baked, void*, ImWchar code,
          ImFontGlyph* glyph, float* only_advance) {
    if (!contains(atlas, source, code)) return false;
    const float density = source->RasterizerDensity * baked->RasterizerDensity;
    const float size = baked->Size * density;
    const std::string text = ui::text_of(code);
    const int width = static_cast<int>(std::ceil(picture_width(text) * size)),
              height = static_cast<int>(std::ceil(picture_height * size));
    ImVector<unsigned char>& pixels = atlas->Builder->TempBuffer;
    pixels.resize(width * height * 4);
    const double advance =
        js_draw_glyph(text.c_str(), size, reinterpret_cast<std::byte*>(pixels.Data), width, height);
    if (only_advance) {
        *only_advance = static_cast<float>(advance) / density;
        return true;
    }
    glyph->Codepoint = code;
    glyph->AdvanceX = static_cast<float>(advance) / density;
    int left = width, top = height, right = 0, bottom = 0;
    bool coloured = false;
    for (int y = 0; y < height; ++y)
        for (int x = 0; x < width; ++x) {
            const unsigned char* pixel = pixels.Data + 4 * (y * width + x);
            if (pixel[3] == 0) continue;
            left = std::min(left, x);
            right = std::max(right, x + 1);
            top = std::min(top, y);
            bottom = std::max(bottom, y + 1);
            coloured |= pixel[3] > 128 && std::min({pixel[0], pixel[1], pixel[2]}) < 250;
        }
    if (left >= right) return true;  // the glyph is invisible
    const ImFontAtlasRectId id = ImFontAtlasPackAddRect(atlas, right - left, bottom - top);
    if (id == ImFontAtlasRectId_Invalid) return false;
    const auto place = [&](int at, float origin) {
        return (static_cast<float>(at) - origin * size) / density;
    };
    const float baseline = std::round(baked->Ascent);
    glyph->X0 = place(left, origin_x);
    glyph->X1 = place(right, origin_x);
    glyph->Y0 = place(top, origin_y) + baseline;
    glyph->Y1 = place(bottom, origin_y) + baseline;
    glyph->Visible = true;
    glyph->Colored = coloured;
    glyph->PackId = id;
    ImFontAtlasBakedSetFontGlyphBitmap(atlas, baked, source, glyph, ImFontAtlasPackGetRect(atlas, id),
                                       pixels.Data + 4 * (top * width + left), ImTextureFormat_RGBA32,
                                       4 * width);
    return true;
}

}  // namespace

const ImFontLoader* browser_glyphs() {
    static ImFontLoader loader;
    loader.Name = "browser";
    loader.FontSrcContainsGlyph = contains;
    loader.FontBakedLoadGlyph = load;
    return &loader;
}

}  // namespace attn::platform
