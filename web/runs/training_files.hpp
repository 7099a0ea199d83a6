// Writes a network trained on the page as files, laid out like a folder of a model hub.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "runs/training_runs.hpp"

namespace attn::app {

using Files = std::map<std::string, std::vector<std::byte>>;  // keyed by name

// Returns config.json, model.safetensors in f32 and tokenizer.json. If tokens are symbols, the tokenizer
// splits at blanks and spells them as symbol_name() does.
Files hub_files(const TrainingRun& run, const TrainingView& view);

// Returns README.md, in Markdown, which says how the network was trained, so that it can be trained again.
// `address` is the link to the run at that step, "#v=1&…".
std::string model_card(const TrainingRun& run, const TrainingView& view, const std::string& address);

// A .zip of the folder NAME/ with hub_files() and the card.
struct Archive {
    std::string name;  // "induction-step-640"
    std::vector<std::byte> bytes;
};
Archive hub_archive(const TrainingRun& run, const TrainingView& view, const std::string& address);

// Returns the head with the highest induction score at the last point up to a step.
HeadIndex strongest_head(const TrainingRun& run, std::int64_t step);
Handover handover_of(const TrainingRun& run, const TrainingView& view);

}  // namespace attn::app
