#include "parts/row_bars.hpp"

#include "app/format.hpp"
#include "present/present.hpp"

namespace attn::parts {

float bars_height(Index keys) {
    constexpr float card_room = 64;  // padding and title of the card
    return card_room + ui::bar_list_height(keys);
}

void row_bars(const app::Drawing& drawing, const app::Ladder& ladder, Index usual, Range keys, ImVec2 origin,
              float width) {
    Index query = drawing.pointed.query.value_or(selection_of(drawing).query.value_or(usual));
    if (query >= ladder.queries()) query = usual;
    present::Bars shown{
        .key = "bar",
        .title = "Where “" + ladder.query_name(query) + "” looks",
        .value = "weight",
        .bars = {},
        .cell = [query, keys](Index bar) { return app::RunCell{Stage::weight, query, keys.begin + bar}; }};
    for (Index key = keys.begin; key < keys.end; ++key) {
        const float weight = ladder.weight(query, key);
        shown.bars.push_back({ladder.key_name(key), weight, app::fixed(static_cast<double>(weight), 4)});
    }
    ImGui::SetCursorScreenPos(origin);
    present::bars(drawing, shown, width);
}

}  // namespace attn::parts
