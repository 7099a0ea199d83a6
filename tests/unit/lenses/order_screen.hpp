// Opens Order, and changes what it shows.
#pragma once

#include "lenses/order/order.hpp"
#include "unit/lenses/own_cells.hpp"

namespace attn::test {

inline void open_order(Screen& screen) {
    screen.visit.perform(app::OpenLens{"order"});
    screen.settle();
}
inline app::order::Model& order_in(const app::Visit& visit) {
    return static_cast<app::ModelLens<app::order::Model>&>(visit.lens()).model();
}

inline const app::order::State& now(const app::Visit& visit) { return visit.state().of<app::order::State>(); }

inline void change(Screen& screen, auto&& how) {
    app::order::State next = now(screen.visit);
    how(next);
    screen.visit.perform(app::Set<app::order::State>{next});
    screen.settle();
}

inline double f64(const app::Visit& visit, const app::CellRef& cell) {
    const auto found = why(visit, cell);
    REQUIRE(found);
    return found->f64;
}

// Presses a token and drags it to another one's place.
inline void drag(Screen& screen, const std::string& from, const std::string& to) {
    const ImVec2 end = screen.middle(to);
    screen.hover(from);
    ImGui::GetIO().AddMouseButtonEvent(0, true);
    screen.draw(2);
    const ImVec2 begin = screen.middle(from);
    for (int i = 1; i <= 8; ++i) {
        const float share = static_cast<float>(i) / 8;
        ImGui::GetIO().AddMousePosEvent(begin.x + (end.x - begin.x) * share,
                                        begin.y + (end.y - begin.y) * share);
        screen.draw(2);
    }
    ImGui::GetIO().AddMouseButtonEvent(0, false);
    screen.draw(2);
    screen.settle();
}

}  // namespace attn::test
