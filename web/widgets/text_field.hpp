// Draws lines of text of any length up to a limit, which the owner stores and reads as they are typed, and
// fields for numbers. The page's own fields (widgets/page_field.hpp) lie over several lines, and on a touch
// screen over all of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "widgets/page_field.hpp"

namespace attn::ui {

struct Typed {
    bool changed = false;
    bool too_long = false;                  // the new text was too long, so the old one stayed
    bool entered = false;                   // with the Enter key, if it has one line
    std::optional<std::size_t> caret = {};  // in bytes, if it has several lines; none before it moves
};

// Draws the field at the cursor, up to `most_width` points wide; `meaning` names it for screen readers. Its
// landmark is the name.
Typed text_field(const char* name, const char* meaning, std::string& text, std::size_t longest,
                 float most_width = 620);

// The same with several lines. Given `select`, the field takes the keyboard and shows this part selected.
Typed text_area(const char* name, const char* meaning, std::string& text, std::size_t longest,
                float most_width = 620, int lines = 4, std::optional<TextRange> select = {});

// Draws a field for a number at the cursor, in printf's `format`, and returns the number entered; nothing if
// the text is not a number. Its landmark is the name.
std::optional<double> number_field(const char* name, const char* meaning, double shown, const char* format,
                                   float width);

// Says below the field what is wrong with its text; draws nothing if the sentence is empty.
void fault(const char* name, const std::string& sentence);

}  // namespace attn::ui
