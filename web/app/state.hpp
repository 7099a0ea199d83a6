// Everything that a person can set: plain, comparable, serialisable. Two States say what to recompute, a list
// of them is undo, one of them in text is a link. What follows from a State (runs, traces) is not in it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/flow_choice.hpp"
#include "app/head_choice.hpp"
#include "app/map_choice.hpp"
#include "app/training_plan.hpp"
#include "tensor/tensor.hpp"

namespace attn::app {

enum class LensId { worked, sentence, training, tensors };
inline constexpr std::array<std::string_view, 4> lens_keys{"worked", "sentence", "training",
                                                           "tensors"};  // in links

// The tutorials' worked examples, named as people know them; letters as in the preset list of the page.
enum class PresetId {
    cat_sat_mat,       // A: X 3×4, W = I
    three_tokens,      // B: Q = K 3×2, V 3×3
    hello_query,       // C1: one query, two keys
    hello_scores,      // C2: a 2×2 score matrix
    causal_row,        // D: one masked row of scores
    saturation,        // E: softmax of a large and of a small score row
    information_flow,  // F: a 3×3 score matrix
    seeded_normal,     // J: 4×8 standard normal Q, K, V
};

// A small matrix whose cells a person may edit. In double: 0.1 is kept as typed, and the f64 column of the
// inspector is exact for it; runs round it to f32.
struct Matrix {
    Index rows = 0;
    Index cols = 0;
    std::vector<double> values;  // row-major

    Matrix() = default;
    Matrix(Index r, Index c) : rows(r), cols(c), values(static_cast<std::size_t>(r * c), 0.0) {}
    Matrix(Index r, Index c, std::vector<double> v) : rows(r), cols(c), values(std::move(v)) {}
    double& at(Index r, Index c) { return values[static_cast<std::size_t>(r * cols + c)]; }
    double at(Index r, Index c) const { return values[static_cast<std::size_t>(r * cols + c)]; }
    bool holds(Index r, Index c) const { return r >= 0 && r < rows && c >= 0 && c < cols; }
    bool empty() const { return values.empty(); }
    bool operator==(const Matrix&) const = default;
};

Matrix identity(Index rows, Index cols);

// The matrices of the ladder. x … scores are inputs (which of them depends on Source), the rest is computed.
enum class MatrixId { x, w_q, w_k, w_v, q, k, v, raw, scaled, capped, masked, weight, output };
inline constexpr int matrix_count = 13;

// Where Q, K, V come from.
enum class Source {
    projections,  // Q = X W_Q, K = X W_K, V = X W_V
    qkv,          // Q, K, V given
    scores,       // the raw scores given; V may be absent
};
std::span<const MatrixId> inputs_of(Source source);

// Where the cells of an input matrix came from before somebody edited one.
struct Origin {
    enum class Kind { preset, generated, entered };
    Kind kind = Kind::preset;
    // generated: numpy.random.RandomState(seed).randn for Q, then K, then V of these shapes
    std::uint32_t seed = 0;
    Index queries = 0, keys = 0, d_k = 0, d_v = 0;
    bool operator==(const Origin&) const = default;
};

// Only the members of its kind differ from the defaults.
struct WorkedMask {
    enum class Kind { none, causal, window, painted };
    Kind kind = Kind::none;
    Index offset = 0;                        // causal: key <= query + offset
    Index before = 1, after = 1;             // window
    std::vector<std::uint8_t> painted = {};  // [n_q, n_k], 1: may look
    bool operator==(const WorkedMask&) const = default;
};

inline constexpr Index worked_size_limit = 64;      // rows or columns of any matrix of the ladder
inline constexpr Index position_limit = 1'000'000;  // layers, heads and tokens that can be chosen

// The matrices that its source does not use are empty.
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

    bool operator==(const WorkedState&) const = default;
    Index queries() const;
    Index keys() const;
    Index d_k() const;           // 0 for Source::scores
    Index d_v() const;           // 0 without values
    Matrix* input(MatrixId id);  // null where the matrix is computed in this source, or absent
    const Matrix* input(MatrixId id) const { return const_cast<WorkedState*>(this)->input(id); }
    Matrix* stored(MatrixId id);  // the member of that name, whatever the source; null for stages but raw
    const Matrix* stored(MatrixId id) const { return const_cast<WorkedState*>(this)->stored(id); }
    void clear_matrices();
};

struct SamplingState {
    float temperature = 0.8f;  // 0: greedy
    Index top_k = 40;          // 0: all
    float top_p = 1;
    std::uint64_t seed = 7;
    bool operator==(const SamplingState&) const = default;
};

// Two sentences beside each other, one after the other in the same place, or the first less the second.
enum class ComparisonView { sides, blink, difference };

struct Comparison {
    std::string text;  // the second sentence
    ComparisonView view = ComparisonView::sides;
    bool operator==(const Comparison&) const = default;
};

// A part of a head's map that somebody wants to come back to.
struct Bookmark {
    Index layer = 0, head = 0;
    Range queries, keys;
    bool operator==(const Bookmark&) const = default;
};
inline constexpr std::size_t bookmark_limit = 16;

struct SentenceState {
    std::string text;
    std::string model;                   // name of the folder the text was explored with; empty: none yet
    std::optional<TrainedHere> trained;  // that is what `model` names, where it came from lens Training
    MapChoice map;
    std::vector<Bookmark> bookmarks;
    HeadsChoice heads;
    FlowChoice flow;
    SamplingState sampling;
    std::optional<Comparison> compared;
    bool operator==(const SentenceState&) const = default;
};

// What the maps of a network in training show: the weights, or the gradient of the probe's loss by them.
enum class TrainingMaps { weights, gradient };

struct TrainingState {
    TrainingPlan plan;                     // of the run that is shown
    std::optional<TrainingPlan> compared;  // of another beside it
    std::optional<std::int64_t> step;      // that is shown; none: the newest
    bool running = false;                  // else they are trained up to `step` and no further
    TrainingMaps maps = TrainingMaps::weights;
    bool operator==(const TrainingState&) const = default;
    // Steps that the runs should take; 0 and no `step`: there is no run yet.
    std::int64_t target() const { return running ? plan.steps : step.value_or(0); }
    bool wants_a_run() const { return running || step; }
};

// How Q and K of a person's own become weights.
struct TensorRule {
    enum class Causal {
        none,
        aligned,    // the first query is the first key's
        with_past,  // the last query is the last key's
    };
    Causal causal = Causal::none;
    bool scale_by_sqrt_d = true;  // 1/√d_k
    bool operator==(const TensorRule&) const = default;
};
inline constexpr std::array<const char*, 3> causal_names{"no", "yes", "with a past"};
inline constexpr std::array<const char*, 2> scale_names{"1/√d", "none"};

struct TensorsState {
    std::vector<std::string> files;  // names of those that are open, or that a link was made with
    MapChoice map;
    TensorRule rule;
    HeadsChoice heads;
    FlowChoice flow;
    std::vector<Bookmark> bookmarks;
    bool operator==(const TensorsState&) const = default;
};

// Shared by all lenses: chosen here, lit there.
struct Selection {
    Index layer = 0;
    Index head = 0;
    std::optional<Index> query;
    std::optional<Index> key;
    // Of the query, in a second sentence; none: the token it is aligned with.
    std::optional<Index> counterpart = {};
    void forget_tokens() { query = key = counterpart = std::nullopt; }
    bool operator==(const Selection&) const = default;
};

// A cell whose explanation is pinned. In lenses Sentence and Tensors the matrix belongs to the selected layer and head.
struct CellRef {
    MatrixId matrix = MatrixId::weight;
    Index row = 0;
    Index col = 0;
    bool second = false;  // in lens Sentence: of the second sentence
    bool words = false;   // row and column are words, not tokens
    bool operator==(const CellRef&) const = default;
};

struct State {
    LensId lens = LensId::worked;
    WorkedState worked;
    SentenceState sentence;
    TrainingState training;
    TensorsState tensors;
    Selection selection;
    std::optional<CellRef> pin;
    bool operator==(const State&) const = default;
};

State default_state();

}  // namespace attn::app
