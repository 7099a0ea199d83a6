#include "parts/part.hpp"

#include <algorithm>

namespace attn::parts {

void choose_head(const app::Drawing& drawing, HeadIndex head) {
    app::Selection selection = selection_of(drawing);
    selection.layer = head.layer;
    selection.head = head.head;
    drawing.visit.perform(app::Select{selection}, ui::gesture());
}

void choose_tokens(const app::Drawing& drawing, std::optional<Index> query, std::optional<Index> key) {
    app::Selection selection = selection_of(drawing);
    if (selection.query != query) selection.counterpart.reset();
    selection.query = query;
    selection.key = key;
    drawing.visit.perform(app::Select{selection}, ui::gesture());
}

void MapClicks::take_back(const app::Drawing& drawing) {
    if (!before_) return;
    drawing.visit.perform(app::Pin{before_->pin}, ui::gesture());
    drawing.visit.perform(app::Select{before_->selection}, ui::gesture());
    before_.reset();
}

std::optional<Index> looked_query(const app::Drawing& drawing, const app::Attention& attention) {
    const auto there = [&](std::optional<Index> query) { return query && *query < attention.queries(); };
    if (there(drawing.pointed.query)) return drawing.pointed.query;
    if (there(selection_of(drawing).query)) return selection_of(drawing).query;
    return attention.trace() ? std::optional(attention.predicted()) : std::nullopt;
}

std::optional<Index> looked_key(const app::Drawing& drawing) {
    const bool pointed = drawing.pointed.query || drawing.pointed.key;
    return pointed ? drawing.pointed.key : selection_of(drawing).key;
}

ui::ColourScale weight_scale(const app::Attention& attention, float extent) {
    if (attention.has_negative_weights()) return ui::diverging_scale(extent);
    return ui::sequential_scale(attention.finished() ? std::max(extent, 1.0f) : 1);
}

}  // namespace attn::parts
