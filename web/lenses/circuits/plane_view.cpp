// Draws queries and keys of the present text in one plane, with the exact scores between one query and its
// best keys.
#include <imgui.h>

#include <algorithm>

#include "app/format.hpp"
#include "lenses/circuits/view.hpp"
#include "parts/part.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"
#include "widgets/controls.hpp"
#include "widgets/free_labels.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"

namespace attn::app::circuits {

namespace {

constexpr float dot_radius = 5, plane_reach = 14;
constexpr std::size_t lines_drawn = 5, products_listed = 14;
constexpr Index most_labels = 48;
constexpr const char* point_prefix = "circuits/point/";

// Returns the keys with the highest measures, at most this many.
std::vector<Index> highest(std::vector<Index> keys, std::size_t most, auto&& measure) {
    std::ranges::sort(keys, {}, [&](Index key) { return std::pair(-measure(key), key); });
    keys.resize(std::min(keys.size(), most));
    return keys;
}

void draw_dots(const Scatter& scatter, Range tokens, Index query, const Attention& attention) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ui::SemanticGroup group(ui::Role::listbox, "circuits/points", "Queries");
    for (Index token = tokens.begin; token < tokens.end; ++token) {
        const ImVec2 k = scatter.point({true, token - tokens.begin}),
                     q = scatter.point({false, token - tokens.begin}),
                     min{q.x - dot_radius, q.y - dot_radius}, max{q.x + dot_radius, q.y + dot_radius};
        list->AddRectFilled({k.x - dot_radius + 1, k.y - dot_radius + 1},
                            {k.x + dot_radius - 1, k.y + dot_radius - 1}, key_colour(), 2);
        list->AddCircleFilled(q, dot_radius, query_colour());
        if (token == query) list->AddCircle(q, dot_radius + 3, ui::theme().accent, 0, 2);
        const std::string name = point_prefix + std::to_string(token);
        ui::landmark(name, min, max);
        ui::semantic_place(ui::Role::option, name, "Query of " + query_in_words(attention, token), min, max)
            .on = token == query;
    }
}

// Names the query and its best keys first, then the others if there is room.
void write_names(const Scatter& scatter, Range tokens, Index query, const std::vector<Index>& best,
                 const Attention& attention) {
    ui::FreeLabels labels(scatter.at, {scatter.at.x + scatter.side, scatter.at.y + scatter.side}, dot_radius);
    for (Index i = 0; i < tokens.size(); ++i)
        for (const bool key : {false, true}) labels.keep_free(scatter.point({key, i}));
    const ui::Type small(ui::Face::regular, ui::size_small);
    const auto write = [&](bool key, Index token, ImU32 colour) {
        labels.write(scatter.point({key, token - tokens.begin}), colour,
                     label_at(key ? attention.key_names() : attention.query_names(), token));
    };
    write(false, query, ui::theme().text);
    for (const Index key : best) write(true, key, ui::theme().text);
    if (tokens.size() > most_labels) return;
    for (Index token = tokens.begin; token < tokens.end; ++token)
        for (const bool key : {false, true}) write(key, token, ui::theme().dim);
}

void draw_plane_legend(float width) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ImU32 text = ui::theme().text;
    const ImVec2 line = ImGui::GetCursorScreenPos();
    list->AddCircleFilled({line.x + 6, line.y + 9}, dot_radius, query_colour());
    ui::draw_text(list, {line.x + 16, line.y + 1}, text, "queries");
    const float next = line.x + 32 + ui::text_size("queries").x;
    list->AddRectFilled({next + 2, line.y + 5}, {next + 10, line.y + 13}, key_colour(), 2);
    ui::draw_text(list, {next + 16, line.y + 1}, text, "keys");
    ImGui::Dummy({width, 20});
}

// Returns the query whose lines it draws: the hovered one, or else the given one.
Index draw_points(const Model& model, const Drawing& drawing, Subject& subject, Index query, float width) {
    const Attention& attention = *subject.attention();
    const Range tokens = model.placed->tokens;
    const present::Card card(drawing,
                             {.key = "circuits/plane",
                              .title = "Queries and keys in one plane",
                              .table = [&] { return plane_table(model, subject); },
                              .is_listed = false},
                             width);
    const Scatter scatter(*model.plane(), "circuits/plane", card.width(), plane_reach);
    std::optional<QueryKeyPlane::End> over = scatter.over;
    if (const auto asked = ui::asked_place(point_prefix); asked && tokens.holds(asked->col)) {
        over = {false, asked->col - tokens.begin};
        if (asked->pressed) parts::choose_tokens(drawing, asked->col, std::nullopt);
    }
    if (over && !over->key) query = tokens.begin + over->point;

    const std::vector<float> weights = attention.record(model.head.layer)->weights(model.head.head, query);
    const auto weight_of = [&](Index key) { return weights[static_cast<std::size_t>(key)]; };
    std::vector<Index> seen;
    for (Index key = tokens.begin; key < tokens.end; ++key)
        if (weight_of(key) > 0) seen.push_back(key);
    const std::vector<Index> best = highest(std::move(seen), lines_drawn, weight_of);
    const ImVec2 from = scatter.point({false, query - tokens.begin});
    for (const Index key : best)
        ImGui::GetWindowDrawList()->AddLine(from, scatter.point({true, key - tokens.begin}),
                                            ui::with_alpha(ui::theme().accent, 0.25f + 0.7f * weight_of(key)),
                                            1 + 4 * weight_of(key));
    draw_dots(scatter, tokens, query, attention);
    write_names(scatter, tokens, query, best, attention);
    draw_plane_legend(scatter.side);
    if (!over) return query;
    const Index token = tokens.begin + over->point;
    drawing.now.cell = cells::plane(over->key, 0, token);
    over->key ? drawing.point(std::nullopt, token) : drawing.point(token, std::nullopt);
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (scatter.clicked) {
        present::pin(drawing, *drawing.now.cell);
        if (!over->key) parts::choose_tokens(drawing, token, std::nullopt);
    }
    return query;
}

void draw_products(const Model& model, const Drawing& drawing, Subject& subject, Index query, float width) {
    const Attention& attention = *subject.attention();
    const auto record = attention.record(model.head.layer);
    const Index head = model.head.head;
    const std::vector<float> weights = record->weights(head, query);
    const auto score = [&](Index key) { return record->cell(Stage::scaled, head, query, key); };
    std::vector<Index> keys;
    for (Index key = model.placed->tokens.begin; key < model.placed->tokens.end; ++key)
        if (record->spec().mask.allows(head, query, key)) keys.push_back(key);
    keys = highest(std::move(keys), products_listed, score);
    present::Bars bars{
        .key = "circuits/product",
        .title = "True scores of " + query_in_words(attention, query),
        .value = "weight",
        .cell = [&](Index i) -> CellRef {
            return RunCell{.stage = Stage::scaled, .row = query, .col = keys[static_cast<std::size_t>(i)]};
        }};
    for (const Index key : keys) {
        const float weight = weights[static_cast<std::size_t>(key)];
        bars.bars.push_back(
            {key_in_words(attention, key), weight,
             percent(static_cast<double>(weight)) + "   " + fixed(static_cast<double>(score(key)), 2)});
    }
    draw_bars(drawing, std::move(bars), false, width);
    ui::caption(
        "Bars are weights; beside them is the score that softmax makes each of, q · k with its scale. The "
        "plane leaves out all other directions, so near is not always high.");
}

}  // namespace

void draw_plane(const Model& model, const Drawing& drawing, Subject& subject) {
    if (!model.plane())
        return ui::caption("Queries and keys are placed as soon as the attention is computed.");
    const Range tokens = model.placed->tokens;
    const QueryKeyPlane::Place share = model.plane()->share;
    Index query = std::clamp(chosen_query(subject), tokens.begin, tokens.end - 1);
    const auto draw_left = [&](float w) {
        query = draw_points(model, drawing, subject, query, w);
        std::string told = "The plane of the first two principal components of both, which hold " +
                           percent(share[0]) + " and " + percent(share[1]) +
                           " of their spread. Queries and keys are moved to one mean and brought to one "
                           "spread, which changes no weight.";
        if (tokens.size() < subject.attention()->queries())
            told += " Shown are " + many(tokens.size(), "token") + ", up to the chosen one.";
        ui::caption(told.c_str());
        ui::landmark_item("circuits/plane_told");
    };
    ui::unequal_columns(0.6f, present::card_gap, "circuits/plane", draw_left, "circuits/products",
                        [&](float w) { draw_products(model, drawing, subject, query, w); });
}

}  // namespace attn::app::circuits
