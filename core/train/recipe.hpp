// A recipe is everything that defines a training run except its text, as one JSON file:
//   {"model": {a config.json}, "vocabulary": 2048,
//    "training": {"batch", "context", "steps", "warmup", "rate", "final_rate", "beta1", "beta2",
//                 "weight_decay", "clip", "dropout", "seed", "initial_deviation", "position_waves",
//                 "attention_only"},
//    "mixture": {"text", "sentences", "repeated_text", "repeated_random", "repeated_pairs"}}
// A T5 learns from the generated pairs of train/translation.hpp: its recipe has no mixture, and the batch
// is a number of pairs. With "puzzle": "largest" or "different" in the place of a mixture, the model learns
// from the lists of train/puzzles.hpp, and the vocabulary is theirs. Values missing from "training" and
// "mixture" have the defaults of train/trainer.hpp and train/data.hpp.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "train/data.hpp"
#include "train/puzzles.hpp"
#include "train/trainer.hpp"

namespace attn {

struct Recipe {
    std::vector<std::byte> config_json;  // the model's, including the size of the vocabulary
    int vocabulary = 0;
    bool translation = false;  // the model is a T5, which learns to translate
    std::optional<Puzzle> puzzle;
    TrainingSettings training;
    Mixture mixture;
};

Result<Recipe> parse_recipe(std::span<const std::byte> json);

}  // namespace attn
