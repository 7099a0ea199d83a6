// Writes a number of the page as a lesson's expressions call it.
#pragma once

#include <string>

#include "app/cell.hpp"
#include "runs/attention.hpp"

namespace attn::app::learn {

// Returns weight("sat", "cat") or softmax.weight("sparsemax", 3); tokens by their words, unless several are
// alike. Empty if no name gives this number.
std::string name_of(const Attention& attention, const CellRef& cell);

}  // namespace attn::app::learn
