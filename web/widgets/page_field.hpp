// Lays text fields of the page over the canvas: those of several lines always, because only a real text field
// wraps its lines and takes composed letters; the others on a touch screen, because only a real one opens the
// keyboard.
#pragma once

#include <imgui.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace attn::ui {

// Says whether the user points with a finger. The bridge sets this once.
inline bool by_touch() { return (ImGui::GetIO().ConfigFlags & ImGuiConfigFlags_IsTouchScreen) != 0; }

// Where text is selected, in bytes.
struct TextRange {
    std::size_t begin = 0, end = 0;
    bool operator==(const TextRange&) const = default;
};

struct PageField {
    std::string key;      // a landmark's name
    std::string name;     // for screen readers
    std::string text;     // its contents while nobody types
    bool number = false;  // opens a keyboard of digits; the text is reported only once it is entered
    bool lines = false;   // holds several lines, between which Enter goes
    std::optional<TextRange> select = {};  // given for one frame: the field takes the keyboard and shows this
    ImVec2 min = {}, max = {};

    bool operator==(const PageField& o) const {
        return key == o.key && name == o.name && text == o.text && number == o.number && lines == o.lines &&
               select == o.select && min.x == o.min.x && min.y == o.min.y && max.x == o.max.x &&
               max.y == o.max.y;
    }
};

struct PageTyped {
    std::string text;
    bool entered = false;
    std::size_t caret = 0;  // in bytes
};

// Returns the width of a field that does not cut off this number.
float width_for_number(const std::string& number);

// Lays the field over the last ImGui item, unless a popup covers it; on a touch screen only, unless it has
// several lines. These cover the part of the item that is in view, others need all of it. Returns what was
// typed there since the last frame.
std::optional<PageTyped> page_field(PageField field);

// Says whether one of these fields is being typed in: its text is given so far, and nothing else has been
// touched since.
bool page_types();

// ---- For the page -----------------------------------------------------------------------------------------

void clear_page_fields();  // at the start of a frame
const std::vector<PageField>& page_fields();
void page_typed(const std::string& key, const std::string& text, bool entered, std::size_t caret);

}  // namespace attn::ui
