// Writes the model card: measured scores of a model, stored beside its weights.
#pragma once

#include <string>

#include "tensor/result.hpp"

namespace attn {

// Measures the model of a folder, and writes scores.json and README.md into it; README.md alone where the
// model answers puzzles (cli/puzzle_card.hpp). validation is a text for the
// bits per byte, recipe is what `attn train` trained it with: without one,
// the card says nothing of how the model was made. Both may be empty.
Status write_card(const std::string& folder, const std::string& validation, const std::string& recipe);

}  // namespace attn
