// Arcs over a line of words: who looks where, thicker and stronger the more.
#pragma once

#include "widgets/theme.hpp"

namespace attn::ui {

inline constexpr float arc_most_height = 68;
// Of an arc whose ends are `span` points apart; long ones flatten out below arc_most_height.
float arc_height(float span);

// Between two points of a line at `y`, above it. Equal ends give a small loop.
void draw_arc(ImDrawList* list, float from, float to, float y, float thickness, ImU32 colour);

}  // namespace attn::ui
