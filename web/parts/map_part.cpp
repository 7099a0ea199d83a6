#include "parts/map_part.hpp"

#include <utility>

#include "app/stage_words.hpp"
#include "parts/places.hpp"
#include "parts/save_menu.hpp"
#include "present/present.hpp"
#include "widgets/layout.hpp"
#include "widgets/scroll.hpp"

namespace attn::parts {

void MapPart::draw(const app::Drawing& drawing, app::Attention& attention, float width, float most_height) {
    const app::Selection s = selection_of(drawing);
    app::MapChoice choice = app::looks_of(drawing.state()).map;
    choice.stage = attention.stage_for(choice.stage);
    const auto change = [&](std::optional<app::MapChoice> changed) {
        if (!changed) return;
        drawing.visit.perform(app::SetMap{*changed}, ui::gesture());
        choice = *std::move(changed);
    };
    change(map_controls(view_, choice, attention.stages()));
    change(units_.draw(drawing, attention, choice));
    const Unit unit = attention.unit_of(choice);
    const app::HeadMean mean = attention.mean_of(choice);
    const ShownAxis queries = attention.query_axis(choice), keys = attention.key_axis(choice);
    ui::MapPicture picture{.name = "map",
                           .map = attention.map(s.layer, s.head, choice),
                           .being_measured = attention.being_measured(choice.stage),
                           .kept = kept_since_last(attention, {s.layer, s.head}, choice),
                           .query_names = queries.names,
                           .key_names = keys.names,
                           .choice = choice};
    if (!picture.map) return ui::caption("The map is shown as soon as the attention is computed.");
    picture.title = app::value_name(choice.stage);
    // A file's numbers that cannot be weights, because they are signed or large, are shown as they are.
    if (attention.has_negative_weights()) picture.choice.stage = Stage::raw;
    if (choice.stage == Stage::weight) {
        picture.decimals = 3;
        // The scale goes up to 1, as on every map of weights, unless no weight exceeds 0.1: then little would
        // be visible.
        const float extent = view_.tiles().extent();
        const bool faint = extent > 0 && extent <= 0.1f, beyond = attention.finished() && extent > 1;
        if (!faint && !beyond) picture.high = 1;
    }
    picture.query = queries.shown(looked_query(drawing, attention));
    picture.key = keys.shown(looked_key(drawing));
    const auto query = queries.shown(drawing.pointed.query), key = keys.shown(drawing.pointed.key);
    if (query && key) picture.pointed = ui::MapCell{*query, *key};
    if (const auto& pinned = drawing.state().pin;
        pinned && pinned->unit() == unit && pinned->mean() == mean && !pinned->second()) {
        if (const app::RunCell* cell = pinned->run(); cell && is_of_pairs(cell->stage))
            picture.pinned = ui::MapCell{cell->row, cell->col};
        if (const app::MapSum* sum = pinned->sum(); sum && (sum->is_of_row() || sum->is_of_column()))
            picture.pinned_margin = ui::MarginCell{sum->is_of_row(), sum->at};
    }

    const bool told = follow_view(drawing, *picture.map);
    follow_mark(drawing, *picture.map);
    const ui::MapTouch touch = view_.draw(picture, width, most_height, drawing.deadline);
    if (picture.being_measured) attention.make_while_measuring(view_.tiles().pyramid());
    const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
    keep_view(drawing, touch, told);
    if (touch.more && !attention.paused()) drawing.visit.continue_with([this] { return view_.step(); });
    const bool sinkless = choice.sink != Sink::shown && !is_signed(choice.stage);
    const Sink sink = sinkless ? choice.sink : Sink::shown;
    if (touch.over) {
        const app::RunCell cell{choice.stage, touch.over->query, touch.over->key, false, unit, sink, mean};
        drawing.point(queries.token(cell.row), keys.token(cell.col));
        drawing.now.cell = cell;
        clicks_.answer(drawing, touch, [&] {
            present::pin(drawing, cell);
            choose_tokens(drawing, queries.token(cell.row), keys.token(cell.col));
        });
    }
    // Sums are numbers with explanations, too.
    const auto sum = [&](app::MapTotal total, Index at, bool clicked) {
        const app::MapSum cell{total, at, choice.stage, false, unit, sink, mean};
        drawing.now.cell = cell;
        if (clicked) present::pin(drawing, cell);
    };
    if (const auto& margin = touch.margin.over) {
        const app::MapTotal of_row =
            choice.stage == Stage::weight ? app::MapTotal::row_entropy : app::MapTotal::row_total;
        sum(margin->of_row ? of_row : app::MapTotal::column_total, margin->at, touch.margin.clicked);
        margin->of_row ? drawing.point(queries.token(margin->at), std::nullopt)
                       : drawing.point(std::nullopt, keys.token(margin->at));
    }
    announce_marked(drawing.visit);
    draw_places(drawing, attention, view_, choice, width);
    const MapFinder::Touch found = finder_.draw(view_, picture, width);
    if (found.gone) choose_tokens(drawing, queries.token(found.gone->query), keys.token(found.gone->key));
    keep_mark(drawing);
    if (found.over_sums) sum(app::MapTotal::marked_total, 0, found.sums_clicked);
    ui::next_control(ui::need::icon);
    if (save_menu(drawing.visit, {view_, picture, attention, choice})) ui::scroll_to(min, max);
}

Index MapPart::kept_since_last(const app::Attention& attention, HeadIndex head,
                               const app::MapChoice& choice) {
    const Shown before = std::exchange(last_, {attention.version(), head, choice});
    const bool same = before.head == head && before.choice == choice;
    return same ? attention.kept_since(before.version, attention.unit_of(choice)) : 0;
}

std::optional<double> MapPart::progress() const {
    const auto& pyramid = view_.tiles().pyramid();
    return pyramid && !pyramid->done() ? std::optional(pyramid->progress()) : std::nullopt;
}

void MapPart::forget() {
    view_.forget_map();
    finder_ = {};
}

// Shows the State's view if it has changed. A view from a link waits for the map that the link refers to,
// which may be computed after another.
bool MapPart::follow_view(const app::Drawing& drawing, const Map& map) {
    const auto& view = app::looks_of(drawing.state()).view;
    const bool resized = std::exchange(size_, {map.queries(), map.keys()}) != size_;
    if (view == shown_.of_state && !(resized && view && shown_.given)) return false;
    view ? view_.show(*view) : view_.show_all();
    shown_ = InView{view, true};
    return true;
}

// Stores the part that the user moved into view in the State, once the button is released.
void MapPart::keep_view(const app::Drawing& drawing, const ui::MapTouch& touch, bool told) {
    if (told) return;
    shown_.moving |= touch.moved;
    if (!touch.reset && (!shown_.moving || ImGui::IsMouseDown(ImGuiMouseButton_Left))) return;
    const auto now = view_.zoomed() ? std::optional(app::rounded(view_.view())) : std::nullopt;
    const bool moved = std::exchange(shown_, InView{now}).moving;
    if (moved)
        drawing.visit.perform(app::ShowWindow{now}, ui::gesture());
    else
        drawing.visit.settle(app::ShowWindow{now});
}

// Marks the part that the State names, if the map has it.
void MapPart::follow_mark(const app::Drawing& drawing, const Map& map) {
    const auto& marked = app::looks_of(drawing.state()).marked;
    const bool fits = marked && marked->queries.end <= map.queries() && marked->keys.end <= map.keys();
    const auto shown = fits ? marked : std::nullopt;
    if (shown == marked_) return;
    shown ? view_.brush({shown->queries, shown->keys}) : view_.forget_brush();
    marked_ = shown;
}

// Stores the part that the user marked in the State.
void MapPart::keep_mark(const app::Drawing& drawing) {
    if (ImGui::IsMouseDown(ImGuiMouseButton_Left)) return;
    const auto& brushed = view_.brushed();
    const auto now = brushed ? std::optional(app::Window{brushed->queries, brushed->keys}) : std::nullopt;
    if (now == marked_) return;
    marked_ = now;
    drawing.visit.perform(app::MarkPart{now}, ui::gesture());
}

// Announces the sums of the marked part to screen readers.
void MapPart::announce_marked(app::Visit& visit) {
    std::string sums = marked_part(view_);
    if (sums == announced_) return;
    if (!sums.empty()) visit.announce(sums);
    announced_ = std::move(sums);
}

}  // namespace attn::parts
