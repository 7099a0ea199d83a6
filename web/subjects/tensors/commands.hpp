// Defines what a user can change about their own tensors.
#pragma once

#include "app/command.hpp"
#include "subjects/tensors/state.hpp"

namespace attn::app {

// Names the open files and shows them; no names: they are closed.
struct OpenTensors {
    std::vector<std::string> files = {};
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

}  // namespace attn::app
