#include "parts/places.hpp"

#include <string>

#include "widgets/layout.hpp"

namespace attn::parts {

namespace {

std::string named(const app::Bookmark& place) {
    const auto ends = [](Range range) {
        return std::to_string(range.begin) + "–" + std::to_string(range.end - 1);
    };
    return std::to_string(place.layer) + "." + std::to_string(place.head) + "  " + ends(place.queries) +
           " × " + ends(place.keys);
}

}  // namespace

void draw_places(const app::Drawing& drawing, const app::Attention& attention, ui::MapView& map,
                 const app::MapChoice& choice, float width) {
    ImGui::PushID("places");
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {8, 4});
    const float right = ImGui::GetCursorScreenPos().x + width;
    const MapWindow in_view = map.in_view();
    const ShownAxis queries = attention.query_axis(choice), keys = attention.key_axis(choice);
    const app::Selection& s = drawing.selection();
    if (ui::button("places/keep", "Keep this place"))
        drawing.visit.perform(
            app::AddBookmark{{s.layer, s.head, queries.tokens(in_view.queries), keys.tokens(in_view.keys)}});
    ui::tooltip("A bookmark of this head and of the part that is in view; the link includes it");
    // This is a copy, because a button may change the list.
    const std::vector<app::Bookmark> kept = app::looks_of(drawing.state()).bookmarks;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const app::Bookmark& place = kept[i];
        const std::string name = "places/" + std::to_string(i), text = named(place);
        ImGui::PushID(static_cast<int>(i));
        ImGui::SameLine(0, 8);
        if (ImGui::GetCursorScreenPos().x + ui::text_size(text).x + ui::need::icon > right) ImGui::NewLine();
        const bool there = place.layer < attention.layers() && place.head < attention.heads() &&
                           place.queries.end <= attention.queries() && place.keys.end <= attention.keys();
        if (ui::button(name.c_str(), text.c_str(), there)) {
            choose_head(drawing, {place.layer, place.head});
            map.show(queries.shown(place.queries), keys.shown(place.keys));
        }
        ui::tooltip(there ? "Go there: layer.head, queries × keys"
                          : "There is no such head here, or there are no such tokens");
        ImGui::SameLine(0, 2);
        const bool removed = ui::button((name + "/remove").c_str(), "×");
        ImGui::PopID();
        if (removed) {
            drawing.visit.perform(app::RemoveBookmark{i});
            break;
        }
    }
    ImGui::PopStyleVar();
    ImGui::PopID();
}

}  // namespace attn::parts
