// The chosen head large.
#include <algorithm>
#include <array>

#include "app/map_source.hpp"
#include "lenses/map_controls.hpp"
#include "lenses/places.hpp"
#include "lenses/saving.hpp"
#include "widgets/controls.hpp"
#include "widgets/map_view.hpp"
#include "widgets/scroll.hpp"

namespace attn::lenses {

namespace {

using app::MapStage;

ui::MapView map_view;
MapFinder finder;

// The map of the present choice, which is the same object as long as the choice is the same.
struct KeptMap {
    std::shared_ptr<const Trace> trace;
    Index layer = 0, head = 0;
    MapStage stage = MapStage::weight;
    app::Sink sink = app::Sink::shown;
    bool words = false;
    MapPointer map;
};
KeptMap kept_map;

const MapPointer& map_of(const SentenceView& view, const app::MapChoice& choice) {
    const app::Selection& s = view.selection();
    const auto& trace = view.run.trace;
    const bool words = view.by_words();
    if (!kept_map.map || kept_map.trace != trace || kept_map.layer != s.layer || kept_map.head != s.head ||
        kept_map.stage != choice.stage || kept_map.sink != choice.sink || kept_map.words != words)
        kept_map = {trace,
                    s.layer,
                    s.head,
                    choice.stage,
                    choice.sink,
                    words,
                    words ? app::word_map_of(trace, s.layer, s.head, view.run.words.tokens, choice.sink)
                          : app::map_of(trace, s.layer, s.head, choice.stage, choice.sink)};
    return kept_map.map;
}

// Those that say something else than the one before.
std::vector<MapStage> stages_of(const AttentionSpec& spec) {
    std::vector<MapStage> stages{MapStage::raw, MapStage::scaled};
    if (spec.softcap > 0) stages.push_back(MapStage::capped);
    if (!spec.bias.empty()) stages.push_back(MapStage::masked);
    stages.insert(stages.end(), {MapStage::weight, MapStage::contribution, MapStage::projected});
    return stages;
}

void sentence_places(SentenceView& view, const app::ShownAxis& axis, float width) {
    const app::Selection& s = view.selection();
    draw_places(
        PlacesPart{.map = map_view,
                   .head = {s.layer, s.head},
                   .layers = std::ssize(view.run.trace->layers()),
                   .heads = view.record().heads(),
                   .queries = view.tokens(),
                   .keys = view.tokens(),
                   .query_axis = axis,
                   .key_axis = axis,
                   .kept = view.session.state().sentence.bookmarks,
                   .keep = [&](const app::Bookmark& place) { view.session.perform(app::AddBookmark{place}); },
                   .remove = [&](std::size_t index) { view.session.perform(app::RemoveBookmark{index}); },
                   .select_head = [&](HeadIndex head) { view.select_head(head.layer, head.head); }},
        width);
}

}  // namespace

void sentence_map(SentenceView& view, float width, float most_height) {
    const app::MapChoice choice = view.session.state().sentence.map;
    if (const auto changed =
            map_controls(map_view, choice, stages_of(view.record().spec()), view.run.words.merges()))
        view.session.perform(app::SetMap{*changed}, ui::gesture());

    const bool of_words = view.by_words();
    const app::ShownAxis axis = view.axis();
    ui::MapPicture picture{.name = "map",
                           .map = map_of(view, choice),
                           .query_names = axis.names,
                           .key_names = axis.names,
                           .choice = choice};
    picture.title = map_title(choice.stage);
    if (choice.stage == MapStage::weight) picture.high = 1, picture.decimals = 3;
    picture.query = axis.shown(view.query());
    picture.key = axis.shown(view.key());
    if (const auto& pin = view.session.state().pin;
        pin && app::is_stage(pin->matrix) && pin->words == of_words)
        picture.pinned = ui::MapCell{pin->row, pin->col};
    const auto query = axis.shown(view.pointed.query), key = axis.shown(view.pointed.key);
    if (query && key) picture.pointed = ui::MapCell{*query, *key};

    const ui::MapTouch touch = map_view.draw(picture, width, most_height, view.deadline);
    const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
    if (touch.more) view.session.continue_with([] { return map_view.step(); });
    if (touch.over) {
        const app::CellRef cell{matrix_of(choice.stage), touch.over->query, touch.over->key, false, of_words};
        view.point(axis.token(cell.row), axis.token(cell.col));
        view.hover.cell = cell;
        if (touch.clicked) {
            view.session.perform(app::Pin{cell}, ui::gesture());
            view.select(axis.token(cell.row), axis.token(cell.col));
        }
    }
    announce_marked(view.session, map_view);
    sentence_places(view, axis, width);
    if (const auto found = finder.draw(map_view, picture, width))
        view.select(axis.token(found->query), axis.token(found->key));
    ui::next_control(60);
    const bool wanted = save_menu(
        view.session,
        {.view = map_view, .picture = picture, .stage = choice.stage, .of_words = of_words, .all_heads = [&] {
             return all_heads(view.run, choice, view.session.model_name());
         }});
    if (wanted) ui::scroll_to(min, max);
}

}  // namespace attn::lenses
