// Draws examples of a head as lines of text, with the query and the key lit. A click opens the text. The
// texts and the numbers are lists, in which the arrow keys go from line to line.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/drawing.hpp"
#include "app/table.hpp"
#include "runs/example_search.hpp"
#include "subjects/subject.hpp"

namespace attn::parts {

struct ExampleLines {
    std::string key;  // the card's; a line's landmark is "<key>/<rank>"
    std::string title;
    const app::ExampleSearch* search = nullptr;
    HeadIndex head;
    ExampleMeasure by = ExampleMeasure::effect;  // the number in front of a line
    std::vector<HeadExample> pairs = {};
    std::vector<std::string> ranks = {};  // in front of the numbers
    // A pair's number, if it is the lens's own; a click on it pins it.
    std::function<app::CellRef(const HeadExample& pair)> cell = {};

    const app::SplitText& text_of(const HeadExample& pair) const;
    std::string words_of(const HeadExample& pair) const;  // "“It” at “animal”"
};

std::string word_of(const app::SplitText& text, Index token);  // "“animal”"
std::string example_number(ExampleMeasure measure, double value);
app::Table example_table(const ExampleLines& lines);
// Returns the pair that was clicked, to be opened once everything is drawn.
std::optional<HeadExample> draw_example_lines(const app::Drawing& drawing, const ExampleLines& lines,
                                              float width);
void open_example(app::Subject& subject, const app::ExampleSearch& search, const HeadIndex& head,
                  const HeadExample& pair);

}  // namespace attn::parts
