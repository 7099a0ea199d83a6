// The chosen head of a person's own tensors, large.
#include <vector>

#include "lenses/map_controls.hpp"
#include "lenses/places.hpp"
#include "lenses/saving.hpp"
#include "lenses/tensors_view.hpp"
#include "widgets/controls.hpp"
#include "widgets/map_view.hpp"
#include "widgets/scroll.hpp"

namespace attn::lenses {

namespace {

using app::MapStage;

ui::MapView set_map_view;
MapFinder set_finder;
std::uint64_t shown_set = 0;  // its serial

std::vector<MapStage> stages_of(const app::TensorSet& set) {
    std::vector<MapStage> stages;
    for (const MapStage stage :
         {MapStage::raw, MapStage::scaled, MapStage::masked, MapStage::weight, MapStage::contribution})
        if (set.stage_for(stage) == stage) stages.push_back(stage);
    return stages;
}

app::MapChoice choice_of(const TensorsView& view) {
    app::MapChoice choice = view.session.state().tensors.map;
    choice.stage = view.set.stage_for(choice.stage);
    return choice;
}

}  // namespace

void tensors_map(TensorsView& view, float width, float most_height) {
    if (shown_set != view.set.serial()) forget_tensors_map();
    shown_set = view.set.serial();
    const app::Selection& s = view.selection();
    if (const auto changed =
            map_controls(set_map_view, choice_of(view), stages_of(view.set), view.set.has_words()))
        view.session.perform(app::SetTensorMap{*changed}, ui::gesture());
    const app::MapChoice choice = choice_of(view);

    const bool of_words = view.by_words();
    const app::ShownAxis queries = view.queries(), keys = view.keys();
    ui::MapPicture picture{.name = "map",
                           .map = view.set.map(s.layer, s.head, choice),
                           .being_measured = view.set.being_measured(choice.stage),
                           .query_names = queries.names,
                           .key_names = keys.names,
                           .choice = choice};
    if (!picture.map) return ui::caption("The map is shown as soon as the attention is computed.");
    picture.title = map_title(choice.stage);
    // Those that are no weights are shown as what they are: signed numbers, or large ones.
    const bool finished = view.set.finished();
    if (finished && view.set.findings().negative.count > 0) picture.choice.stage = MapStage::raw;
    if (choice.stage == MapStage::weight) picture.decimals = 3;
    // Up to 1, as in every map of weights; but of a map that has none above a tenth little would be seen.
    const float extent = set_map_view.tiles().extent();
    if (choice.stage == MapStage::weight && extent > 0.1f && !(finished && extent > 1)) picture.high = 1;
    const auto query = queries.shown(view.pointed.query), key = keys.shown(view.pointed.key);
    picture.query = query ? query : queries.shown(s.query);
    picture.key = query || key ? key : keys.shown(s.key);
    if (query && key) picture.pointed = ui::MapCell{*query, *key};
    if (const auto& pin = view.session.state().pin; pin && pin->words == of_words)
        picture.pinned = ui::MapCell{pin->row, pin->col};

    const ui::MapTouch touch = set_map_view.draw(picture, width, most_height, app::Deadline(frame_ms));
    const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
    if (touch.more && !view.set.paused()) view.session.continue_with([] { return set_map_view.step(); });
    if (touch.over) {
        const app::CellRef cell{matrix_of(choice.stage), touch.over->query, touch.over->key, false, of_words};
        view.hover.cell = cell;
        view.now = {queries.token(cell.row), keys.token(cell.col)};
        if (touch.clicked) {
            view.session.perform(app::Pin{cell}, ui::gesture());
            view.select(queries.token(cell.row), keys.token(cell.col));
        }
    }
    announce_marked(view.session, set_map_view);
    draw_places(
        PlacesPart{
            .map = set_map_view,
            .head = {s.layer, s.head},
            .layers = view.set.layers(),
            .heads = view.set.heads(),
            .queries = view.set.queries(),
            .keys = view.set.keys(),
            .query_axis = queries,
            .key_axis = keys,
            .kept = view.session.state().tensors.bookmarks,
            .keep = [&](const app::Bookmark& place) { view.session.perform(app::AddTensorBookmark{place}); },
            .remove = [&](std::size_t index) { view.session.perform(app::RemoveTensorBookmark{index}); },
            .select_head = [&](HeadIndex head) { view.select_head(head.layer, head.head); }},
        width);
    if (const auto found = set_finder.draw(set_map_view, picture, width))
        view.select(queries.token(found->query), keys.token(found->key));
    ui::next_control(60);
    const bool wanted = save_menu(view.session, {.view = set_map_view,
                                                 .picture = picture,
                                                 .stage = choice.stage,
                                                 .of_words = of_words,
                                                 .all_heads = [&] { return all_heads(view.set, choice); }});
    if (wanted) ui::scroll_to(min, max);
}

std::optional<double> tensors_map_progress() {
    const Pyramid* pyramid = set_map_view.tiles().pyramid();
    return pyramid && !pyramid->done() ? std::optional(pyramid->progress()) : std::nullopt;
}

void forget_tensors_map() {
    set_map_view.forget_map();
    set_finder = {};
}

}  // namespace attn::lenses
