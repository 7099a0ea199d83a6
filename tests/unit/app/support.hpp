// Provides helpers for commands that must succeed or fail.
#pragma once

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/catalogue.hpp"
#include "app/command.hpp"
#include "app/fields.hpp"
#include "app/looks.hpp"
#include "runs/training_state.hpp"
#include "subjects/sentence/commands.hpp"
#include "subjects/tensors/commands.hpp"
#include "subjects/worked/commands.hpp"
#include "subjects/worked/presets.hpp"
#include "subjects/worked/worked_run.hpp"
#include "tensor/random.hpp"

namespace attn::test {

inline app::State after(const app::State& state, const app::Command& command) {
    auto next = app::apply(state, command);
    INFO((next ? "" : next.error().message));
    REQUIRE(next);
    return *next;
}

inline std::string refusal(const app::State& state, const app::Command& command) {
    const auto next = app::apply(state, command);
    REQUIRE_FALSE(next);
    return next.error().message;
}

inline app::State opened(app::PresetId preset) {
    return after(app::default_state(), app::OpenPreset{preset});
}

inline std::vector<double> weights(const app::WorkedState& worked) {
    const auto run = app::run_worked(worked);
    REQUIRE(run);
    return run->matrix(worked, Stage::weight).values;
}

// Checks the invariants that hold for every State, whatever commands led to it.
inline void check_valid(const app::State& s) {
    REQUIRE(app::find_subject(s.subject));
    REQUIRE(app::find_lens(s.lens));
    REQUIRE(app::subject_of(s).may_select(s, s.selection));
    if (s.pin) REQUIRE(app::may_pin(s, *s.pin));
    for (const app::SubjectEntry& subject : app::subject_list()) {
        const app::Looks& looks = app::looks_of(s, subject.key);
        REQUIRE(is_of_pairs(looks.map.stage));
        REQUIRE(looks.bookmarks.size() <= app::bookmark_limit);
        REQUIRE(looks.flow.heads.size() < flow_heads_limit);
    }
    const app::WorkedState& w = app::worked_of(s);
    const auto fits = app::check_inputs(w);
    INFO((fits ? "" : fits.error().message));
    REQUIRE(fits);
    const auto used = app::inputs_of(w.source);
    for (int i = 0; i <= static_cast<int>(Stage::raw); ++i) {
        const auto id = static_cast<Stage>(i);
        if (std::ranges::find(used, id) == used.end()) REQUIRE(w.stored(id)->empty());
    }
    REQUIRE(std::ssize(w.query_labels) == w.queries());
    REQUIRE(std::ssize(w.key_labels) == w.keys());
    if (w.source == app::Source::projections) REQUIRE(w.query_labels == w.key_labels);
    const bool painted = w.mask.kind == app::WorkedMask::Kind::painted;
    REQUIRE(std::ssize(w.mask.painted) == (painted ? w.queries() * w.keys() : 0));
    if (w.source == app::Source::scores) REQUIRE_FALSE(w.scale_by_sqrt_d);
    if (s.subject == app::worked_subject) {
        if (s.selection.query) REQUIRE(*s.selection.query < w.queries());
        if (s.selection.key) REQUIRE(*s.selection.key < w.keys());
        if (const app::RunCell* cell = s.pin ? s.pin->run() : nullptr) {
            const app::MatrixShape shape = app::shape_of(w, cell->stage);
            REQUIRE(cell->row < shape.rows);
            REQUIRE(cell->col < shape.cols);
        }
    }
}

}  // namespace attn::test
