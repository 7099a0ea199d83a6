// Opens Knock-out, and computes what it shows by hand.
#pragma once

#include "lenses/knockout/knockout.hpp"
#include "unit/lenses/own_cells.hpp"

namespace attn::test {

inline app::knockout::Model& knockout_in(const app::Visit& visit) {
    return static_cast<app::ModelLens<app::knockout::Model>&>(visit.lens()).model();
}

inline void show_knockout(Screen& screen, const app::knockout::State& shown = {}) {
    show_lens(screen, "knockout", app::Set<app::knockout::State>{shown});
}

inline double target_by_hand(const Trace& trace, const LogitLoss& loss) {
    const Tensor logits = trace.logits({*loss.row, *loss.row + 1});
    const auto at = [&](std::int32_t id) {
        return static_cast<double>(logits.values()[static_cast<std::size_t>(id)]);
    };
    return at(loss.raise) - (loss.over ? at(*loss.over) : 0);
}
// Returns how far the target rises under an intervention, from a run of its own.
inline double moved_by_hand(const LogitTarget& target, const Intervention& change) {
    auto forward = ForwardPass::start_with({change}, target.trace);
    INFO((forward ? "" : forward.error().message));
    REQUIRE(forward);
    return target_by_hand(**forward->finish(), target.loss) - target_by_hand(*target.trace, target.loss);
}

}  // namespace attn::test
