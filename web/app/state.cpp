#include "app/state.hpp"

#include <algorithm>
#include <array>

#include "app/presets.hpp"

namespace attn::app {

Matrix identity(Index rows, Index cols) {
    Matrix m(rows, cols);
    for (Index i = 0; i < std::min(rows, cols); ++i) m.at(i, i) = 1;
    return m;
}

std::span<const MatrixId> inputs_of(Source source) {
    using enum MatrixId;
    static constexpr std::array projections{x, w_q, w_k, w_v};
    static constexpr std::array qkv{q, k, v};
    static constexpr std::array scores{raw, v};
    switch (source) {
        case Source::projections: return projections;
        case Source::qkv: return qkv;
        case Source::scores: break;
    }
    return scores;
}

Index WorkedState::queries() const {
    switch (source) {
        case Source::projections: return x.rows;
        case Source::qkv: return q.rows;
        case Source::scores: return scores.rows;
    }
    return 0;
}

Index WorkedState::keys() const {
    switch (source) {
        case Source::projections: return x.rows;
        case Source::qkv: return k.rows;
        case Source::scores: return scores.cols;
    }
    return 0;
}

Index WorkedState::d_k() const {
    switch (source) {
        case Source::projections: return w_q.cols;
        case Source::qkv: return q.cols;
        case Source::scores: return 0;
    }
    return 0;
}

Index WorkedState::d_v() const { return source == Source::projections ? w_v.cols : v.cols; }

Matrix* WorkedState::stored(MatrixId id) {
    switch (id) {
        case MatrixId::x: return &x;
        case MatrixId::w_q: return &w_q;
        case MatrixId::w_k: return &w_k;
        case MatrixId::w_v: return &w_v;
        case MatrixId::q: return &q;
        case MatrixId::k: return &k;
        case MatrixId::v: return &v;
        case MatrixId::raw: return &scores;
        default: return nullptr;
    }
}

Matrix* WorkedState::input(MatrixId id) {
    if (std::ranges::find(inputs_of(source), id) == inputs_of(source).end()) return nullptr;
    Matrix* m = stored(id);
    return m->empty() ? nullptr : m;
}

void WorkedState::clear_matrices() {
    for (Matrix* m : {&x, &w_q, &w_k, &w_v, &q, &k, &v, &scores}) *m = {};
}

State default_state() {
    State state;
    state.worked = preset_state(PresetId::cat_sat_mat);
    return state;
}

}  // namespace attn::app
