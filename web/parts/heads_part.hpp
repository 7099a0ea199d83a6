// Draws all heads of a subject: as a grid of their maps, in layers or in the order of a score, or as points
// over two scores.
#pragma once

#include <optional>
#include <string>

#include "parts/part.hpp"
#include "runs/head_naming.hpp"
#include "widgets/heatmap.hpp"

namespace attn::parts {

struct HeadsView {
    const app::Drawing& drawing;
    HeadOverview& heads;
    app::HeadsChoice choice;
    ui::ColourScale scale;         // colours of the maps
    const app::NamedHeads* named;  // null: nothing was measured
    app::Layers layers;
    std::string measured_on;  // which text the scores are from: "on this text", "on this text, by words"
    app::Attention& attention;
    const app::MapChoice& map;  // how maps are shown: their unit, and which mean is chosen
    Unit unit;                  // what the heads are measured by
    bool means = false;         // the heads are means over heads, each a layer of its own

    // Nothing if no mean is chosen.
    std::optional<HeadIndex> chosen() const;
    void choose(HeadIndex head) const;
    void choose_view(const app::HeadsChoice& chosen) const { drawing.visit.perform(app::SetHeads{chosen}); }
    void point(HeadIndex head) const;                     // highlights the head wherever heads are shown
    void explain(HeadIndex head, HeadScore score) const;  // shows it in the inspector; a click keeps it there
    std::optional<double> number(HeadIndex head, HeadScore score) const {
        return number_of(heads.scores(head), score);
    }
    std::string written(HeadIndex head,
                        HeadScore score) const;  // "0.43"; "…" while pending, "–" if there is none
    std::string told(HeadIndex head, HeadScore score) const;  // "entropy 0.46 nats on this text"

    // Names the layer only if there are several.
    std::string short_name(HeadIndex head) const;  // "3.7"; of a mean, "layer 3" or "all"
    std::string long_name(HeadIndex head, const char* between = " · ") const;  // "layer 3 · head 7"
    // The same, followed by the score that the head is named after.
    std::string introduced(HeadIndex head) const;
    // The same for screen readers: "layer 3, head 7, induction 0.43 on this text".
    std::string spoken(HeadIndex head, std::span<const HeadScore> scores) const;
    // Says why the heads lack this score; empty if they have it.
    std::string refused(HeadScore score) const;
};

// Draws all heads at the cursor, `width` points wide, below a line of controls; draws nothing for a single
// head.
void draw_heads(const app::Drawing& drawing, app::Attention& attention, float width, float most_height);

// Draws a menu of all scores and what each means; returns a newly chosen one.
std::optional<HeadScore> score_menu(const HeadsView& view, const char* name, const char* label,
                                    HeadScore taken);

// Says whether the key was pressed while the last item was focused or hovered over.
bool arrow_pressed(ImGuiKey key);

// All draw at the cursor. The grid shows layers or, with `by`, the order of a score.
void head_grid(const HeadsView& view, std::optional<HeadScore> by, float width, float most_height);
// Draws means over heads in one line, or more where it is full.
void means_grid(const HeadsView& view, std::optional<HeadScore> by, float width);
void head_scatter(const HeadsView& view, HeadScore across, HeadScore up, float width, float most_height);

}  // namespace attn::parts
