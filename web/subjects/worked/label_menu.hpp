// Draws the menu of a row's or column's name, which can rename a token and remove any row or column of an
// input.
#pragma once

#include <array>
#include <optional>

#include "app/visit.hpp"
#include "subjects/worked/axes.hpp"

namespace attn::app {

class LabelMenu {
  public:
    // Opens the menu for a row of a matrix or, without one, a column. It appears at the mouse, at the next
    // draw().
    void open(const WorkedState& worked, Stage matrix, std::optional<Index> row, std::optional<Index> column);
    // Call in every frame; it draws nothing while the menu is closed.
    void draw(Visit& visit);

  private:
    bool names_a_token() const { return axis_ == Axis::queries || axis_ == Axis::keys; }
    void name_field(Visit& visit);

    bool opening_ = false;
    Axis axis_ = Axis::queries;
    Index index_ = 0;
    std::array<char, 65> text_{};  // contents of the text field; components have no names
};

}  // namespace attn::app
