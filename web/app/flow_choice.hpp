// Which edges of the flow a lens draws, and how.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "train/ablation.hpp"

namespace attn::app {

// Arcs over one line of words, or curves between two columns of them: queries left, keys right.
enum class FlowForm { arcs, columns };
inline constexpr std::array<std::string_view, 2> flow_form_keys{"arcs", "columns"};  // in links

inline constexpr std::size_t flow_heads_limit = 8;  // shown at once, the chosen one among them

struct FlowChoice {
    float mass = 0.8f;  // edges that make up this share of each row are drawn
    FlowForm form = FlowForm::arcs;
    // Shown beside the chosen one, which may be among them: each once, fewer than the limit.
    std::vector<HeadIndex> heads = {};
    bool operator==(const FlowChoice&) const = default;
};

}  // namespace attn::app
