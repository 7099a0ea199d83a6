// All heads, in lens Sentence and of a person's own tensors: a grid of their maps, in layers or in the order of a score, or points
// over two scores.
#pragma once

#include <optional>
#include <string>

#include "lenses/lens.hpp"
#include "widgets/heatmap.hpp"

namespace attn::lenses {

struct HeadsView {
    app::Session& session;
    Hover& hover;
    const app::HeadOverview& heads;
    app::HeadsChoice choice;
    void (*choose_view)(app::Session&, const app::HeadsChoice&);
    ui::ColourScale scale;  // of the maps

    HeadIndex chosen() const {
        const app::Selection& s = session.state().selection;
        return {s.layer, s.head};
    }
    void choose(HeadIndex head);
    void point(HeadIndex head);  // with the cursor: it is lit wherever heads are shown
    std::optional<double> number(HeadIndex head, app::HeadScore score) const {
        return number_of(heads.scores(head), score);
    }
    std::string written(HeadIndex head,
                        app::HeadScore score) const;  // "0.43"; "…" before it is there, "–" without

    // Layers are said where there are several.
    std::string short_name(HeadIndex head) const;  // "3.7"
    std::string long_name(HeadIndex head) const;   // "layer 3 · head 7"
    // Why the heads have no such number; empty: they do.
    std::string refused(app::HeadScore score) const;
};

// Draws itself at the cursor, `width` points wide, under a line of controls.
void head_survey(HeadsView& view, float width, float most_height);

inline constexpr float score_menu_width = 150;
// All scores, each with what it means; a newly chosen one.
std::optional<app::HeadScore> score_menu(const HeadsView& view, const char* name, app::HeadScore taken);

// While the last item has the focus or is under the cursor.
bool arrow_pressed(ImGuiKey key);

// Each draws itself at the cursor. The grid is in layers, or in the order of a score.
void head_grid(HeadsView& view, std::optional<app::HeadScore> by, float width, float most_height);
void head_scatter(HeadsView& view, app::HeadScore across, app::HeadScore up, float width, float most_height);

}  // namespace attn::lenses
