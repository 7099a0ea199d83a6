// One change a person can make: the only way State changes, and one step of undo.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "app/axes.hpp"

namespace attn::app {

// clang-format off: one line a command
struct OpenLens { LensId lens; };
struct OpenPreset { PresetId preset; };
struct SetCell { CellRef cell; double value; };
// Replaces an input matrix from its top left cell on, growing it and everything that must agree with it.
struct PasteCells { CellRef at; Matrix cells; };
struct Resize { Axis axis; Index size; };       // rows and columns are added as zeros at the end
struct RemoveAt { Axis axis; Index index; };    // one token or one component
struct SetSource { Source source; };            // keeps what is on screen: Q, K, V stay when X goes
struct Generate { std::uint32_t seed; };
struct SetScaling { bool by_sqrt_d; };
struct SetTemperature { double temperature; };
struct SetSoftcap { double softcap; };
struct SetMask { WorkedMask::Kind kind; Index offset = 0; Index before = 0; Index after = 0; };
struct PaintMask { Index query; Index key; bool allowed; };
struct SetLabel { bool key; Index index; std::string text; };
struct SetText { std::string text; };
// Beside the sentence, or beside `text` in its place, a second one; none: the sentence alone.
struct Compare { std::optional<Comparison> with; std::optional<std::string> text = {}; };
struct SetModel { std::string name; };
// In lens Sentence; its training rests meanwhile.
struct OpenTrained { TrainedHere network; std::string text; HeadIndex head; };
struct SetMap { MapChoice map; };
struct AddBookmark { Bookmark place; };
struct RemoveBookmark { std::size_t index; };
struct SetHeads { HeadsChoice heads; };
struct SetFlow { FlowChoice flow; };
struct SetSampling { SamplingState sampling; };
struct SetTrainingPlan { TrainingPlan plan; };  // another run, shown from its newest step
// From a step on, the run that is shown goes another way; it stays, to compare with.
struct ForkTraining { std::int64_t step; TrainingValues values; };
struct CompareTraining { std::optional<TrainingPlan> plan; };
struct ShowTrainingStep { std::optional<std::int64_t> step; };  // none: the newest
struct RunTraining { bool on; };
struct SetTrainingMaps { TrainingMaps maps; };
struct OpenTensors { std::vector<std::string> files; };  // in lens Tensors; none: they are closed
struct SetTensorMap { MapChoice map; };
struct SetTensorRule { TensorRule rule; };
struct SetTensorHeads { HeadsChoice heads; };
struct SetTensorFlow { FlowChoice flow; };
struct AddTensorBookmark { Bookmark place; };
struct RemoveTensorBookmark { std::size_t index; };
struct Select { Selection selection; };
struct Pin { std::optional<CellRef> cell; };
// clang-format on

using Command =
    std::variant<OpenLens, OpenPreset, SetCell, PasteCells, Resize, RemoveAt, SetSource, Generate, SetScaling,
                 SetTemperature, SetSoftcap, SetMask, PaintMask, SetLabel, SetText, Compare, SetModel,
                 OpenTrained, SetMap, AddBookmark, RemoveBookmark, SetHeads, SetFlow, SetSampling,
                 SetTrainingPlan, ForkTraining, CompareTraining, ShowTrainingStep, RunTraining,
                 SetTrainingMaps, OpenTensors, SetTensorMap, SetTensorRule, SetTensorHeads, SetTensorFlow,
                 AddTensorBookmark, RemoveTensorBookmark, Select, Pin>;

// The state after the command, or one sentence why it cannot be.
Result<State> apply(const State& state, const Command& command);

// What the status line says of it: "Q[cat, 1] 0.5 → 0.7".
std::string describe(const State& before, const Command& command);

// Whether a token, a model or files may be called so.
bool is_label(std::string_view text);
bool is_model_name(std::string_view text);
inline constexpr std::size_t tensor_file_limit = 1024;
bool are_file_names(const std::vector<std::string>& names);

// Choosing, pinning, and running or scrubbing a training run are remembered in links but are no step of undo.
bool is_navigation(const Command& command);

}  // namespace attn::app
