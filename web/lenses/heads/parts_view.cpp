// Draws what each head writes, and how alike heads are.
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "app/format.hpp"
#include "lenses/heads/heads.hpp"
#include "lenses/heads/view.hpp"
#include "parts/part.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"
#include "widgets/bars.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float least_component = 54, names_width = 130, bar_name_width = 130, tree_width = 96;
constexpr Index most_components = 16;

std::string signed_percent(double share) { return (share < 0 ? "−" : "") + percent(std::abs(share)); }

}  // namespace

// ---- What each writes -------------------------------------------------------------------------------------

void HeadsLens::draw_shares(const Drawing& drawing, Subject& subject, float width) {
    const HeadWrites& w = *writes_;
    std::vector<ui::Bar> bars;
    double most = 0, least = 0;
    for (Index part = 0; part <= w.heads; ++part) {
        const double share = w.share(part);
        most = std::max(most, std::abs(share));
        least = std::min(least, share);
        bars.push_back({part == w.heads ? "bias of W_O" : part_name(subject, part), static_cast<float>(share),
                        signed_percent(share) + "   length " + fixed(w.norm(part), 3),
                        drawing.state().pin == heads_cells::share(part) ||
                            drawing.state().pin == heads_cells::norm(part),
                        part == w.heads});
    }
    ui::section("Its share of what the attention adds");
    const auto over = ui::bar_list("heads/share", "What each head writes, along the whole", width, bars,
                                   static_cast<float>(most),
                                   least < 0 ? ui::diverging_scale(static_cast<float>(most))
                                             : ui::sequential_scale(static_cast<float>(most)),
                                   bar_name_width);
    if (over) {
        heads_view::answer(drawing, heads_cells::share(*over));
        if (*over < w.heads && ui::clicked()) parts::choose_head(drawing, {writes_of_->attention, *over});
    }
    const bool changed = std::ranges::any_of(trace_->interventions(), [&](const Intervention& each) {
        return is_at(each, trace_->model()->network(), writes_of_->attention, Site::attention_output);
    });
    const std::string off =
        "Heads and bias add up to the attention’s output, off by " + fixed(w.off_by(), 1) +
        (changed ? ": the run was changed behind them." : " at most, the rounding of single precision.");
    ui::caption(off.c_str());
    ui::landmark_item("heads/off");
    if (ImGui::IsItemHovered()) heads_view::answer(drawing, heads_cells::error());
}

// The components in which the whole is largest, part by part.
void HeadsLens::draw_components(const Drawing& drawing, Subject& subject, float width) {
    const HeadWrites& w = *writes_;
    std::vector<Index> shown(w.whole.size());
    std::iota(shown.begin(), shown.end(), Index{0});
    std::ranges::sort(shown, {},
                      [&](Index i) { return std::pair(-std::abs(w.whole[static_cast<std::size_t>(i)]), i); });
    const auto fit = static_cast<Index>((width - names_width) / least_component);
    shown.resize(static_cast<std::size_t>(std::clamp(fit, Index{1}, std::min(most_components, w.d_model))));
    std::ranges::sort(shown);
    Matrix values(w.heads + 3, std::ssize(shown));
    std::vector<std::string> rows, columns;
    for (const Index component : shown) columns.push_back(std::to_string(component));
    for (Index part = 0; part < values.rows; ++part) {
        rows.push_back(part < w.heads        ? "head " + std::to_string(part)
                       : part == w.heads     ? "bias"
                       : part == w.heads + 1 ? "sum"
                                             : "attention");
        for (Index c = 0; c < values.cols; ++c) {
            const auto at = static_cast<std::size_t>(shown[static_cast<std::size_t>(c)]);
            values.at(part, c) = part <= w.heads       ? w.part(part)[at]
                                 : part == w.heads + 1 ? w.sum[at]
                                                       : w.whole[at];
        }
    }
    ui::MatrixGrid grid;
    grid.name = "heads/written";
    grid.title = "Written into the residual";
    grid.notation = std::to_string(values.cols) + " of " + std::to_string(w.d_model) +
                    " components, those with the largest sums; the table has all";
    grid.values = &values;
    grid.row_labels = rows;
    grid.column_labels = columns;
    grid.row_axis = "part";
    grid.column_axis = "component";
    grid.is_signed = true;
    if (const HeadIndex head = subject.chosen_head(); head.layer == writes_of_->attention)
        grid.lit_row = head.head;
    const auto clicked = heads_view::draw_grid(
        grid, width,
        [&](ui::CellAt at) {
            return heads_cells::written(at.first, shown[static_cast<std::size_t>(at.second)]);
        },
        drawing);
    if (clicked && clicked->first < w.heads)
        parts::choose_head(drawing, {writes_of_->attention, clicked->first});
}

void HeadsLens::draw_writes(const Drawing& drawing, Subject& subject, float width) {
    draw_shares(drawing, subject, std::min(width, 2 * ui::reading_width));
    ImGui::Dummy({0, heads_view::gap_below});
    draw_components(drawing, subject, width);
}

// ---- How alike --------------------------------------------------------------------------------------------

void HeadsLens::draw_similarity(const Drawing& drawing, Subject& subject, float width) {
    const Index heads = alike_->heads();
    const Layers numbering = subject.attention()->numbering();
    const bool one_layer = alike_->attentions().size() == 1;
    Matrix values(heads, heads);
    std::vector<std::string> names;
    for (const Index i : order_) {
        const HeadIndex head = alike_->head(i);
        names.push_back(one_layer ? std::to_string(head.head) : numbering.short_head(head));
    }
    for (Index r = 0; r < heads; ++r)
        for (Index c = 0; c < heads; ++c)
            values.at(r, c) = alike(order_[static_cast<std::size_t>(r)], order_[static_cast<std::size_t>(c)]);
    ui::MatrixGrid grid;
    grid.name = "heads/alike";
    grid.title = now().outputs ? "How alike they write" : "How alike they look";
    grid.notation = now().outputs ? "mean cosine of what they add to the residual"
                                  : "1 − mean Jensen–Shannon distance of their rows";
    grid.values = &values;
    grid.row_labels = names;
    grid.column_labels = names;
    grid.row_axis = "head";
    grid.column_axis = "head";
    grid.is_signed = now().outputs;
    grid.most = 1;
    grid.allowed = [&](Index r, Index c) { return !std::isnan(values.at(r, c)); };
    const auto chosen =
        std::ranges::find_if(order_, [&](Index i) { return alike_->head(i) == subject.chosen_head(); });
    if (chosen != order_.end()) grid.lit_row = chosen - order_.begin();
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    ui::GridMetrics metrics;
    const auto clicked = heads_view::draw_grid(
        grid, width - tree_width,
        [&](ui::CellAt at) {
            return heads_cells::similarity(now().outputs, order_[static_cast<std::size_t>(at.first)],
                                           order_[static_cast<std::size_t>(at.second)]);
        },
        drawing, &metrics);
    if (clicked) parts::choose_head(drawing, alike_->head(order_[static_cast<std::size_t>(clicked->first)]));

    // The tree of the clusters: what is joined farther to the right is less alike.
    ImDrawList* list = ImGui::GetWindowDrawList();
    const auto last = ui::cell_rect(grid, metrics, corner, {0, heads - 1}).second;
    const float from = last.x + 10, reach = tree_width - 22;
    double farthest = 0;
    for (const ClusterMerge& merge : merges_) farthest = std::max(farthest, merge.distance);
    struct Node {
        float x, y;
    };
    std::vector<Node> nodes(static_cast<std::size_t>(heads));
    for (Index r = 0; r < heads; ++r) {
        const auto [min, max] = ui::cell_rect(grid, metrics, corner, {r, 0});
        nodes[static_cast<std::size_t>(order_[static_cast<std::size_t>(r)])] = {from, (min.y + max.y) / 2};
    }
    for (const ClusterMerge& merge : merges_) {
        const Node a = nodes[static_cast<std::size_t>(merge.left)],
                   b = nodes[static_cast<std::size_t>(merge.right)];
        const float x =
            from + reach * static_cast<float>(farthest > 0 ? std::max(0.0, merge.distance) / farthest : 0);
        const ImU32 colour = ui::theme().dim;
        list->AddLine({a.x, a.y}, {x, a.y}, colour, 1.3f);
        list->AddLine({b.x, b.y}, {x, b.y}, colour, 1.3f);
        list->AddLine({x, a.y}, {x, b.y}, colour, 1.3f);
        nodes.push_back({x, (a.y + b.y) / 2});
    }
}

void HeadsLens::draw_roles(const Drawing& drawing, Subject& subject, float width) {
    ui::section("What each was measured to do");
    const Layers numbering = subject.attention()->numbering();
    std::vector<ui::Bar> bars;
    for (const Index i : order_) {
        const Role found = role(subject, i);
        bars.push_back({head_text(alike_->head(i), numbering), static_cast<float>(found.score),
                        found.name + " " + written_score(found.score) + " " + found.on,
                        drawing.state().pin == heads_cells::role(i), found.name == "mixed"});
    }
    const auto over = ui::bar_list("heads/role", "What each head was measured to do", width, bars, 1,
                                   ui::sequential_scale(1), bar_name_width);
    if (over) {
        const Index head = order_[static_cast<std::size_t>(*over)];
        ui::bar_tooltip(*over,
                        (capitalised(role(subject, head).measure) + ", " + role(subject, head).on).c_str());
        heads_view::answer(drawing, heads_cells::role(head));
        if (ui::clicked()) parts::choose_head(drawing, alike_->head(head));
    }
    if (copying_ && !copying_->done())
        ui::caption(("Copying is being measured, " + percent(copying_->progress()) + ".").c_str());
}

void HeadsLens::draw_alike(const Drawing& drawing, Subject& subject, float width) {
    if (!similarity() || order_.empty()) {
        ui::caption(("Heads are being compared, " + percent(alike_->progress()) + ".").c_str());
        ui::landmark_item("heads/progress");
        return;
    }
    const Range all = subject.attention()->alike();
    if (now().all_layers && alike_->attentions() != all)
        ui::caption(("There are " + std::to_string(all.size() * subject.attention()->heads()) +
                     " heads, too many for one picture; these are those of the chosen layer.")
                        .c_str());
    const bool beside = width >= ui::two_unequal_columns;
    const float left = beside ? std::floor((width - ui::column_gap) * 0.55f) : width;
    ui::column("alike", left, [&](float w) { draw_similarity(drawing, subject, w); });
    if (beside) ImGui::SameLine(0, ui::column_gap);
    ui::column("roles", beside ? width - left - ui::column_gap : width,
               [&](float w) { draw_roles(drawing, subject, w); });
    ui::caption(("Over " + many(alike_->rows(), "query row") +
                 "; clusters by average linkage, joined farther to the right where they are less alike.")
                    .c_str());
    ui::landmark_item("heads/rows");
}

}  // namespace attn::app
