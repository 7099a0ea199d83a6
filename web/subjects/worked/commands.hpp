// Defines what a user can change about the worked example.
#pragma once

#include "app/command.hpp"
#include "subjects/head_copy.hpp"
#include "subjects/worked/axes.hpp"
#include "subjects/worked/state.hpp"

namespace attn::app {

struct OpenPreset {
    PresetId preset;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct SetCell {
    RunCell cell;
    double value;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
// Replaces an input matrix starting at a cell; it and everything that must match its shape grow as needed.
struct PasteCells {
    RunCell at;
    Matrix cells;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
// Adds rows and columns at the end, as zeros.
struct Resize {
    Axis axis;
    Index size;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
// Removes one token or one component.
struct RemoveAt {
    Axis axis;
    Index index;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
// Keeps the values on the screen: Q, K and V stay when X is removed.
struct SetSource {
    Source source;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct Generate {
    std::uint32_t seed;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct SetScaling {
    bool by_sqrt_d;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct SetTemperature {
    double temperature;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct SetSoftcap {
    double softcap;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct SetMask {
    WorkedMask::Kind kind;
    Index offset = 0;
    Index before = 0;
    Index after = 0;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct PaintMask {
    Index query;
    Index key;
    bool allowed;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct SetLabel {
    bool key;
    Index index;
    std::string text;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};

// Replaces the example with a head of another subject, to be edited.
struct TakeHead {
    HeadCopy head;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};

// Says whether a token may have this name: UTF-8 of at most 64 bytes.
bool is_label(std::string_view text);

}  // namespace attn::app
