// Holds what a head's q, k and v are computed from: X and the weights of its projections.
#pragma once

#include <optional>
#include <vector>

#include "app/matrix.hpp"
#include "attention/edit.hpp"
#include "attention/head_index.hpp"
#include "model/network.hpp"
#include "model/trace.hpp"

namespace attn::app {

// RMS norm of q or k: divides by the root mean square, over this head's components or over those of all
// heads, and multiplies by a gain (Zhang & Sennrich 2019, arXiv 1910.07467).
struct HeadNorm {
    std::vector<double> gain;     // [d_k]
    Matrix before;                // [n, d_k], this head's components before the norm
    std::vector<double> squares;  // [n], mean of all squares, plus ε
    double together = 0;          // number of components in the mean
    // For norms over all heads, what the other heads contribute for component b of X: Σ_a u[t, a] W[b, a],
    // and Σ_a W[b, a]².
    Matrix others = {};                      // [n, components]; empty: this head alone
    std::vector<double> other_squares = {};  // [components]
    bool operator==(const HeadNorm&) const = default;
};

// Holds one head's q, k and v as X W; queries and keys are the same tokens. Of a model's many components of
// X, and the rows of W, only some are here.
struct Projections {
    Matrix x, w_q, w_k, w_v;                           // [n, components], [components, d_k], …
    Index first = 0;                                   // the first component that is here
    std::optional<Rotary> rotary = {};                 // none: q and k are not rotated
    std::optional<HeadNorm> q_norm = {}, k_norm = {};  // before the rotation
    Stage of_x = Stage::x;                             // what the numbers of X are
    // In cross-attention, the rows of X are the inputs of k and v, and one more row is the input of the query
    // in view.
    bool crosses = false;
    // Changes the head's q, k or v after the projection; the head is among all that the intervention covers.
    struct Change {
        Stage stage;
        Edit edit;
        bool operator==(const Change&) const = default;
    };
    std::vector<Change> changes = {};
    bool operator==(const Projections&) const = default;
};

// Returns those of a head of a run, with `count` components of X from `first` on. `query` is the query in
// view.
Projections projections_of(const Trace& trace, HeadIndex head, Index query, Index first, Index count);

}  // namespace attn::app
