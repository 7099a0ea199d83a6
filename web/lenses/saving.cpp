#include "lenses/saving.hpp"

#include <array>

#include "app/saving.hpp"
#include "widgets/controls.hpp"

namespace attn::lenses {

namespace {

constexpr std::array<int, 3> picture_scales{1, 2, 4};
constexpr std::array<const char*, 4> flow_items{"PNG 1×", "PNG 2×", "PNG 4×", "SVG"};
constexpr std::array<const char*, 7> map_items{"PNG 1×", "PNG 2×", "PNG 4×",         "SVG",
                                               "CSV",    ".npy",   "All heads, .npz"};
constexpr int svg_item = 3, csv_item = 4, npy_item = 5;

bool save_picture(app::Session& session, const SavedPicture& picture, int item) {
    if (item >= svg_item) return false;
    session.save_picture(picture.file + ".png", picture.landmark,
                         picture_scales[static_cast<std::size_t>(item)]);
    return true;
}

void save_svg(app::Session& session, const std::string& file, const Result<std::string>& svg) {
    if (!svg) return session.report_error(svg.error());
    session.save(file + ".svg", *svg);
}

std::span<const std::string> part(std::span<const std::string> names, Range range) {
    return names.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
}

Result<std::string> svg_of_window(const SavedMap& map, const std::string& title) {
    const auto& [queries, keys, step] = map.view.in_view();
    if (queries.size() > app::svg_cells / keys.size())
        return Error{"The window has " + std::to_string(queries.size()) + " × " +
                     std::to_string(keys.size()) + " cells, and an SVG holds at most " +
                     std::to_string(app::svg_cells) + "; zoom in, or save a PNG."};
    const std::vector<float> cells = cells_of(*map.picture.map, {queries, keys});
    const ui::ColourScale& scale = map.view.scale();
    return app::svg_of(app::SvgMap{.queries = part(map.picture.query_names, queries),
                                   .keys = part(map.picture.key_names, keys),
                                   .cells = {cells.data(), queries.size(), keys.size(), keys.size()},
                                   .colour = [&](float value) { return rgb(scale.colour(value)); },
                                   .decimals = is_signed(map.stage) ? 2 : 3,
                                   .title = title,
                                   .ink = svg_ink()});
}

}  // namespace

app::Colour rgb(ImU32 colour) {
    const auto channel = [&](int shift) { return (colour >> shift) & 255u; };
    return channel(IM_COL32_R_SHIFT) << 16 | channel(IM_COL32_G_SHIFT) << 8 | channel(IM_COL32_B_SHIFT);
}

app::SvgInk svg_ink() {
    const ui::Theme& t = ui::theme();
    return {rgb(t.background), rgb(t.text), rgb(t.dim)};
}

bool save_menu(app::Session& session, const SavedMap& map) {
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {8, 4});  // as the controls beside it have
    const auto item = ui::menu("map/save", "Save", map_items);
    ImGui::PopStyleVar();
    ui::tooltip("What is in view, as a picture or as numbers; or every head's numbers at once");
    if (!item) return false;
    const app::Selection& s = session.state().selection;
    const std::string layer = std::to_string(s.layer), head = std::to_string(s.head);
    const std::string file = "layer-" + layer + "-head-" + head + "-" +
                             std::string(app::map_keys[static_cast<std::size_t>(map.stage)]) +
                             (map.of_words ? "-words" : "");
    const ui::MapPicture& picture = map.picture;
    if (save_picture(session, {"map/save", "map/picture", file}, *item)) return true;
    if (picture.being_measured) {
        session.report_error(Error{"The map is still being computed; save it when it is complete."});
        return false;
    }
    const app::Saving::Window window{picture.map, map.view.in_view().queries, map.view.in_view().keys};
    if (*item == svg_item)
        save_svg(session, file,
                 svg_of_window(map, "Layer " + layer + " · head " + head + ": " + picture.title));
    else if (*item == csv_item)
        session.save(app::Saving::csv(window, picture.query_names, picture.key_names, file));
    else if (*item == npy_item)
        session.save(app::Saving::npy(window, file));
    else
        session.save(app::Saving::all_heads(map.all_heads()));
    return false;
}

bool save_menu(app::Session& session, const SavedPicture& picture,
               const std::function<Result<std::string>()>& svg) {
    const auto item = ui::menu(picture.menu, "Save", flow_items);
    ui::tooltip("What is in view, as a picture");
    if (!item) return false;
    if (save_picture(session, picture, *item)) return true;
    save_svg(session, picture.file, svg());
    return false;
}

}  // namespace attn::lenses
