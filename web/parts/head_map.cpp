#include "parts/head_map.hpp"

#include "present/present.hpp"

namespace attn::parts {

void HeadMap::draw(const app::Drawing& drawing, app::Attention& run, HeadIndex head, const char* name,
                   float width, float height) {
    const bool chosen = head == app::subject_in(drawing.visit).chosen_head();
    const app::Selection s = selection_of(drawing);
    ui::MapPicture picture{.name = name,
                           .map = run.map(head.layer, head.head, {}),
                           .query_names = run.query_names(),
                           .key_names = run.key_names(),
                           .choice = {},
                           .title = "weight",
                           .high = 1};
    const bool pointed = drawing.pointed.head ? drawing.pointed.head == head : chosen;
    if (pointed && (drawing.pointed.query || drawing.pointed.key)) {
        picture.query = drawing.pointed.query;
        picture.key = drawing.pointed.key;
        if (picture.query && picture.key) picture.pointed = ui::MapCell{*picture.query, *picture.key};
    } else if (chosen) {
        picture.query = s.query;
        picture.key = s.key;
    }
    if (picture.query && *picture.query >= run.queries()) picture.query.reset();
    if (picture.key && *picture.key >= run.keys()) picture.key.reset();
    if (const auto& pin = drawing.state().pin;
        chosen && pin && pin->is(Stage::weight) && pin->run()->is_plain())
        picture.pinned = ui::MapCell{pin->run()->row, pin->run()->col};
    const ui::MapTouch touch = view_.draw(picture, width, height, drawing.deadline);
    if (touch.more) drawing.visit.continue_with([this] { return view_.step(); });
    if (!touch.over) return;
    const app::RunCell cell{.stage = Stage::weight, .row = touch.over->query, .col = touch.over->key};
    drawing.point(cell.row, cell.col);
    drawing.now.cell = cell;
    drawing.now.head = head;
    clicks_.answer(drawing, touch, [&] {
        choose_head(drawing, head);
        present::pin(drawing, cell);
        choose_tokens(drawing, cell.row, cell.col);
    });
}

}  // namespace attn::parts
