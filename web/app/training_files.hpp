// A network that was trained here as files: the folder of a model hub.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "app/training_run.hpp"

namespace attn::app {

using Files = std::map<std::string, std::vector<std::byte>>;  // by name

// config.json, model.safetensors in f32 and tokenizer.json. Where tokens are symbols it knows each as a word between
// blanks, written as symbol_name() has it.
Files hub_files(const TrainingRun& run, const TrainingView& view);

// README.md: what the network was trained by, so that it can be trained again. Markdown.
std::string model_card(const TrainingRun& run, const TrainingView& view);

// A .zip of the folder NAME/ with hub_files() and the card.
struct Archive {
    std::string name;  // "induction-step-640"
    std::vector<std::byte> bytes;
};
Archive hub_archive(const TrainingRun& run, const TrainingView& view);

}  // namespace attn::app
