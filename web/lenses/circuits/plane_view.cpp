// Draws queries and keys of the text in view in one plane, with the true products of one query and its best keys.
#include <imgui.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "lenses/circuits/circuits.hpp"
#include "lenses/circuits/view.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"

namespace attn::app {

namespace {

using namespace circuits_view;

constexpr float dot_radius = 5, plane_reach = 14;
constexpr Index lines_drawn = 5, most_labels = 48;

// Words on the plane, where nothing else was written.
class PlaneLabels {
  public:
    void keep_free(ImVec2 at) {
        taken_.emplace_back(ImVec2{at.x - dot_radius, at.y - dot_radius},
                            ImVec2{at.x + dot_radius, at.y + dot_radius});
    }
    void write(ImVec2 at, ImVec2 low, ImVec2 high, ImU32 colour, const std::string& text) {
        const ImVec2 size = ui::text_size(text);
        ImVec2 min{at.x + dot_radius + 3, at.y - size.y / 2};
        if (min.x + size.x > high.x) min.x = at.x - dot_radius - 3 - size.x;
        const ImVec2 max{min.x + size.x, min.y + size.y};
        if (min.x < low.x || min.y < low.y || max.y > high.y) return;
        for (const auto& [a, b] : taken_)
            if (min.x < b.x && a.x < max.x && min.y < b.y && a.y < max.y) return;
        taken_.emplace_back(min, max);
        ImGui::GetWindowDrawList()->AddRectFilled({min.x - 1, min.y}, {max.x + 1, max.y},
                                                  ui::with_alpha(ui::theme().background, 0.8f), 3);
        ui::draw_text(ImGui::GetWindowDrawList(), min, colour, text);
    }

  private:
    std::vector<std::pair<ImVec2, ImVec2>> taken_;
};

}  // namespace

void CircuitsLens::draw_plane(const Drawing& drawing, Subject& subject) {
    if (now().corpus) return draw_corpus_plane(drawing, subject);
    if (!plane_) return ui::caption("Queries and keys are placed as soon as the attention is computed.");
    const Attention& attention = *subject.attention();
    const QueryKeyPlane& plane = *this->plane();
    const Range tokens = plane_->tokens;
    const auto record = attention.record(head_.layer);
    const float width = ImGui::GetContentRegionAvail().x;
    const bool beside = width >= ui::two_unequal_columns;
    const float left = beside ? std::floor((width - present::card_gap) * 0.6f) : width;
    const auto at_token = [&](Index token) { return static_cast<std::size_t>(token - tokens.begin); };
    Index query = std::clamp(chosen_query(subject), tokens.begin, tokens.end - 1);

    const auto draw_points = [&](float w) {
        const present::Card card(drawing,
                                 {.key = "circuits/plane",
                                  .title = "Queries and keys in one plane",
                                  .table = [&] { return plane_table(subject); },
                                  .is_listed = false},
                                 w);
        Scatter scatter{ImGui::GetCursorScreenPos(), std::min(card.width(), most_side)};
        scatter.take(plane.queries);
        scatter.take(plane.keys);
        ImGui::InvisibleButton("plane", {scatter.side, scatter.side});
        ui::landmark_item("circuits/plane");
        const ImVec2 low = scatter.at, high{low.x + scatter.side, low.y + scatter.side},
                     mouse = ImGui::GetMousePos();
        std::optional<Index> over, over_key;
        if (ImGui::IsItemHovered()) {
            float nearest = plane_reach;
            const auto near = [&](const QueryKeyPlane::Place& place, Index token, bool of_key) {
                const ImVec2 p = scatter.point(place);
                const float away = std::hypot(p.x - mouse.x, p.y - mouse.y);
                if (away >= nearest) return;
                nearest = away;
                over = of_key ? std::nullopt : std::optional(token);
                over_key = of_key ? std::optional(token) : std::nullopt;
            };
            for (Index token = tokens.begin; token < tokens.end; ++token) {
                near(plane.keys[at_token(token)], token, true);
                near(plane.queries[at_token(token)], token, false);
            }
        }
        const std::string prefix = "circuits/point/";
        if (const auto asked = ui::asked_place(prefix);
            asked && asked->col >= tokens.begin && asked->col < tokens.end) {
            over = asked->col;
            if (asked->pressed) parts::choose_tokens(drawing, over, std::nullopt);
        }
        const bool clicked = ImGui::IsItemDeactivated() && !ui::dragged();
        if (over) query = *over;

        ImDrawList* list = ImGui::GetWindowDrawList();
        const ui::Theme& t = ui::theme();
        const std::vector<float> weights = record->weights(head_.head, query);
        std::vector<Index> best;
        for (Index key = tokens.begin; key < tokens.end; ++key)
            if (weights[static_cast<std::size_t>(key)] > 0) best.push_back(key);
        std::ranges::sort(best, {},
                          [&](Index key) { return std::pair(-weights[static_cast<std::size_t>(key)], key); });
        best.resize(std::min(best.size(), static_cast<std::size_t>(lines_drawn)));
        const ImVec2 from = scatter.point(plane.queries[at_token(query)]);
        for (const Index key : best) {
            const float weight = weights[static_cast<std::size_t>(key)];
            list->AddLine(from, scatter.point(plane.keys[at_token(key)]),
                          ui::with_alpha(t.accent, 0.25f + 0.7f * weight), 1 + 4 * weight);
        }
        const ui::SemanticGroup group(ui::Role::listbox, "circuits/points", "Queries");
        for (Index token = tokens.begin; token < tokens.end; ++token) {
            const ImVec2 k = scatter.point(plane.keys[at_token(token)]),
                         q = scatter.point(plane.queries[at_token(token)]);
            list->AddRectFilled({k.x - dot_radius + 1, k.y - dot_radius + 1},
                                {k.x + dot_radius - 1, k.y + dot_radius - 1}, key_colour(), 2);
            list->AddCircleFilled(q, dot_radius, query_colour());
            if (token == query) list->AddCircle(q, dot_radius + 3, t.accent, 0, 2);
            const std::string name = prefix + std::to_string(token);
            ui::landmark(name, {q.x - dot_radius, q.y - dot_radius}, {q.x + dot_radius, q.y + dot_radius});
            ui::semantic_place(ui::Role::option, name, "Query of " + query_in_words(attention, token),
                               {q.x - dot_radius, q.y - dot_radius}, {q.x + dot_radius, q.y + dot_radius})
                .on = token == query;
        }
        PlaneLabels labels;
        for (Index token = tokens.begin; token < tokens.end; ++token) {
            labels.keep_free(scatter.point(plane.queries[at_token(token)]));
            labels.keep_free(scatter.point(plane.keys[at_token(token)]));
        }
        ui::Type small(ui::Face::regular, ui::size_small);
        labels.write(from, low, high, t.text, label_at(attention.query_names(), query));
        for (const Index key : best)
            labels.write(scatter.point(plane.keys[at_token(key)]), low, high, t.text,
                         label_at(attention.key_names(), key));
        if (tokens.size() <= most_labels)
            for (Index token = tokens.begin; token < tokens.end; ++token) {
                labels.write(scatter.point(plane.queries[at_token(token)]), low, high, t.dim,
                             label_at(attention.query_names(), token));
                labels.write(scatter.point(plane.keys[at_token(token)]), low, high, t.dim,
                             label_at(attention.key_names(), token));
            }
        // The legend.
        const ImVec2 line = ImGui::GetCursorScreenPos();
        list->AddCircleFilled({line.x + 6, line.y + 9}, dot_radius, query_colour());
        ui::draw_text(list, {line.x + 16, line.y + 1}, t.text, "queries");
        const float next = line.x + 32 + ui::text_size("queries").x;
        list->AddRectFilled({next + 2, line.y + 5}, {next + 10, line.y + 13}, key_colour(), 2);
        ui::draw_text(list, {next + 16, line.y + 1}, t.text, "keys");
        ImGui::Dummy({scatter.side, 20});
        if (over || over_key) {
            const Index token = over ? *over : *over_key;
            drawing.now.cell = circuits_cells::plane(!over, 0, token);
            over ? drawing.point(token, std::nullopt) : drawing.point(std::nullopt, token);
            ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
            if (clicked) {
                present::pin(drawing, *drawing.now.cell);
                if (over) parts::choose_tokens(drawing, over, std::nullopt);
            }
        }
    };
    ui::column("circuits/plane", left, [&](float w) {
        draw_points(w);
        std::string told =
            "The plane of the first two principal components of both, which hold " + percent(plane.share[0]) +
            " and " + percent(plane.share[1]) +
            " of their spread. Queries and keys are moved to one mean and brought to one spread, which "
            "changes no weight.";
        if (tokens.size() < attention.queries())
            told += " Shown are " + many(tokens.size(), "token") + ", up to the chosen one.";
        ui::caption(told.c_str());
        ui::landmark_item("circuits/plane_told");
    });
    if (beside) ImGui::SameLine(0, present::card_gap);
    ui::column("circuits/products", beside ? width - left - present::card_gap : width, [&](float w) {
        const std::vector<float> weights = record->weights(head_.head, query);
        std::vector<Index> keys;
        for (Index key = tokens.begin; key < tokens.end; ++key)
            if (record->spec().mask.allows(head_.head, query, key)) keys.push_back(key);
        const auto score = [&](Index key) { return record->cell(Stage::scaled, head_.head, query, key); };
        std::ranges::sort(keys, {}, [&](Index key) { return std::pair(-score(key), key); });
        constexpr std::size_t listed = 14;
        keys.resize(std::min(keys.size(), listed));
        std::vector<ui::Bar> bars;
        float most = 0;
        for (const Index key : keys) {
            const float weight = weights[static_cast<std::size_t>(key)];
            most = std::max(most, weight);
            bars.push_back(
                {key_in_words(attention, key), weight,
                 percent(static_cast<double>(weight)) + "   " + fixed(static_cast<double>(score(key)), 2),
                 false, false});
        }
        present::bars(drawing,
                      {.key = "circuits/product",
                       .title = "True scores of " + query_in_words(attention, query),
                       .value = "weight",
                       .bars = bars,
                       .most = most,
                       .scale = ui::sequential_scale(most),
                       .most_name = list_name_width,
                       .cell =
                           [&](Index i) {
                               return CellRef{.stage = Stage::scaled,
                                              .row = query,
                                              .col = keys[static_cast<std::size_t>(i)]};
                           }},
                      w);
        ui::caption(
            "Bars are weights; beside them is the score that softmax makes each of, q · k with its scale. "
            "The "
            "plane leaves out all other directions, so near is not always high.");
    });
}

}  // namespace attn::app
