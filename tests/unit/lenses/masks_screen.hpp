// Opens Masks, and reads what it shows.
#pragma once

#include "lenses/masks/masks.hpp"
#include "unit/lenses/own_cells.hpp"

namespace attn::test {

inline app::masks::Model& masks_in(const Screen& screen) {
    return static_cast<app::masks::Lens&>(screen.visit.lens()).model();
}
inline const app::masks::State& tried(const Screen& screen) {
    return screen.visit.state().of<app::masks::State>();
}

inline void open_masks(Screen& screen, const app::masks::State& state = {}) {
    screen.visit.perform(app::OpenLens{"masks"});
    screen.visit.perform(app::Set<app::masks::State>{state});
    screen.settle();
}

}  // namespace attn::test
