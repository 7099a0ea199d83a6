// The stages of an attention computation, from the inputs to the output, and the other numbers of a run: one
// enum, and one table of their names.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
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
    // [9, width]: a row for each norm that a layer or the network may have (norm_of in web/subjects).
    norm_gain,
    norm_bias,   // [9, width]
    w_token,     // [vocabulary, d_model], the rows that embeddings are
    w_segment,   // [segments, d_model]
    w_position,  // [positions, d_model]

    // What is measured.
    probability,  // [1, vocabulary], of the next token
    gradient,     // [n_q, n_k], of the loss with respect to a weight
    head_score,   // [scores, 1], of one head (analysis/heads/head_score.hpp)
    cosine,       // [layers + 1, 1], between two residuals
    row_cosine,   // [layers, heads], between two rows of weights
    difference,   // [n_q, n_k], of two weights
    loss,         // [steps, 1]
    curve,        // [steps, scores], of one head

    // Sums over a map of a stage of pairs, whose number is the column (stage_of_pairs).
    row_entropy,   // [n_q, stages], −Σ w ln w of its weights
    row_total,     // [n_q, stages]
    column_total,  // [n_k, stages]
    marked_total,  // [1, stages], of the part that is marked

    lens,  // a number of the lens that is open, which says what its row and column are
};
inline constexpr int stage_count = static_cast<int>(Stage::lens) + 1;

struct StageInfo {
    Stage stage;
    std::string_view key;     // in links, and in the names of files
    std::string_view symbol;  // in a formula: "Weights"
};
inline constexpr std::array<StageInfo, stage_count> stage_table{{
    {Stage::x, "X", "X"},
    {Stage::w_q, "W_Q", "W_Q"},
    {Stage::w_k, "W_K", "W_K"},
    {Stage::w_v, "W_V", "W_V"},
    {Stage::q, "Q", "Q"},
    {Stage::k, "K", "K"},
    {Stage::v, "V", "V"},
    {Stage::raw, "raw", "Scores"},
    {Stage::scaled, "scaled", "Scaled"},
    {Stage::capped, "capped", "Capped"},
    {Stage::masked, "masked", "Masked"},
    {Stage::weight, "weight", "Weights"},
    {Stage::contribution, "contribution", "Contribution"},
    {Stage::projected, "projected", "Projected"},
    {Stage::output, "output", "Output"},
    {Stage::exponential, "exponential", "Exp"},
    {Stage::row_max, "row_max", "Max"},
    {Stage::row_sum, "row_sum", "Sum"},
    {Stage::embedding, "embedding", "Embedding"},
    {Stage::position, "position", "Position"},
    {Stage::resid_pre, "residual", "Residual"},
    {Stage::attention_input, "normalised", "Norm"},
    {Stage::value_out, "value_out", "V W_O"},
    {Stage::attention_output, "attended", "Attention"},
    {Stage::resid_mid, "middle", "Middle"},
    {Stage::mlp_input, "mlp_input", "MLP input"},
    {Stage::mlp_hidden, "mlp_hidden", "MLP hidden"},
    {Stage::mlp_output, "mlp_output", "MLP"},
    {Stage::final_residual, "final_residual", "Final residual"},
    {Stage::final_norm, "final_norm", "Final norm"},
    {Stage::logit, "logit", "Logit"},
    {Stage::q_pre_rope, "unturned_q", "Unturned Q"},
    {Stage::k_pre_rope, "unturned_k", "Unturned K"},
    {Stage::gate, "gate", "Gate"},
    {Stage::active_gate, "active_gate", "Active gate"},
    {Stage::up, "up", "Up"},
    {Stage::segment, "segment", "Segment"},
    {Stage::embedding_sum, "embedding_sum", "Embeddings"},
    {Stage::attention_between, "attention_between", "After attention"},
    {Stage::mlp_between, "mlp_between", "After MLP"},
    {Stage::router_score, "router_score", "Router"},
    {Stage::expert_weight, "expert_weight", "Expert weight"},
    {Stage::head_input, "head_input", "Head input"},
    {Stage::w_o, "W_O", "W_O"},
    {Stage::w_gate, "W_gate", "W_gate"},
    {Stage::w_up, "W_up", "W_up"},
    {Stage::w_down, "W_down", "W_down"},
    {Stage::w_head, "W_head", "W_head"},
    {Stage::b_q, "b_Q", "b_Q"},
    {Stage::b_k, "b_K", "b_K"},
    {Stage::b_v, "b_V", "b_V"},
    {Stage::b_o, "b_O", "b_O"},
    {Stage::b_gate, "b_gate", "b_gate"},
    {Stage::b_up, "b_up", "b_up"},
    {Stage::b_down, "b_down", "b_down"},
    {Stage::b_head, "b_head", "b_head"},
    {Stage::norm_gain, "norm_gain", "Gain"},
    {Stage::norm_bias, "norm_bias", "Bias"},
    {Stage::w_token, "W_E", "W_E"},
    {Stage::w_segment, "W_seg", "W_seg"},
    {Stage::w_position, "W_pos", "W_pos"},
    {Stage::probability, "probability", "Probability"},
    {Stage::gradient, "gradient", "Gradient"},
    {Stage::head_score, "score", "Score"},
    {Stage::cosine, "cosine", "Cosine"},
    {Stage::row_cosine, "row_cosine", "Cosine"},
    {Stage::difference, "difference", "Difference"},
    {Stage::loss, "loss", "Loss"},
    {Stage::curve, "curve", "Score"},
    {Stage::row_entropy, "row_entropy", "Entropy"},
    {Stage::row_total, "row_total", "Total"},
    {Stage::column_total, "column_total", "Total"},
    {Stage::marked_total, "marked_total", "Total"},
    {Stage::lens, "number", "Number"},
}};
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
constexpr bool is_of_pairs(Stage stage) { return stage >= Stage::raw && stage <= Stage::projected; }
// Stages of pairs by their number, from 0 on.
constexpr std::ptrdiff_t number_of_pairs(Stage stage) {
    return static_cast<std::ptrdiff_t>(stage) - static_cast<std::ptrdiff_t>(Stage::raw);
}
constexpr std::optional<Stage> stage_of_pairs(std::ptrdiff_t number) {
    if (number < 0 || number > number_of_pairs(Stage::projected)) return std::nullopt;
    return static_cast<Stage>(number + static_cast<std::ptrdiff_t>(Stage::raw));
}
// A sum over a part of a map.
constexpr bool is_of_map(Stage stage) { return stage >= Stage::row_entropy && stage <= Stage::marked_total; }
constexpr bool is_of_softmax(Stage stage) { return stage >= Stage::exponential && stage <= Stage::row_sum; }
// What lies in a model's files.
constexpr bool is_stored(Stage stage) {
    return (stage >= Stage::w_o && stage <= Stage::w_position) ||
           (stage >= Stage::w_q && stage <= Stage::w_v);
}
// What a model computes around its heads, and its weights.
constexpr bool is_of_model(Stage stage) {
    return (stage >= Stage::embedding && stage < Stage::w_o) || is_stored(stage);
}
constexpr bool is_measured(Stage stage) { return stage >= Stage::probability && stage <= Stage::curve; }
constexpr bool rows_are_tokens(Stage stage) {
    const bool of_tokens = !is_measured(stage) || stage == Stage::gradient || stage == Stage::difference;
    return of_tokens && !is_stored(stage) && stage != Stage::lens;
}
// A step of the chain that ends in a weight.
constexpr bool is_score_or_weight(Stage stage) { return stage >= Stage::raw && stage <= Stage::weight; }
// Among the stages of pairs: weights and what is made of them are never negative.
constexpr bool is_signed(Stage stage) { return stage < Stage::weight; }

}  // namespace attn
