// Defines what a user can set about their own tensors.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/state.hpp"

namespace attn::app {

inline constexpr std::string_view tensors_subject = "tensors";

// Defines how Q and K become weights.
struct TensorRule {
    enum class Causal {
        none,
        aligned,    // the first query is aligned with the first key
        with_past,  // the last query is aligned with the last key
    };
    Causal causal = Causal::none;
    bool scale_by_sqrt_d = true;  // 1/√d_k
    bool operator==(const TensorRule&) const = default;
};
inline constexpr std::array<const char*, 3> causal_names{"no", "yes", "with a past"};
inline constexpr std::array<const char*, 2> scale_names{"1/√d", "none"};

struct TensorsState {
    std::vector<std::string> files;  // names of the open files, or of the files of a link
    // Answers about what the files leave open, by question id.
    std::map<std::string, std::string, std::less<>> answers;
    TensorRule rule;
    bool operator==(const TensorsState&) const = default;
};

inline const TensorsState& tensors_of(const State& state) { return state.of<TensorsState>(); }

}  // namespace attn::app
