// Defines the worked examples from tutorials: their inputs, and the numbers that the tutorials print wrongly.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "subjects/worked/state.hpp"

namespace attn::app {

struct PresetInfo {
    PresetId id;
    std::string_view key;  // in links
    std::string_view letter;
    std::string_view tutorial;  // title of the tutorial that it is from
    std::string_view title;     // in the menu
    std::string_view question;  // heading of the lens
    std::string_view story;     // one or two sentences: what to see, what to try
};

std::span<const PresetInfo> presets();
const PresetInfo& info(PresetId);
std::optional<PresetId> preset_by_key(std::string_view key);

WorkedState preset_state(PresetId);

// Makes Q, K, V the source, with standard normal numbers in the shapes that the origin names.
void generate_qkv(WorkedState& worked, const Origin& origin);

// Returns the preset with its original inputs, before any edit; without inputs if they were typed in.
WorkedState origin_state(const WorkedState& worked);

// The value that a tutorial prints for a computed cell, if it differs from the exact one when both are
// rounded to the printed digits.
struct Printed {
    Stage stage;
    Index row;
    Index col;
    double value;
    std::string_view text;  // the printed digits
};
std::span<const Printed> printed_values(PresetId);
// Returns the misprints of the example on screen; none as soon as an input or a rule differs from the
// tutorial's.
std::span<const Printed> misprints(const WorkedState& worked);
// Null if the cell is not among them.
const Printed* printed_value(std::span<const Printed> misprints, const RunCell& cell);

// The text above the example. It is true for the numbers and rules on screen.
struct Introduction {
    std::string question, story;
};
Introduction introduction(const WorkedState& worked);

}  // namespace attn::app
