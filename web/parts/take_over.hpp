// Copies the chosen head to a subject where it can be edited.
#pragma once

#include "app/drawing.hpp"
#include "subjects/subject.hpp"

namespace attn::parts {

// Draws a button for app::take_over().
void draw_take_over(const app::Drawing& drawing, app::Subject& subject, Range queries, Range keys);

}  // namespace attn::parts
