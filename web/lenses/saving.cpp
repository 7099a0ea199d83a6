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

bool save_picture(SentenceView& view, const SavedPicture& picture, int item) {
    if (item >= svg_item) return false;
    view.session.save_picture(picture.file + ".png", picture.landmark,
                              picture_scales[static_cast<std::size_t>(item)]);
    return true;
}

void save_svg(SentenceView& view, const std::string& file, const Result<std::string>& svg) {
    if (!svg) return view.session.report_error(svg.error());
    view.session.save(file + ".svg", *svg);
}

std::span<const std::string> part(std::span<const std::string> names, Range range) {
    return names.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
}

Result<std::string> svg_of_window(const SavedMap& map) {
    if (map.queries.size() > app::svg_cells / map.keys.size())
        return Error{"The window has " + std::to_string(map.queries.size()) + " × " +
                     std::to_string(map.keys.size()) + " cells, and an SVG holds at most " +
                     std::to_string(app::svg_cells) + "; zoom in, or save a PNG."};
    const std::vector<float> cells = cells_of(*map.map, {map.queries, map.keys});
    return app::svg_of(
        app::SvgMap{.queries = part(map.names, map.queries),
                    .keys = part(map.names, map.keys),
                    .cells = {cells.data(), map.queries.size(), map.keys.size(), map.keys.size()},
                    .colour = [&](float value) { return rgb(map.scale.colour(value)); },
                    .decimals = is_signed(map.choice.stage) ? 2 : 3,
                    .title = map.title,
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

bool save_menu(SentenceView& view, const SavedMap& map) {
    const auto item = ui::menu(map.picture.menu, "Save", map_items);
    ui::tooltip("What is in view, as a picture or as numbers; or every head's numbers at once");
    if (!item) return false;
    if (save_picture(view, map.picture, *item)) return true;
    const app::Saving::Window window{map.map, map.queries, map.keys};
    if (*item == svg_item)
        save_svg(view, map.picture.file, svg_of_window(map));
    else if (*item == csv_item)
        view.session.save(app::Saving::csv(window, map.names, map.names, map.picture.file));
    else if (*item == npy_item)
        view.session.save(app::Saving::npy(window, map.picture.file));
    else {
        app::MapChoice choice = map.choice;
        if (!view.run.words.merges()) choice.unit = app::Unit::tokens;
        view.session.save(app::Saving::all_heads(view.run.trace, choice, view.run.pieces, view.run.words,
                                                 view.session.model_name()));
    }
    return false;
}

bool save_menu(SentenceView& view, const SavedPicture& picture,
               const std::function<Result<std::string>()>& svg) {
    const auto item = ui::menu(picture.menu, "Save", flow_items);
    ui::tooltip("What is in view, as a picture");
    if (!item) return false;
    if (save_picture(view, picture, *item)) return true;
    save_svg(view, picture.file, svg());
    return false;
}

}  // namespace attn::lenses
