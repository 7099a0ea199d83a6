// Trains from the command line: turns texts and a recipe into a model folder.
#pragma once

#include <span>
#include <string>

#include "tensor/result.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// The only one is <|endoftext|>, whose id is 0.
inline constexpr Index special_tokens = 1;

struct TrainingFiles {
    std::string recipe;
    std::span<const std::string> texts;
    std::string validation;  // the name of a text; empty: none
    std::string folder;
};

// Writes tokenizer.json and config.json into the folder and, every two minutes and at the end,
// model.safetensors (f16) and checkpoint.safetensors; if there is a checkpoint, it continues from that.
// Reports its progress on standard output.
Status train(const TrainingFiles& files);

}  // namespace attn
