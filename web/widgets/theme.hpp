// Colours, type and spacing: the one place that knows how the page looks.
#pragma once

#include <imgui.h>

#include <string>
#include <string_view>

namespace attn::ui {

struct Theme {
    bool dark;
    ImU32 background;  // behind the lens
    ImU32 surface;     // rail, inspector, status line, cards
    ImU32 raised;      // buttons, badges, fields
    ImU32 hovered;     // the same under the cursor
    ImU32 border;
    ImU32 text;
    ImU32 dim;  // captions, axis titles
    ImU32 accent;
    ImU32 accent_soft;  // behind what is chosen
    ImU32 changed;      // what the last edit moved
    ImU32 error;
    ImU32 masked;  // a cell that may not be looked at
};

const Theme& theme();
void use_theme(bool dark);  // also sets ImGui's style

// Type. Sizes in points; ImGui rasterises for the screen's density.
enum class Face { regular, semibold, mono };
inline constexpr float size_heading = 21, size_title = 16, size_body = 15, size_small = 13;

void add_font(Face face, const void* bytes, int size);  // before the first frame
void add_fallback_font(const void* bytes, int size);    // glyphs that the others lack
class Type {                                            // pushes a face and size for its scope
  public:
    Type(Face face, float size);
    ~Type();
    Type(const Type&) = delete;
    Type& operator=(const Type&) = delete;
};

// Colour maps. Sequential: 0 … 1, dark to light or light to dark as the theme asks, evenly in lightness and safe
// for colour-blind eyes. Diverging: −1 … 1, centred on zero.
ImU32 sequential(float t);
ImU32 diverging(float t);
// Black or white, whichever reads better on it.
ImU32 ink_on(ImU32 fill);
ImU32 with_alpha(ImU32 colour, float alpha);

// Text with its width measured in the face in force.
ImVec2 text_size(std::string_view text);

// Lines no wider than `width` where blanks allow it: Dear ImGui's own also break after a point, inside numbers.
std::string wrapped(std::string_view text, float width);
void draw_text(ImDrawList* list, ImVec2 at, ImU32 colour, std::string_view text);
// Shortened with … to fit into `width`.
void draw_text_within(ImDrawList* list, ImVec2 at, float width, ImU32 colour, std::string_view text);

}  // namespace attn::ui
