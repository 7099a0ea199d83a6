// Defines what a user can set about the worked example: its inputs and its rules.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/matrix.hpp"
#include "app/state.hpp"

namespace attn::app {

inline constexpr std::string_view worked_subject = "worked";

// Worked examples from tutorials, under their usual names; the letters are those of the page's preset list.
enum class PresetId {
    cat_sat_mat,       // A: X 3×4, W = I
    three_tokens,      // B: Q = K 3×2, V 3×3
    hello_query,       // C1: one query, two keys
    hello_scores,      // C2: a 2×2 score matrix
    causal_row,        // D: one masked row of scores
    saturation,        // E: softmax of a large and of a small score row
    information_flow,  // F: a 3×3 score matrix
    seeded_normal,     // G: 4×8 standard normal Q, K, V
};

// Says where Q, K, V come from.
enum class Source {
    projections,  // Q = X W_Q, K = X W_K, V = X W_V
    qkv,          // Q, K, V given
    scores,       // the raw scores given; V may be absent
};
std::span<const Stage> inputs_of(Source source);

inline constexpr std::size_t origin_limit = 200;  // bytes of the text that names a copied head's source

// Says where an input matrix came from, before any edit.
struct Origin {
    enum class Kind { preset, generated, entered, taken };
    Kind kind = Kind::preset;
    // For `generated`: the seed of numpy.random.RandomState(seed).randn, which gives Q, then K, then V in
    // these shapes.
    std::uint32_t seed = 0;
    Index queries = 0, keys = 0, d_k = 0, d_v = 0;
    std::string from = {};  // for `taken`: the head, "layer 3, head 0 of storyteller"
    bool operator==(const Origin&) const = default;
};

// Only the members for its kind differ from the defaults.
struct WorkedMask {
    enum class Kind { none, causal, window, painted };
    Kind kind = Kind::none;
    Index offset = 0;                        // causal: key <= query + offset
    Index before = 1, after = 1;             // window
    std::vector<std::uint8_t> painted = {};  // [n_q, n_k], 1: allowed
    bool operator==(const WorkedMask&) const = default;
};

// Matrices that the source does not use are empty.
struct WorkedState {
    PresetId preset = PresetId::cat_sat_mat;
    Source source = Source::projections;
    Matrix x, w_q, w_k, w_v;  // projections: [n, d], [d, d_k], [d, d_k], [d, d_v]
    Matrix q, k, v;           // qkv: [n_q, d_k], [n_k, d_k], [n_k, d_v]; scores: v or empty
    Matrix scores;            // scores: [n_q, n_k]
    Origin origin;
    std::vector<std::string> query_labels, key_labels;  // [n_q], [n_k]; the same for projections
    bool scale_by_sqrt_d = true;                        // 1/√d_k; not offered for Source::scores
    double temperature = 1;                             // softmax(s / T)
    double softcap = 0;                                 // 0: none
    WorkedMask mask;

    static WorkedState initial();
    bool operator==(const WorkedState&) const = default;
    Index queries() const;
    Index keys() const;
    Index d_k() const;        // 0 for Source::scores
    Index d_v() const;        // 0 without values
    Matrix* input(Stage id);  // null if the source computes the matrix, or it is absent
    const Matrix* input(Stage id) const { return const_cast<WorkedState*>(this)->input(id); }
    // The member with that name, whatever the source; null for all stages except raw.
    Matrix* stored(Stage id);
    const Matrix* stored(Stage id) const { return const_cast<WorkedState*>(this)->stored(id); }
    void clear_matrices();
};

inline const WorkedState& worked_of(const State& state) { return state.of<WorkedState>(); }

}  // namespace attn::app
