// Training from the command line: texts and a recipe become a model folder.
#pragma once

#include <span>
#include <string>

#include "tensor/result.hpp"
#include "tensor/tensor.hpp"

namespace attn {

// <|endoftext|>, whose id is 0.
inline constexpr Index special_tokens = 1;

struct TrainingFiles {
    std::string recipe;
    std::span<const std::string> texts;
    std::string validation;  // a text; empty: none
    std::string folder;
};

// Writes into the folder tokenizer.json and config.json and, every two minutes and at the end, model.safetensors (f16) and
// checkpoint.safetensors, from which it goes on where there is one. Tells its progress on standard output.
Status train(const TrainingFiles& files);

}  // namespace attn
