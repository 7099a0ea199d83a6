#include "subjects/worked/state.hpp"

#include <algorithm>
#include <array>

#include "subjects/worked/presets.hpp"

namespace attn::app {

WorkedState WorkedState::initial() { return preset_state(PresetId::cat_sat_mat); }

std::span<const Stage> inputs_of(Source source) {
    using enum Stage;
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

Matrix* WorkedState::stored(Stage id) {
    switch (id) {
        case Stage::x: return &x;
        case Stage::w_q: return &w_q;
        case Stage::w_k: return &w_k;
        case Stage::w_v: return &w_v;
        case Stage::q: return &q;
        case Stage::k: return &k;
        case Stage::v: return &v;
        case Stage::raw: return &scores;
        default: return nullptr;
    }
}

Matrix* WorkedState::input(Stage id) {
    if (std::ranges::find(inputs_of(source), id) == inputs_of(source).end()) return nullptr;
    Matrix* m = stored(id);
    return m->empty() ? nullptr : m;
}

void WorkedState::clear_matrices() {
    for (Matrix* m : {&x, &w_q, &w_k, &w_v, &q, &k, &v, &scores}) *m = {};
}

}  // namespace attn::app
