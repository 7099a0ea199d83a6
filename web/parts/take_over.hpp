// Copies the chosen head to a subject where it can be edited.
#pragma once

#include "parts/part.hpp"
#include "subjects/subject.hpp"

namespace attn::parts {

// Returns the step that gives the copy to the first subject that takes it, which may be the open one.
std::optional<app::Offer> offer_of(const app::Visit& visit, const app::HeadCopy& copy);
// Returns a copy of the chosen head for these tokens; nothing if there are no vectors.
std::optional<app::HeadCopy> chosen_copy(app::Subject& subject, Range queries, Range keys);
// Returns the command that copies the head for these tokens; nothing if no other subject can take it, or if
// there are no vectors.
std::optional<app::Offer> take_over(const app::Visit& visit, app::Subject& subject, Range queries,
                                    Range keys);
// Draws a button for take_over().
void draw_take_over(const app::Drawing& drawing, app::Subject& subject, Range queries, Range keys);

}  // namespace attn::parts
