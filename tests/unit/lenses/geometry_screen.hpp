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
    app::geometry::Model& model() const {
        return static_cast<app::ModelLens<app::geometry::Model>&>(visit.lens()).model();
    }
    app::Subject& subject() const { return app::subject_in(visit); }
    const app::geometry::State& now() const { return visit.state().of<app::geometry::State>(); }
    void set(auto change) {
        app::geometry::State next = now();
        change(next);
        visit.perform(app::Set<app::geometry::State>{next});
        settle();
    }
    HeadIndex head() const { return {visit.state().selection.layer, visit.state().selection.head}; }
    std::optional<app::Explained> why(const app::CellRef& cell) const {
        return app::lens_in(visit).explain(subject(), {head(), cell});
    }
    std::string spoken() const { return app::lens_in(visit).spoken(subject()); }
};

struct WorkedGeometry : GeometryScreen {
    WorkedGeometry() {
        visit.perform(app::OpenSubject{app::worked_subject});
        open();
    }
};

}  // namespace attn::test
