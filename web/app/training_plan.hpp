// What a training run in the page is made of. A run is a function of its plan, bit for bit: two equal plans are the
// same run, and a plan in a link is the run that somebody watched.
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
    repeated,  // random symbols that come again
    reversal,  // symbols backwards
    copying,   // symbols once more
    pronouns,  // generated sentences
    own_text,
};
bool is_symbolic(TrainingTask task);

// What may change while a run goes on.
struct TrainingValues {
    double rate = 0.003;                  // learning rate
    std::uint64_t seed = 1;               // of the sequences
    Index window = 0;                     // keys a query sees, itself among them; 0: all up to itself
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
    Index vocabulary = 64;  // tokens; of a text at most, where it supports fewer
    Index context = 64;     // tokens a sequence
    Index batch = 8;        // sequences a step
    std::int64_t steps = 800;
    std::uint64_t seed = 1;               // of the first weights
    TrainingValues values;                // from the first step on
    std::vector<TrainingChange> changes;  // by ascending steps, none at 0
    std::string text;                     // own_text; else empty

    bool operator==(const TrainingPlan&) const = default;
    const TrainingValues& values_at(std::int64_t step) const;
};

// Limits that keep a run within a tab's memory and about a minute or two of its time.
inline constexpr Index training_layers_limit = 4, training_heads_limit = 8, training_width_limit = 128,
                       training_vocabulary_limit = 2048, training_context_limit = 256,
                       training_batch_limit = 64;
inline constexpr std::int64_t training_steps_limit = 20'000;
inline constexpr double training_rate_limit = 1e9;
inline constexpr std::size_t training_changes_limit = 16, training_text_limit = 100'000;  // bytes

// One sentence about the first thing that cannot be.
Status check(const TrainingPlan& plan);

// The same plan as it is compared and stored: heads in order, a text only where it is trained on.
TrainingPlan normalised(TrainingPlan plan);
// The plan that goes on as this one up to a step, and from there with other values.
TrainingPlan forked(TrainingPlan plan, std::int64_t step, TrainingValues values);
// Steps that two plans take alike: all of the shorter one where they differ in length alone.
std::int64_t common_steps(const TrainingPlan& a, const TrainingPlan& b);

// A config.json of this plan's network at a step, for a vocabulary of that many tokens.
std::vector<std::byte> config_json_of(const TrainingPlan& plan, Index vocabulary, std::int64_t step);
TrainingSettings settings_of(const TrainingPlan& plan, std::int64_t step);

struct TrainingPreset {
    std::string_view key;  // in links
    std::string_view title, story;
    TrainingPlan plan;
};
std::span<const TrainingPreset> training_presets();
const TrainingPreset* training_preset(std::string_view key);  // null: none of that name
// Of the plan's task, and of as many layers where there is one.
const TrainingPreset& nearest_preset(const TrainingPlan& plan);

// A network as a plan has made it after so many steps.
struct TrainedHere {
    TrainingPlan plan;
    std::int64_t step = 0;
    bool operator==(const TrainedHere&) const = default;
};
Status check(const TrainedHere& network);
std::string name_of(const TrainedHere& network);  // "trained here: induction, step 640"

// "induction,layers:3,rate:0.01,at:300,off:1.0": a preset, what differs from it, and the changes. A text of more than
// 2,000 bytes is left out.
std::string to_text(const TrainingPlan& plan);
std::optional<TrainingPlan> parse_training_plan(std::string_view text);

}  // namespace attn::app
