// What makes a head's q, k and v of the numbers before them: X and the weights of its projections.
#pragma once

#include <optional>
#include <vector>

#include "app/matrix.hpp"
#include "attention/edit.hpp"
#include "model/network.hpp"
#include "subjects/subject.hpp"

namespace attn::app {

// What divides q or k by the root of the mean square of what it takes together, which is this head's components or
// those of all heads, and multiplies it by a gain (Zhang & Sennrich 2019, arXiv 1910.07467).
struct HeadNorm {
    std::vector<double> gain;     // [d_k]
    Matrix before;                // [n, d_k]: of this head
    std::vector<double> squares;  // [n]: the mean of all squares, and ε
    double together = 0;          // how many components
    // Of the other heads, where it takes them along, for component b of X: Σ_a u[t, a] W[b, a], and Σ_a W[b, a]².
    Matrix others = {};                      // [n, components]; empty: there are none
    std::vector<double> other_squares = {};  // [components]
    bool operator==(const HeadNorm&) const = default;
};

// q, k and v as X W, one head; queries and keys are the same tokens. Of a model's many components of X, and of the rows of
// W, only some are here.
struct Projections {
    Matrix x, w_q, w_k, w_v;                           // [n, components], [components, d_k], …
    Index first = 0;                                   // of the components
    std::optional<Rotary> rotary = {};                 // none: q and k are not turned
    std::optional<HeadNorm> q_norm = {}, k_norm = {};  // before they are turned
    Stage of_x = Stage::x;                             // what the numbers of X are
    // Of cross-attention the rows of X are those that k and v are made of, and one more for the query in view.
    bool crosses = false;
    // What changes the head's q, k and v once they are made; of all heads of theirs.
    struct Change {
        Stage stage;
        Edit edit;
        bool operator==(const Change&) const = default;
    };
    std::vector<Change> changes = {};
    bool operator==(const Projections&) const = default;
};

// Returns those that can be edited; nothing if the subject's q, k and v were not made of any here.
std::optional<Projections> edited_projections(Subject& subject, const State& state);

}  // namespace attn::app
