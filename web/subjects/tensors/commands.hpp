// Defines what a user can change about their own tensors.
#pragma once

#include "app/command.hpp"
#include "subjects/tensors/state.hpp"

namespace attn::app {

// Shows the open files, under these names and with the answers about them; without names, closes them.
struct OpenTensors {
    std::vector<std::string> files = {};
    decltype(TensorsState::answers) answers = {};
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};
struct SetTensorRule {
    TensorRule rule;
    Status apply(State& state) const;
    std::string describe(const State& before) const;
};

inline constexpr std::size_t tensor_file_limit = 1024;
// Says whether files may have these names: at most tensor_file_limit names of UTF-8, 1 to 200 bytes each.
bool are_file_names(const std::vector<std::string>& names);
// At most 64, of UTF-8, each of at most 200 bytes.
bool are_answers(const decltype(TensorsState::answers)& answers);

}  // namespace attn::app
