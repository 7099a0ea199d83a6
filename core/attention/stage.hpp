// The stages of an attention computation, from the inputs to the output: one enum, and one table of their names.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace attn {

// Record (attention/record.hpp) has the formulas of raw … output; a projected contribution is w · ‖V[g,j] W_O‖.
enum class Stage {
    x,    // [n, d_model]
    w_q,  // [d_model, d_k]
    w_k,
    w_v,
    q,  // [n_q, d_k]
    k,  // [n_k, d_k]
    v,  // [n_k, d_v]
    raw,
    scaled,
    capped,
    masked,
    weight,
    contribution,
    projected,
    output,  // [n_q, d_v]
};
inline constexpr int stage_count = 15;

struct StageInfo {
    std::string_view key;     // in links, and in the names of files
    std::string_view symbol;  // as a formula has it: "Weights"
    const char* label;        // on a button
    const char* title;        // of its values, beside a colour bar
};
inline constexpr std::array<StageInfo, stage_count> stage_table{{
    {"X", "X", "X", "token"},
    {"W_Q", "W_Q", "W_Q", "weight matrix"},
    {"W_K", "W_K", "W_K", "weight matrix"},
    {"W_V", "W_V", "W_V", "weight matrix"},
    {"Q", "Q", "Q", "query"},
    {"K", "K", "K", "key"},
    {"V", "V", "V", "value"},
    {"raw", "Scores", "raw", "score"},
    {"scaled", "Scaled", "scores", "scaled score"},
    {"capped", "Capped", "capped", "capped score"},
    {"masked", "Masked", "biased", "masked score"},
    {"weight", "Weights", "weights", "weight"},
    {"contribution", "Contribution", "contribution", "weight × ‖V‖"},
    {"projected", "Projected", "projected", "weight × ‖V W_O‖"},
    {"output", "Output", "output", "output"},
}};
constexpr const StageInfo& info(Stage stage) { return stage_table[static_cast<std::size_t>(stage)]; }
constexpr std::string_view symbol(Stage stage) { return info(stage).symbol; }

// Links and tutorials call the raw scores "scores" where they are a matrix of their own.
constexpr std::optional<Stage> stage_by_key(std::string_view key) {
    if (key == "scores") return Stage::raw;
    for (int i = 0; i < stage_count; ++i)
        if (stage_table[static_cast<std::size_t>(i)].key == key) return static_cast<Stage>(i);
    return std::nullopt;
}

// Rows are queries and columns are keys.
constexpr bool is_of_pairs(Stage stage) { return stage >= Stage::raw && stage <= Stage::projected; }
// A step of the chain that ends in a weight.
constexpr bool is_score_or_weight(Stage stage) { return stage >= Stage::raw && stage <= Stage::weight; }
// Among the stages of pairs: weights and what is made of them are never negative.
constexpr bool is_signed(Stage stage) { return stage < Stage::weight; }

}  // namespace attn
