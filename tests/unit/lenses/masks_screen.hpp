// Opens Masks, and reads what it shows.
#pragma once

#include "lenses/masks/masks.hpp"
#include "unit/lenses/own_cells.hpp"

namespace attn::test {

inline app::MasksLens& masks_in(const Screen& screen) {
    return static_cast<app::MasksLens&>(screen.visit.lens());
}
inline const app::MasksState& tried(const Screen& screen) {
    return screen.visit.state().of<app::MasksState>();
}

inline void open_masks(Screen& screen, const app::MasksState& state = {}) {
    screen.visit.perform(app::OpenLens{"masks"});
    screen.visit.perform(app::TryMask{state});
    screen.settle();
}

}  // namespace attn::test
