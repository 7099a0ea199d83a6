// Draws queries and keys of many texts in one plane, with the exact scores between one of them and all
// others.
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/format.hpp"
#include "lenses/circuits/circuits.hpp"
#include "lenses/circuits/view.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "widgets/controls.hpp"
#include "widgets/heatmap.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

using namespace circuits_view;

constexpr float corpus_dot = 2, corpus_reach = 12;
constexpr std::size_t corpus_listed = 12, corpus_lines = 5;

CellRef corpus_cell(const PlaneEnd& end) { return circuits_cells::corpus_plane(end.key, 0, end.point); }

}  // namespace

// Chooses the plane of the present text or of many texts.
void CircuitsLens::draw_plane_controls(Subject& subject) {
    CircuitsState next = now();
    static constexpr std::array<const char*, 2> sources{"this text", "many texts"},
        colours{"query or key", "position"};
    ui::next_control(ui::need::named_choices);
    if (const auto chosen = ui::labelled_choice("of", "circuits/source", sources, next.corpus ? 1 : 0))
        next.corpus = *chosen == 1;
    if (next.corpus) {
        ui::next_control(ui::need::named_choices);
        if (const auto chosen =
                ui::labelled_choice("colour by", "circuits/colour", colours, next.by_position ? 1 : 0))
            next.by_position = *chosen == 1;
    }
    if (next != now())
        set(next);
    else if (next.corpus)
        subject.draw_corpus();
}

// Returns the hovered one.
std::optional<PlaneEnd> CircuitsLens::draw_corpus_points(const Drawing& drawing, Subject& subject,
                                                         const CorpusEnd& pinned, float width) {
    const present::Card card(drawing,
                             {.key = "circuits/corpus",
                              .title = "Queries and keys of many texts in one plane",
                              .table = [&] { return plane_table(subject); },
                              .is_listed = false},
                             width);
    const Scatter scatter(corpus_plane_->plane(), card.width());
    ImGui::InvisibleButton("corpus", {scatter.side, scatter.side});
    ui::landmark_item("circuits/corpus");
    const bool clicked = ImGui::IsItemDeactivated() && !ui::dragged();
    std::optional<CorpusEnd> over;
    if (ImGui::IsItemHovered()) over = scatter.under_cursor(corpus_reach);
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ui::Theme& t = ui::theme();
    const std::vector<CorpusPlane::Point>& points = corpus_plane_->points();
    Index longest = 1;
    for (const CorpusPlane::Point& each : points) longest = std::max(longest, each.token);
    const ui::ColourScale by_position = ui::sequential_scale(static_cast<float>(longest));
    for (const bool key : {true, false})
        for (Index i = 0; i < std::ssize(points); ++i) {
            const ImVec2 p = scatter.point({key, i});
            const auto token = static_cast<float>(points[static_cast<std::size_t>(i)].token);
            const ImU32 colour = now().by_position ? by_position.colour(token)
                                 : key             ? key_colour()
                                                   : query_colour();
            // Squares are faster than circles, and look the same in a crowd of thousands.
            list->AddRectFilled({p.x - corpus_dot, p.y - corpus_dot}, {p.x + corpus_dot, p.y + corpus_dot},
                                ui::with_alpha(colour, 0.75f));
        }
    const ImVec2 from = scatter.point(pinned);
    const std::vector<Index> best = corpus_best(pinned);
    for (std::size_t i = 0; i < std::min(best.size(), corpus_lines); ++i)
        list->AddLine(from, scatter.point({!pinned.key, best[i]}), ui::with_alpha(t.accent, 0.6f), 1.5f);
    list->AddCircle(from, 5, t.accent, 0, 2);
    if (!over) return over;
    list->AddCircle(scatter.point(*over), 5, t.text, 0, 1.5f);
    drawing.now.cell = corpus_cell(*over);
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    std::string told = corpus_name(subject, *over);
    if (over->key != pinned.key)
        told += "\nscore with the " + std::string(pinned.key ? "key" : "query") + " of " +
                corpus_word(subject, pinned) + ": " + fixed(corpus_score(pinned, over->point), 3);
    ui::tooltip_at_cursor(told.c_str());
    if (clicked) present::pin(drawing, corpus_cell(*over));
    return over;
}

void CircuitsLens::draw_corpus_plane(const Drawing& drawing, Subject& subject) {
    const CorpusRun* texts = subject.corpus();
    if (!texts || !corpus_plane_ || !corpus_plane_->done()) return;
    const CorpusPlane& shown = *corpus_plane_;
    const QueryKeyPlane& plane = shown.plane();
    const auto count = std::ssize(shown.points());
    const CorpusEnd pinned = corpus_end();
    static constexpr std::array<const char*, 2> ends{"query", "key"};
    ui::next_control(ui::need::choices);
    if (const auto chosen = ui::choice("circuits/corpus_end", ends, pinned.key ? 1 : 0))
        present::pin(drawing, corpus_cell({*chosen == 1, pinned.point}));
    ui::next_control(ui::need::stepper);
    if (const auto point = ui::stepper("circuits/corpus_point", "token", pinned.point, 0, count - 1))
        present::pin(drawing, corpus_cell({pinned.key, *point}));
    std::optional<CorpusEnd> over;
    const auto draw_left = [&](float w) {
        over = draw_corpus_points(drawing, subject, pinned, w);
        ui::caption(
            ("The plane of the first two principal components of both, which hold " +
             percent(plane.share[0]) + " and " + percent(plane.share[1]) + " of their spread; " +
             (now().by_position ? "darker is earlier in its text" : "queries are blue and keys are orange") +
             ". Placed are " + many(count, "token") + " of " + with_commas(shown.tokens()) +
             (count < shown.tokens() ? ", drawn with seed " + std::to_string(texts->seed()) : "") + ".")
                .c_str());
        ui::landmark_item("circuits/corpus_told");
    };
    ui::unequal_columns(
        0.6f, present::card_gap, "circuits/corpus", draw_left, "circuits/corpus_products", [&](float w) {
            draw_corpus_products(drawing, subject, over && over->key == pinned.key ? *over : pinned, w);
        });
}

void CircuitsLens::draw_corpus_products(const Drawing& drawing, Subject& subject, const CorpusEnd& of,
                                        float width) {
    const std::vector<Index> best = corpus_best(of);
    const std::vector<Index> near = corpus_nearest(of);
    std::vector<ui::Bar> bars;
    float most = 0;
    const auto listed = std::min(best.size(), corpus_listed);
    for (std::size_t i = 0; i < listed; ++i) {
        const double score = corpus_score(of, best[i]);
        most = std::max(most, std::abs(static_cast<float>(score)));
        const auto rank = std::ranges::find(near, best[i]) - near.begin() + 1;
        bars.push_back({corpus_word(subject, {!of.key, best[i]}), static_cast<float>(score),
                        fixed(score, 2) + "   " + std::to_string(rank) + ". in the plane", false, false});
    }
    present::bars(
        drawing,
        {.key = "circuits/corpus_product",
         .title = "True scores of the " + corpus_name(subject, of),
         .value = "score",
         .bars = bars,
         .most = most,
         .scale = ui::diverging_scale(most),
         .most_name = list_name_width,
         .cell = [&](Index i) { return corpus_cell({!of.key, best[static_cast<std::size_t>(i)]}); }},
        width);
    ui::caption(
        ("q · k with its scale, of any two tokens of the texts, whether or not one sees the other. The " +
         std::string(of.key ? "query" : "key") + " that is nearest in the plane is that of " +
         corpus_word(subject, {!of.key, near.front()}) + ", with " +
         fixed(corpus_score(of, near.front()), 2) + ".")
            .c_str());
    ui::landmark_item("circuits/corpus_nearest");
}

}  // namespace attn::app
