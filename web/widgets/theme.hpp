// Defines colours, type and spacing; nothing else knows how the page looks.
#pragma once

#include <imgui.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace attn::ui {

struct Theme {
    bool dark;
    ImU32 background;  // behind the lens
    ImU32 surface;     // rail, inspector, status line, cards
    ImU32 raised;      // buttons, badges, fields
    ImU32 hovered;     // like `raised`, under the cursor
    ImU32 border;
    ImU32 text;
    ImU32 dim;  // captions, axis titles
    ImU32 accent;
    ImU32 accent_soft;  // behind chosen things
    ImU32 changed;      // changed by the last edit
    ImU32 misprint;     // a tutorial prints another number
    ImU32 error;
    ImU32 masked;  // a cell that the mask hides
};

const Theme& theme();
// Also sets ImGui's style. With more contrast, text has 7 : 1 on any background, and lines have 3 : 1.
void use_theme(bool dark, bool more_contrast = false);
// Makes controls larger for fingers. Call once, before the theme is used.
inline constexpr float finger_size = 40;
void use_touch();

// Sizes are in points; ImGui rasterises for the screen's density.
enum class Face { regular, semibold, mono };
inline constexpr float size_heading = 21, size_title = 16, size_body = 15, size_small = 13;

void add_font(Face face, const void* bytes, int size);  // before the first frame
void add_fallback_font(const void* bytes, int size);    // for glyphs that the others lack
void add_fallback_glyphs(const ImFontLoader* loader);   // for glyphs that no font has
class Type {                                            // sets a face and size while it lives
  public:
    Type(Face face, float size);
    ~Type();
    Type(const Type&) = delete;
    Type& operator=(const Type&) = delete;
};
Face face_now();

// Colour maps. The sequential one, 0 … 1, goes from dark to light or light to dark with the theme, is
// perceptually uniform, and is safe for colour-blind people. The diverging one, −1 … 1, is centred on zero,
// with blue for positive values.
ImU32 sequential(float t);
ImU32 diverging(float t);
std::uint32_t rgb_of(ImU32 colour);  // 0xRRGGBB
// Returns black or white, whichever is easier to read on the fill.
ImU32 ink_on(ImU32 fill);
ImU32 with_alpha(ImU32 colour, float alpha);

// Returns the text as Dear ImGui draws it, with joined letters replaced by one character
// (widgets/script.hpp). Labels of Dear ImGui's own controls need this; the functions below draw all other
// text.
std::string as_drawn(std::string_view text);
// Draws text as an item at the cursor.
void text_item(std::string_view text);

// Measures text in the current face.
ImVec2 text_size(std::string_view text);

// Wraps text to lines no wider than `width`, at blanks where possible. Dear ImGui's own wrapping also breaks
// after a decimal point.
std::string wrapped(std::string_view text, float width);
void draw_text(ImDrawList* list, ImVec2 at, ImU32 colour, std::string_view text);
// Shortens the text with … to fit into `width`. Under the cursor, the page shows the full text.
void draw_text_within(ImDrawList* list, ImVec2 at, float width, ImU32 colour, std::string_view text);
// Returns the text shortened to fit.
std::string shortened(std::string_view text, float width);

// The full text of the shortened one under the cursor.
struct CutText {
    std::string text;
    ImVec2 min, max;
};
void note_cut_text(std::string_view text, ImVec2 min, ImVec2 max);
std::optional<CutText> take_cut_text();

}  // namespace attn::ui
