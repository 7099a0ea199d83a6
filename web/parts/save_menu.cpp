#include "parts/save_menu.hpp"

#include <array>

#include "parts/saving.hpp"
#include "subjects/subject.hpp"
#include "widgets/controls.hpp"
#include "widgets/layout.hpp"
#include "widgets/svg_writer.hpp"

namespace attn::parts {

namespace {

constexpr std::array<int, 3> picture_scales{1, 2, 4};
constexpr std::array<const char*, 4> flow_items{"PNG 1×", "PNG 2×", "PNG 4×", "SVG"};
constexpr std::array<const char*, 7> map_items{"PNG 1×", "PNG 2×", "PNG 4×",         "SVG",
                                               "CSV",    ".npy",   "All heads, .npz"};
constexpr const char* map_landmark = "map/picture";
constexpr int svg_item = 3, csv_item = 4, npy_item = 5;

bool save_picture(app::Visit& visit, const SavedPicture& picture, int item) {
    if (item >= svg_item) return false;
    visit.save_picture(picture.file + ".png", picture.landmark,
                       picture_scales[static_cast<std::size_t>(item)]);
    return true;
}

// Saves the part's figure, if it is drawn for that.
void save_figure(app::Visit& visit, const char* landmark, const std::function<Result<std::string>()>& make) {
    const app::Figure* figure = visit.figure_of(landmark);
    if (!figure) return;
    if (const auto svg = make())
        visit.save_figure(ui::as_figure(*svg, *figure));
    else
        visit.refuse_figure(svg.error());
}

Result<std::string> svg_of_window(const SavedMap& map, const std::string& title) {
    const auto& [queries, keys, step] = map.view.in_view();
    if (queries.size() > svg_cells / keys.size())
        return Error{"The window has " + std::to_string(queries.size()) + " × " +
                     std::to_string(keys.size()) + " cells, and an SVG holds at most " +
                     std::to_string(svg_cells) + "; zoom in, or save a PNG."};
    const std::vector<float> cells = cells_of(*map.picture.map, {queries, keys});
    const ui::ColourScale& scale = map.view.scale();
    return svg_of(SvgMap{.queries = part(map.picture.query_names, queries),
                         .keys = part(map.picture.key_names, keys),
                         .cells = {cells.data(), queries.size(), keys.size(), keys.size()},
                         .colour = [&](float value) { return ui::rgb_of(scale.colour(value)); },
                         .decimals = is_signed(map.choice.stage) ? 2 : 3,
                         .title = title,
                         .ink = svg_ink()});
}

}  // namespace

SvgInk svg_ink() {
    const ui::Theme& t = ui::theme();
    return {ui::rgb_of(t.surface), ui::rgb_of(t.text), ui::rgb_of(t.dim)};
}

bool save_menu(app::Visit& visit, const SavedMap& map) {
    const auto title = [&] {
        const app::Selection s = app::subject_in(visit).chosen();
        return app::capitalised(map.attention.numbering().name(s.layer)) + " · head " +
               std::to_string(s.head) + ": " + map.picture.title;
    };
    save_figure(visit, map_landmark, [&] { return svg_of_window(map, title()); });
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({8, 4}));  // matches the controls next to it
    const auto item = ui::menu("map/save", "Save", map_items);
    ImGui::PopStyleVar();
    ui::tooltip("What is in view, as a picture or as numbers; or every head's numbers at once");
    if (!item) return false;
    const app::Selection s = app::subject_in(visit).chosen();
    const std::string layer = std::to_string(s.layer), head = std::to_string(s.head);
    const Unit unit = map.attention.unit_of(map.choice);
    const std::string file = "layer-" + layer + "-head-" + head + "-" +
                             std::string(info(map.choice.stage).key) +
                             (unit == Unit::tokens ? "" : "-" + std::string(app::unit_key(unit)));
    const ui::MapPicture& picture = map.picture;
    if (save_picture(visit, {"map/save", map_landmark, file}, *item)) return true;
    if (picture.being_measured) {
        visit.report_error(Error{"The map is still being computed; save it when it is complete."});
        return false;
    }
    const Saving::Window window{picture.map, map.view.in_view().queries, map.view.in_view().keys};
    if (*item == svg_item)
        visit.ask_figure(map_landmark, file, title());
    else if (*item == csv_item)
        visit.save(Saving::csv(window, picture.query_names, picture.key_names, file));
    else if (*item == npy_item)
        visit.save(Saving::npy(window, file));
    else
        visit.save(Saving::all_heads(all_heads(map.attention, map.choice)));
    return false;
}

bool save_menu(app::Visit& visit, const SavedPicture& picture,
               const std::function<Result<std::string>()>& svg) {
    save_figure(visit, picture.landmark, svg);
    const auto item = ui::menu(picture.menu, "Save", flow_items);
    ui::tooltip("What is in view, as a picture");
    if (!item) return false;
    if (save_picture(visit, picture, *item)) return true;
    visit.ask_figure(picture.landmark, picture.file, picture.title);
    return false;
}

}  // namespace attn::parts
