#include "lenses/places.hpp"

#include <string>

#include "widgets/controls.hpp"

namespace attn::lenses {

namespace {

std::string named(const app::Bookmark& place) {
    const auto ends = [](Range range) {
        return std::to_string(range.begin) + "–" + std::to_string(range.end - 1);
    };
    return std::to_string(place.layer) + "." + std::to_string(place.head) + "  " + ends(place.queries) +
           " × " + ends(place.keys);
}

}  // namespace

void draw_places(const PlacesPart& part, float width) {
    ImGui::PushID("places");
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {8, 4});
    const float right = ImGui::GetCursorScreenPos().x + width;
    const MapWindow in_view = part.map.in_view();
    if (ui::button("places/keep", "Keep this place"))
        part.keep({part.head.layer, part.head.head, part.query_axis.tokens(in_view.queries),
                   part.key_axis.tokens(in_view.keys)});
    ui::tooltip("A bookmark of this head and of the part that is in view; it is in the link too");
    for (std::size_t i = 0; i < part.kept.size(); ++i) {
        const app::Bookmark place = part.kept[i];
        const std::string name = "places/" + std::to_string(i), text = named(place);
        ImGui::PushID(static_cast<int>(i));
        ImGui::SameLine(0, 8);
        if (ImGui::GetCursorScreenPos().x + ui::text_size(text).x + 60 > right) ImGui::NewLine();
        const bool there = place.layer < part.layers && place.head < part.heads &&
                           place.queries.end <= part.queries && place.keys.end <= part.keys;
        if (ui::button(name.c_str(), text.c_str(), there)) {
            part.select_head({place.layer, place.head});
            part.map.show(part.query_axis.shown(place.queries), part.key_axis.shown(place.keys));
        }
        ui::tooltip(there ? "Go there: layer.head, queries × keys"
                          : "There is no such head here, or no such tokens");
        ImGui::SameLine(0, 2);
        const bool removed = ui::button((name + "/remove").c_str(), "×");
        ImGui::PopID();
        if (removed) {
            part.remove(i);
            break;
        }
    }
    ImGui::PopStyleVar();
    ImGui::PopID();
}

}  // namespace attn::lenses
