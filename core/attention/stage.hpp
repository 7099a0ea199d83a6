// The stages of an attention computation, from the inputs to the output, and the other numbers of a run: one
// enum, and one table of their names.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string_view>

namespace attn {

// Record (attention/record.hpp) has the formulas of raw … output; a projected contribution is w · ‖V[g,j]
// W_O‖.
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

    // What a softmax makes of the masked scores m of a row: exp(m − max) / Σ exp(m − max) is the weight.
    exponential,  // [n_q, n_k], exp(m − max)
    row_max,      // [n_q, 1]
    row_sum,      // [n_q, 1], Σ exp(m − max)

    // What a model computes around its heads (model/trace.hpp). Rows are tokens, unless said otherwise.
    embedding,          // [n, d_model]
    position,           // [n, d_model]
    resid_pre,          // [n, d_model], what a layer takes in
    attention_input,    // [n, d_model], what Q, K and V are made of
    value_out,          // [n_k, d_model], v W_O of one head
    attention_output,   // [n, d_model], what a layer's heads add
    resid_mid,          // [n, d_model], the residual between attention and MLP
    mlp_input,          // [n, d_model]
    mlp_hidden,         // [n, d_ff]
    mlp_output,         // [n, d_model]
    final_residual,     // [n, d_model]
    final_norm,         // [n, d_model]
    logit,              // [n, vocabulary]
    q_pre_rope,         // [n, d_k], before its rotary position
    k_pre_rope,         // [n, d_k]
    gate,               // [n, d_ff], MLP input · W_gate
    active_gate,        // [n, d_ff]
    up,                 // [n, d_ff], MLP input · W_up, which the active gate multiplies
    segment,            // [n, d_model]
    embedding_sum,      // [n, d_model], of all embeddings, before its norm
    attention_between,  // [n, d_model], between what a layer's heads add and the residual (LayerTrace)
    mlp_between,        // [n, d_model], likewise
    router_score,       // [n, experts]
    expert_weight,      // [n, experts_per_token]
    head_input,         // [n, width], where that is not the final norm

    // What its files hold.
    w_o,     // [d_v, d_model], of one head
    w_gate,  // [d_model, d_ff]
    w_up,    // [d_model, d_ff]
    w_down,  // [d_ff, d_model]
    w_head,  // [d_model, vocabulary]
    b_q,     // [1, d_k], of one head, as b_k and b_v
    b_k,
    b_v,
    b_o,     // [1, d_model]
    b_gate,  // [1, d_ff]
    b_up,    // [1, d_ff]
    b_down,  // [1, d_model]
    b_head,  // [1, vocabulary]
    // [9, width]: a row for each norm that a layer or the network may have.
    norm_gain,
    norm_bias,   // [9, width]
    w_token,     // [vocabulary, d_model], the rows that embeddings are
    w_segment,   // [segments, d_model]
    w_position,  // [positions, d_model]

    // What is measured.
    probability,  // [1, vocabulary], of the next token
    gradient,     // [n_q, n_k], of the loss with respect to a weight
    head_score,   // [scores, 1], of one head (analysis/heads/head_score.hpp)
};
inline constexpr int stage_count = static_cast<int>(Stage::head_score) + 1;

enum class StageKind : std::uint8_t {
    vectors,   // [tokens, components]
    pairs,     // [n_q, n_k]
    softmax,   // on the way from a row of masked scores to its weights
    model,     // computed around the heads
    stored,    // in a model's files
    measured,  // in a run
};

struct StageInfo {
    Stage stage;
    StageKind kind;
    std::string_view key;     // in links, and in the names of files
    std::string_view symbol;  // in a formula: "Weights"
};
inline constexpr auto stage_table = [] {
    using enum StageKind;
    return std::array<StageInfo, stage_count>{{
        {Stage::x, vectors, "X", "X"},
        {Stage::w_q, stored, "W_Q", "W_Q"},
        {Stage::w_k, stored, "W_K", "W_K"},
        {Stage::w_v, stored, "W_V", "W_V"},
        {Stage::q, vectors, "Q", "Q"},
        {Stage::k, vectors, "K", "K"},
        {Stage::v, vectors, "V", "V"},
        {Stage::raw, pairs, "raw", "Scores"},
        {Stage::scaled, pairs, "scaled", "Scaled"},
        {Stage::capped, pairs, "capped", "Capped"},
        {Stage::masked, pairs, "masked", "Masked"},
        {Stage::weight, pairs, "weight", "Weights"},
        {Stage::contribution, pairs, "contribution", "Contribution"},
        {Stage::projected, pairs, "projected", "Projected"},
        {Stage::output, vectors, "output", "Output"},
        {Stage::exponential, softmax, "exponential", "Exp"},
        {Stage::row_max, softmax, "row_max", "Max"},
        {Stage::row_sum, softmax, "row_sum", "Sum"},
        {Stage::embedding, model, "embedding", "Embedding"},
        {Stage::position, model, "position", "Position"},
        {Stage::resid_pre, model, "residual", "Residual"},
        {Stage::attention_input, model, "normalised", "Norm"},
        {Stage::value_out, model, "value_out", "V W_O"},
        {Stage::attention_output, model, "attended", "Attention"},
        {Stage::resid_mid, model, "middle", "Middle"},
        {Stage::mlp_input, model, "mlp_input", "MLP input"},
        {Stage::mlp_hidden, model, "mlp_hidden", "MLP hidden"},
        {Stage::mlp_output, model, "mlp_output", "MLP"},
        {Stage::final_residual, model, "final_residual", "Final residual"},
        {Stage::final_norm, model, "final_norm", "Final norm"},
        {Stage::logit, model, "logit", "Logit"},
        {Stage::q_pre_rope, model, "unturned_q", "Unturned Q"},
        {Stage::k_pre_rope, model, "unturned_k", "Unturned K"},
        {Stage::gate, model, "gate", "Gate"},
        {Stage::active_gate, model, "active_gate", "Active gate"},
        {Stage::up, model, "up", "Up"},
        {Stage::segment, model, "segment", "Segment"},
        {Stage::embedding_sum, model, "embedding_sum", "Embeddings"},
        {Stage::attention_between, model, "attention_between", "After attention"},
        {Stage::mlp_between, model, "mlp_between", "After MLP"},
        {Stage::router_score, model, "router_score", "Router"},
        {Stage::expert_weight, model, "expert_weight", "Expert weight"},
        {Stage::head_input, model, "head_input", "Head input"},
        {Stage::w_o, stored, "W_O", "W_O"},
        {Stage::w_gate, stored, "W_gate", "W_gate"},
        {Stage::w_up, stored, "W_up", "W_up"},
        {Stage::w_down, stored, "W_down", "W_down"},
        {Stage::w_head, stored, "W_head", "W_head"},
        {Stage::b_q, stored, "b_Q", "b_Q"},
        {Stage::b_k, stored, "b_K", "b_K"},
        {Stage::b_v, stored, "b_V", "b_V"},
        {Stage::b_o, stored, "b_O", "b_O"},
        {Stage::b_gate, stored, "b_gate", "b_gate"},
        {Stage::b_up, stored, "b_up", "b_up"},
        {Stage::b_down, stored, "b_down", "b_down"},
        {Stage::b_head, stored, "b_head", "b_head"},
        {Stage::norm_gain, stored, "norm_gain", "Gain"},
        {Stage::norm_bias, stored, "norm_bias", "Bias"},
        {Stage::w_token, stored, "W_E", "W_E"},
        {Stage::w_segment, stored, "W_seg", "W_seg"},
        {Stage::w_position, stored, "W_pos", "W_pos"},
        {Stage::probability, measured, "probability", "Probability"},
        {Stage::gradient, measured, "gradient", "Gradient"},
        {Stage::head_score, measured, "score", "Score"},
    }};
}();
static_assert(std::ranges::equal(stage_table, std::views::iota(0, stage_count), {},
                                 [](const StageInfo& row) { return static_cast<int>(row.stage); }),
              "the rows of stage_table are in the order of Stage, one for each");
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
constexpr bool is_of_pairs(Stage stage) { return info(stage).kind == StageKind::pairs; }
// Stages of pairs by their number, from 0 on.
constexpr std::ptrdiff_t number_of_pairs(Stage stage) {
    return static_cast<std::ptrdiff_t>(stage) - static_cast<std::ptrdiff_t>(Stage::raw);
}
constexpr std::optional<Stage> stage_of_pairs(std::ptrdiff_t number) {
    if (number < 0 || number > number_of_pairs(Stage::projected)) return std::nullopt;
    return static_cast<Stage>(number + static_cast<std::ptrdiff_t>(Stage::raw));
}
constexpr bool is_of_softmax(Stage stage) { return info(stage).kind == StageKind::softmax; }
constexpr bool is_stored(Stage stage) { return info(stage).kind == StageKind::stored; }
// What a model computes around its heads, and its weights.
constexpr bool is_of_model(Stage stage) { return info(stage).kind == StageKind::model || is_stored(stage); }
constexpr bool is_measured(Stage stage) { return info(stage).kind == StageKind::measured; }
constexpr bool rows_are_tokens(Stage stage) {
    return !is_stored(stage) && (!is_measured(stage) || stage == Stage::gradient);
}
// A step of the chain that ends in a weight.
constexpr bool is_score_or_weight(Stage stage) { return is_of_pairs(stage) && stage <= Stage::weight; }
// Among the stages of pairs: weights and what is made of them are never negative.
constexpr bool is_signed(Stage stage) { return stage < Stage::weight; }

}  // namespace attn
