#include "app/state.hpp"

#include "app/presets.hpp"

namespace attn::app {

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

Matrix* WorkedState::input(MatrixId id) {
    const bool projected = source == Source::projections;
    switch (id) {
        case MatrixId::x: return projected ? &x : nullptr;
        case MatrixId::w_q: return projected ? &w_q : nullptr;
        case MatrixId::w_k: return projected ? &w_k : nullptr;
        case MatrixId::w_v: return projected ? &w_v : nullptr;
        case MatrixId::q: return source == Source::qkv ? &q : nullptr;
        case MatrixId::k: return source == Source::qkv ? &k : nullptr;
        case MatrixId::v: return projected || v.empty() ? nullptr : &v;
        case MatrixId::raw: return source == Source::scores ? &scores : nullptr;
        default: return nullptr;
    }
}

State default_state() {
    State state;
    state.worked = preset_state(PresetId::cat_sat_mat);
    return state;
}

}  // namespace attn::app
