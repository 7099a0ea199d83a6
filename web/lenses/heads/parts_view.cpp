// Draws what each head writes, and how similar heads are.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/heads/heads.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::heads {

namespace {

constexpr float bar_name_width = 130, tree_width = 96, below_text = 6;

std::string signed_percent(double share) { return (share < 0 ? "−" : "") + percent(std::abs(share)); }

// ---- Contributions ----------------------------------------------------------------------------------------

void draw_shares(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const HeadWrites& w = model.writes();
    std::vector<ui::Bar> bars;
    double most = 0, least = 0;
    for (Index part = 0; part <= w.heads; ++part) {
        const double share = w.share(part);
        most = std::max(most, std::abs(share));
        least = std::min(least, share);
        bars.push_back({part == w.heads ? "bias of W_O" : part_name(model, subject, part),
                        static_cast<float>(share),
                        signed_percent(share) + "   length " + fixed(w.norm(part), 3),
                        drawing.state().pin == cells::norm(part), part == w.heads});
    }
    const auto reply = present::bars(drawing,
                                     {.key = "heads/share",
                                      .title = "Its share of what the attention adds",
                                      .bars = bars,
                                      .most = static_cast<float>(most),
                                      .scale = least < 0 ? ui::diverging_scale(static_cast<float>(most))
                                                         : ui::sequential_scale(static_cast<float>(most)),
                                      .most_name = bar_name_width,
                                      .cell = [](Index part) { return cells::share(part); },
                                      .table = [&] { return shares_table(model, subject); }},
                                     width);
    if (reply.clicked && *reply.clicked < w.heads)
        parts::choose_head(drawing, {model.head.layer, *reply.clicked});
    const bool changed = std::ranges::any_of(model.trace->interventions(), [&](const Intervention& each) {
        return is_at(each, model.trace->model()->network(), model.head.layer, Site::attention_output);
    });
    const std::string off =
        "Heads and bias add up to the attention’s output, off by " + fixed(w.off_by(), 1) +
        (changed ? ": the run was changed behind them." : " at most, the rounding of single precision.");
    ui::caption(off.c_str());
    ui::landmark_item("heads/off");
    if (!ImGui::IsItemHovered()) return;
    drawing.now.cell = cells::error();
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (ui::clicked()) present::pin(drawing, cells::error());
}

// ---- Similarity -------------------------------------------------------------------------------------------

// The tree of clusters stands beside the heads; the farther right two branches join, the less similar they
// are.
void draw_similarity(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const auto draw_tree = [&](std::span<const ImVec2> ends) {
        const float from = ends.front().x + 10, reach = tree_width - 22;
        double farthest = 0;
        for (const ClusterMerge& merge : model.clusters.kept()->merges)
            farthest = std::max(farthest, merge.distance);
        std::vector<ImVec2> nodes(ends.size());
        for (std::size_t r = 0; r < ends.size(); ++r)
            nodes[static_cast<std::size_t>(model.order()[r])] = {from, ends[r].y};
        ImDrawList* list = ImGui::GetWindowDrawList();
        const ImU32 colour = ui::theme().dim;
        for (const ClusterMerge& merge : model.clusters.kept()->merges) {
            const ImVec2 a = nodes[static_cast<std::size_t>(merge.left)],
                         b = nodes[static_cast<std::size_t>(merge.right)];
            const float x = from + reach * static_cast<float>(
                                               farthest > 0 ? std::max(0.0, merge.distance) / farthest : 0);
            list->AddLine(a, {x, a.y}, colour, 1.3f);
            list->AddLine(b, {x, b.y}, colour, 1.3f);
            list->AddLine({x, a.y}, {x, b.y}, colour, 1.3f);
            nodes.emplace_back(x, (a.y + b.y) / 2);
        }
    };
    if (const auto clicked =
            present::sheet(drawing, alike_sheet(model, subject), width, {tree_width, draw_tree}))
        parts::choose_head(drawing, model.alike().head(model.in_order(clicked->first)));
}

void draw_roles(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const Layers numbering = subject.attention()->numbering();
    std::vector<ui::Bar> bars;
    for (const Index i : model.order()) {
        const Role found = role_of(model, subject, i);
        bars.push_back({head_text(model.alike().head(i), numbering), static_cast<float>(found.score),
                        found.name + " " + written_score(found.score) + " " + found.on, false,
                        found.name == "mixed"});
    }
    const auto reply = present::bars(drawing,
                                     {.key = "heads/role",
                                      .title = "What each was measured to do",
                                      .bars = bars,
                                      .most_name = bar_name_width,
                                      .cell = [&](Index place) { return cells::role(model.in_order(place)); },
                                      .tip =
                                          [&](Index place) {
                                              const Role found =
                                                  role_of(model, subject, model.in_order(place));
                                              return capitalised(found.measure) + ", " + found.on;
                                          },
                                      .table = [&] { return roles_table(model, subject); }},
                                     width);
    if (reply.clicked) parts::choose_head(drawing, model.alike().head(model.in_order(*reply.clicked)));
    if (const auto& copying = *model.copying.kept(); copying && !copying->done())
        ui::caption(("Measuring how far each head copies, " + percent(copying->progress()) + ".").c_str());
}

}  // namespace

void draw_writes(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    draw_shares(model, drawing, subject, width);
    ImGui::Dummy({0, below_text});
    const auto clicked = present::sheet(drawing, written_sheet(model, subject), width);
    if (clicked && clicked->first < model.writes().heads)
        parts::choose_head(drawing, {model.head.layer, clicked->first});
}

void draw_alike(const Model& model, const Drawing& drawing, Subject& subject) {
    if (!model.compared()) {
        ui::caption(("Heads are being compared, " + percent(model.alike().progress()) + ".").c_str());
        ui::landmark_item("heads/progress");
        return;
    }
    const Range all = subject.attention()->alike();
    if (model.state.all_layers && model.alike().attentions() != all)
        ui::caption(("There are " + std::to_string(all.size() * subject.attention()->heads()) +
                     " heads, too many for one picture; these are those of the chosen layer.")
                        .c_str());
    ui::unequal_columns(
        0.55f, present::card_gap, "alike", [&](float w) { draw_similarity(model, drawing, subject, w); },
        "roles", [&](float w) { draw_roles(model, drawing, subject, w); });
    ui::caption(("Over " + many(model.alike().rows(), "query row") +
                 "; clusters by average linkage, joined farther to the right where they are less alike.")
                    .c_str());
    ui::landmark_item("heads/rows");
}

}  // namespace attn::app::heads
