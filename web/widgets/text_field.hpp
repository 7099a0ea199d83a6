// A line of text of any length up to a limit, which its owner keeps and reads as it is typed, and a number that is typed. On a
// touch screen the page's own fields (widgets/page_field.hpp) lie over them.
#pragma once

#include <optional>
#include <string>

namespace attn::ui {

struct Typed {
    bool changed = false;
    bool too_long = false;  // it would have been; the text stays as it was
};

// Draws the field at the cursor, up to `most_width` points wide; `meaning` is what it is called. Its landmark is the
// name.
Typed text_field(const char* name, const char* meaning, std::string& text, std::size_t longest,
                 float most_width = 620);

// The same of several lines.
Typed text_area(const char* name, const char* meaning, std::string& text, std::size_t longest,
                float most_width = 620);

// Draws a field for a number at the cursor, as printf's `format` writes it, and returns what is entered; nothing if that
// is no number. Its landmark is the name.
std::optional<double> number_field(const char* name, const char* meaning, double shown, const char* format,
                                   float width);

// Draws what is wrong with a text below its field; nothing if it is empty.
void fault(const char* name, const std::string& sentence);

}  // namespace attn::ui
