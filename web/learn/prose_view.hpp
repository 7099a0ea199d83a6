// Draws a lesson's prose: words in several faces, formulas with indices and exponents, and live numbers.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "lesson/prose.hpp"

namespace attn::app::learn {

// Gives a number of the page as text; "…" while it cannot be computed.
using NumberText = std::function<std::string(const lesson::Part&)>;

// Draws a paragraph at the cursor, across the width that is left.
void draw_prose(std::span<const lesson::Inline> prose, const NumberText& number);
void draw_formula(std::span<const lesson::FormulaPiece> formula);  // in a line of its own

// Returns the paragraph as plain text, for screen readers.
std::string plain_text(std::span<const lesson::Inline> prose, const NumberText& number);

}  // namespace attn::app::learn
