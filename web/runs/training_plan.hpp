// Describes a training run on the page. A run is a function of its plan, bit for bit: equal plans give the
// same run, and a plan in a link reproduces the run that somebody watched.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/trainer.hpp"

namespace attn::app {

enum class TrainingTask {
    repeated,  // random symbols, repeated
    reversal,  // symbols backwards
    copying,   // symbols repeated once
    pronouns,  // generated sentences
    own_text,
};
bool is_symbolic(TrainingTask task);

// The values that can change during a run.
struct TrainingValues {
    double rate = 0.003;     // learning rate
    std::uint64_t seed = 1;  // for sampling the sequences
    Index window = 0;        // number of keys that a query sees, including itself; 0: all up to itself
    std::vector<HeadIndex> ablated = {};  // in order, each once
    bool operator==(const TrainingValues&) const = default;
};

struct TrainingChange {
    std::int64_t step = 0;  // the first step taken with these values
    TrainingValues values;
    bool operator==(const TrainingChange&) const = default;
};

struct TrainingPlan {
    TrainingTask task = TrainingTask::repeated;
    Index layers = 2, heads = 4, d_model = 64;
    bool mlp = false;
    // Number of tokens; for a text, an upper limit, because the text may support fewer.
    Index vocabulary = 64;
    Index context = 64;  // tokens per sequence
    Index batch = 8;     // sequences per step
    std::int64_t steps = 800;
    std::uint64_t seed = 1;               // for the initial weights
    TrainingValues values;                // in effect from the first step
    std::vector<TrainingChange> changes;  // in ascending order of steps, none at 0
    std::string text;                     // for own_text; otherwise empty

    bool operator==(const TrainingPlan&) const = default;
    const TrainingValues& values_at(std::int64_t step) const;
    TrainingValues& last_values() { return changes.empty() ? values : changes.back().values; }
    const TrainingValues& last_values() const { return changes.empty() ? values : changes.back().values; }
};

// These limits keep a run within a tab's memory and to about a minute or two.
inline constexpr Index training_layers_limit = 4, training_heads_limit = 8, training_width_limit = 128,
                       training_vocabulary_limit = 2048, training_context_limit = 256,
                       training_batch_limit = 64;
inline constexpr std::int64_t training_steps_limit = 20'000;
inline constexpr double training_rate_limit = 1e9;
// Training_text_limit in bytes.
inline constexpr std::size_t training_changes_limit = 16, training_text_limit = 100'000;

// Returns one sentence about the first thing that is invalid.
Status check(const TrainingPlan& plan);

// Returns the plan in the form in which it is compared and stored: heads sorted, and a text only if it is
// trained on.
TrainingPlan normalised(TrainingPlan plan);
// Returns a plan that follows this one up to a step and continues from there with other values.
TrainingPlan forked(TrainingPlan plan, std::int64_t step, TrainingValues values);
// Returns one sentence if that is impossible: at the last step nothing is left to train.
Status check_fork(const TrainingPlan& plan, std::int64_t step, const TrainingValues& values);
// Returns the number of steps that two plans share; if only their lengths differ, the shorter length.
std::int64_t common_steps(const TrainingPlan& a, const TrainingPlan& b);

// Returns a config.json for this plan's network at a step, with a vocabulary of that many tokens.
std::vector<std::byte> config_json_of(const TrainingPlan& plan, Index vocabulary, std::int64_t step);
TrainingSettings settings_of(const TrainingPlan& plan, std::int64_t step);

struct TrainingPreset {
    std::string_view key;  // in links
    std::string_view title, story;
    TrainingPlan plan;
};
std::span<const TrainingPreset> training_presets();
const TrainingPreset* training_preset(std::string_view key);  // null if no preset has that key
// Returns the preset for the plan's task, with the same number of layers if there is one.
const TrainingPreset& nearest_preset(const TrainingPlan& plan);

// The network that a plan has produced after some number of steps.
struct TrainedHere {
    TrainingPlan plan;
    std::int64_t step = 0;
    bool operator==(const TrainedHere&) const = default;
};
Status check(const TrainedHere& network);
std::string name_of(const TrainedHere& network);  // "trained here: induction, step 640"

// Writes "induction,layers:3,rate:0.01,at:300,off:1.0": a preset, the differences from it, and the changes. A
// text of more than 2,000 bytes is left out.
std::string to_text(const TrainingPlan& plan);
// Returns the changes during the run, as "from step 400, rate 0.009; from step 600, without head 1.0"; empty
// if there are none.
std::string changes_told(const TrainingPlan& plan);
// If the plan's text was too long for its link, takes the text from a plan that is otherwise equal.
void complete_text(TrainingPlan& plan, const TrainingPlan& other);
std::optional<TrainingPlan> parse_training_plan(std::string_view text);

}  // namespace attn::app
