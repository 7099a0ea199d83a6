#include "parts/places.hpp"

#include <string>

#include "app/format.hpp"
#include "subjects/subject.hpp"
#include "widgets/controls.hpp"
#include "widgets/layout.hpp"

namespace attn::parts {

namespace {

std::string named(const app::Bookmark& place, const app::Attention& attention) {
    const auto ends = [](Range range) {
        return std::to_string(range.begin) + "–" + std::to_string(range.end - 1);
    };
    const std::string head = attention.layers() > 1
                                 ? attention.numbering().short_head({place.layer, place.head})
                                 : std::to_string(place.layer) + "." + std::to_string(place.head);
    return "head " + head + "  " + ends(place.queries) + " × " + ends(place.keys);
}

// Describes the place for screen readers: "layer 3, head 0: from “It” to “tired”, looking at “The” to
// “street”".
std::string told(const app::Bookmark& place, const app::Attention& attention) {
    const auto ends = [](Range range, const std::vector<std::string>& names) {
        const auto name = [&](Index i) {
            return i < std::ssize(names) ? app::curly_quoted(names[static_cast<std::size_t>(i)])
                                         : std::to_string(i);
        };
        return name(range.begin) + " to " + name(range.end - 1);
    };
    const std::string head = attention.numbering().name(place.layer) + ", head " + std::to_string(place.head);
    return "Go to " + head + ": " + ends(place.queries, attention.query_names()) + ", looking at " +
           ends(place.keys, attention.key_names());
}

}  // namespace

void draw_places(const app::Drawing& drawing, const app::Attention& attention, ui::MapView& map,
                 const app::MapChoice& choice, float width) {
    ImGui::PushID("places");
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({8, 4}));
    const float right = ImGui::GetCursorScreenPos().x + width;
    const MapWindow in_view = map.in_view();
    const ShownAxis queries = attention.query_axis(choice), keys = attention.key_axis(choice);
    const app::Selection s = selection_of(drawing);
    if (ui::button("places/keep", "Keep this place"))
        drawing.visit.perform(
            app::AddBookmark{{s.layer, s.head, queries.tokens(in_view.queries), keys.tokens(in_view.keys)}});
    ui::tooltip("A bookmark of this head and of the part that is in view; the link includes it");
    // A copy, because a button may change the list.
    const std::vector<app::Bookmark> kept = app::looks_of(drawing.state()).bookmarks;
    for (std::size_t i = 0; i < kept.size(); ++i) {
        const app::Bookmark& place = kept[i];
        const std::string name = "places/" + std::to_string(i), text = named(place, attention);
        ImGui::PushID(static_cast<int>(i));
        ImGui::SameLine(0, 8);
        if (ImGui::GetCursorScreenPos().x + ui::text_size(text).x + ui::need::icon > right) ImGui::NewLine();
        const app::Attention& of = *app::subject_in(drawing.visit).attention_of(place.layer);
        const bool there = place.layer < of.layers() && place.head < of.heads() &&
                           place.queries.end <= of.queries() && place.keys.end <= of.keys();
        if (ui::button(name.c_str(), text.c_str(), there)) {
            choose_head(drawing, {place.layer, place.head});
            map.show(of.query_axis(choice).shown(place.queries), of.key_axis(choice).shown(place.keys));
        }
        ui::tooltip(there ? told(place, of).c_str() : "The head or the tokens do not exist here");
        ImGui::SameLine(0, 2);
        const bool removed = ui::button((name + "/remove").c_str(), "×");
        ui::rename_node("Forget " + text);
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
