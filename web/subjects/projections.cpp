#include "subjects/projections.hpp"

namespace attn::app {

std::optional<Projections> projections_of(const State& state, Subject& subject) {
    const Ladder* ladder = subject.ladder();
    if (!ladder || !ladder->edits() || !ladder->edits()->may_edit(state, Stage::w_q)) return std::nullopt;
    Projections made;
    for (auto& row : ladder->rungs({0, ladder->queries()}, {0, ladder->keys()}))
        for (Rung& rung : row)
            if (Matrix* to = rung.stage == Stage::x     ? &made.x
                             : rung.stage == Stage::w_q ? &made.w_q
                             : rung.stage == Stage::w_k ? &made.w_k
                             : rung.stage == Stage::w_v ? &made.w_v
                                                        : nullptr)
                *to = std::move(rung.values);
    return made;
}

}  // namespace attn::app
