// Opens Geometry, on the example or elsewhere.
#pragma once

#include "lenses/geometry/geometry.hpp"
#include "subjects/worked/commands.hpp"
#include "unit/lenses/own_cells.hpp"

namespace attn::test {

struct GeometryScreen : Screen {
    explicit GeometryScreen(ImVec2 size = {1440, 846}) : Screen(size) {}
    void open() {
        visit.perform(app::OpenLens{"geometry"});
        settle();
    }
    app::GeometryLens& lens() const { return static_cast<app::GeometryLens&>(visit.lens()); }
    app::Subject& subject() const { return app::subject_in(visit); }
    const app::GeometryState& now() const { return visit.state().of<app::GeometryState>(); }
    void set(auto change) {
        app::GeometryState next = now();
        change(next);
        visit.perform(app::SetGeometry{next});
        settle();
    }
    HeadIndex head() const { return {visit.state().selection.layer, visit.state().selection.head}; }
    std::optional<app::Explained> why(const app::CellRef& cell) const {
        return lens().explain(subject(), {head(), cell});
    }
    std::string spoken() const { return lens().spoken(subject()); }
};

struct WorkedGeometry : GeometryScreen {
    WorkedGeometry() {
        visit.perform(app::OpenSubject{app::worked_subject});
        open();
    }
};

}  // namespace attn::test
