// Lays text fields of the page over the canvas on a touch screen, because only a real text field opens the
// keyboard.
#pragma once

#include <imgui.h>

#include <optional>
#include <string>
#include <vector>

namespace attn::ui {

// Says whether the user points with a finger. The bridge sets this once.
inline bool by_touch() { return (ImGui::GetIO().ConfigFlags & ImGuiConfigFlags_IsTouchScreen) != 0; }

struct PageField {
    std::string key;      // a landmark's name
    std::string name;     // for screen readers
    std::string text;     // its contents while nobody types
    bool number = false;  // opens a keyboard of digits; the text is reported only once it is entered
    bool lines = false;   // holds several lines, between which Enter goes
    ImVec2 min = {}, max = {};

    bool operator==(const PageField& o) const {
        return key == o.key && name == o.name && text == o.text && number == o.number && lines == o.lines &&
               min.x == o.min.x && min.y == o.min.y && max.x == o.max.x && max.y == o.max.y;
    }
};

struct PageTyped {
    std::string text;
    bool entered = false;
};

// Returns the width of a field that does not cut off this number.
float width_for_number(const std::string& number);

// On a touch screen, lays the field over the last ImGui item, if the item is entirely in view and no popup
// covers it. Returns what was typed there since the last frame.
std::optional<PageTyped> page_field(PageField field);

// ---- For the page -----------------------------------------------------------------------------------------

void clear_page_fields();  // at the start of a frame
const std::vector<PageField>& page_fields();
void page_typed(const std::string& key, const std::string& text, bool entered);

}  // namespace attn::ui
