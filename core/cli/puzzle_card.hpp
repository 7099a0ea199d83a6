// Writes the model card of a model that answers the questions of train/puzzles.hpp.
#pragma once

#include <optional>
#include <string>

#include "tensor/result.hpp"
#include "train/puzzles.hpp"

namespace attn {

// The puzzle whose words the folder's tokenizer.json has, if it is of one.
std::optional<Puzzle> puzzle_of(const std::string& folder);

// Measures on held-out lists how often the model is right, with all heads and without some, and writes
// README.md. There is no scores.json, because heads are not measured on texts.
Status write_puzzle_card(Puzzle puzzle, const std::string& folder, const std::string& recipe);

}  // namespace attn
