#include "parts/map_controls.hpp"

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "app/stage_words.hpp"
#include "io/ascii.hpp"
#include "text/units.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"

namespace attn::parts {

namespace {

using app::MapChoice;

constexpr std::array<const char*, 2> pooling_names{"strongest", "mean"};
constexpr std::array<const char*, 3> scaling_names{"linear", "log", "rank"};
constexpr std::array<const char*, 3> sink_names{"shown", "hidden", "renormalised"};

constexpr std::size_t most_bright = 64;
constexpr Index around = 6;  // cells shown on either side of the cell found

template <class Enum, std::size_t n>
bool choose(const char* name, const std::array<const char*, n>& names, Enum& value) {
    const auto chosen = ui::choice(name, names, static_cast<int>(value));
    if (chosen) value = static_cast<Enum>(*chosen);
    return chosen.has_value();
}

// Chooses how the colours are made. Returns true if something changed.
bool colour_controls(ui::MapView& view, MapChoice& choice) {
    bool changed = false;
    ui::label("Colours");
    changed |= choose("map/scaling", scaling_names, choice.scaling);
    ui::tooltip(
        "linear: evenly from 0 to the end. log: four decades below the end, evenly. rank: by the share of "
        "the map's cells, or blocks of cells, that are weaker");
    if (!is_signed(choice.stage)) {
        ui::next_control(ui::need::named_choices);
        ui::label("First key");
        changed |= choose("map/sink", sink_names, choice.sink);
        ui::tooltip(
            "Many heads park unused attention on the first token. hidden: as if it were masked. "
            "renormalised: the other weights of a row are divided by what it leaves, 1 − A[i, 0]");
    }
    ui::next_control(ui::need::slider);
    if (const auto least =
            ui::slider("map/least", "Hide below", static_cast<double>(choice.least), 0, 1, "%.2f")) {
        choice.least = static_cast<float>(*least);
        changed = true;
    }
    ui::tooltip("Cells below this fraction of the scale are drawn as zero.");
    ui::next_control(ui::need::long_button);
    if (ui::button("map/brush", view.brushing ? "Marking: on" : "Mark a part",
                   {"Marking: on", "Mark a part"}))
        view.brushing = !view.brushing;
    ui::tooltip("Drag over the map to sum up a rectangle of it; or hold Shift while you drag");
    return changed;
}

}  // namespace

std::optional<MapChoice> map_controls(ui::MapView& view, const MapChoice& choice,
                                      std::span<const Stage> stages) {
    MapChoice next = choice;
    bool changed = false;
    ui::section("Map", true);
    if (stages.size() > 1) ImGui::SameLine(0, 14);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({8, 4}));
    std::vector<std::string> words;
    for (const Stage stage : stages) words.push_back(app::label(stage));
    std::vector<const char*> names;
    for (const std::string& word : words) names.push_back(word.c_str());
    const auto taken = std::ranges::find(stages, choice.stage) - stages.begin();
    if (stages.size() > 1)
        if (const auto chosen = ui::choice("map/stage", names, static_cast<int>(taken))) {
            next.stage = stages[static_cast<std::size_t>(*chosen)];
            changed = true;
        }
    if (view.pooled()) {
        ui::next_control(ui::need::choices);
        changed |= choose("map/pooling", pooling_names, next.pooling);
        ui::tooltip("When several cells share a pixel: show the strongest, or the mean");
    }
    if (view.colours_open) changed |= colour_controls(view, next);
    ImGui::PopStyleVar();
    return changed ? std::optional(next) : std::nullopt;
}

std::string marked_part(const ui::MapView& view) {
    const ui::BrushSums& sums = view.brush_sums();
    if (!view.brushed() || !sums.complete) return {};
    const auto part = [](Range range) {
        return std::to_string(range.begin) + " to " + std::to_string(range.end - 1);
    };
    const std::string where =
        "Queries " + part(view.brushed()->queries) + ", keys " + part(view.brushed()->keys) + ": ";
    if (sums.cells == 0) return where + "all masked";
    return where + app::fixed(sums.cells, 0) + " cells, sum " + app::fixed(sums.sum, 4) + ", mean " +
           app::fixed(sums.sum / sums.cells, 4) + ", strongest " +
           app::fixed(static_cast<double>(sums.strongest), 4);
}

// ---- Finding ----------------------------------------------------------------------------------------------

namespace {

Range near(Index at, Index n) { return {std::max(at - around, Index{0}), std::min(at + around + 1, n)}; }

// Finds the strongest cell of a block of the coarsest level, with its exact place.
ui::MapCell strongest_cell(const Map& map, const MapWindow& block) {
    const std::vector<float> cells = cells_of(map, block);
    const auto value = [&](float cell) {
        if (cell == masked_cell || std::isnan(cell)) return -1.0f;
        return map.is_signed() ? std::abs(cell) : cell;
    };
    const auto best = std::ranges::max_element(cells, {}, value) - cells.begin();
    return {block.queries.begin + best / block.keys.size(), block.keys.begin + best % block.keys.size()};
}

}  // namespace

// A number is a position; anything else is searched for in the tokens.
void MapFinder::search(const ui::MapPicture& picture) {
    const std::string text = ascii_lower(text_.data());
    if (text == searched_ && searched_in_ == picture.query_names.data()) return;
    searched_ = text;
    searched_in_ = picture.query_names.data();
    found_.clear();
    at_ = 0;
    if (text.empty()) return;
    const bool position = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    const bool square = picture.query_names.data() == picture.key_names.data();
    const auto matches = [&](std::span<const std::string> names, Index i) {
        return position ? std::to_string(i) == text
                        : ascii_lower(names[static_cast<std::size_t>(i)]).find(text) != std::string::npos;
    };
    for (Index i = 0; i < std::ssize(picture.query_names); ++i)
        if (matches(picture.query_names, i)) found_.push_back({i, square ? std::optional(i) : std::nullopt});
    if (square) return;
    for (Index j = 0; j < std::ssize(picture.key_names); ++j)
        if (matches(picture.key_names, j)) found_.push_back({std::nullopt, j});
}

std::optional<ui::MapCell> MapFinder::go(ui::MapView& view, const ui::MapPicture& picture,
                                         const Place& place) const {
    const Index n_q = picture.map->queries(), n_k = picture.map->keys();
    view.show(place.query ? near(*place.query, n_q) : Range{0, n_q},
              place.key ? near(*place.key, n_k) : Range{0, n_k});
    return ui::MapCell{place.query.value_or(picture.query.value_or(0)),
                       place.key.value_or(picture.key.value_or(0))};
}

// Goes from the strongest cell of all to the next strongest block of the coarsest level; on a small map, the
// blocks are cells.
std::optional<ui::MapCell> MapFinder::next_bright(ui::MapView& view, const ui::MapPicture& picture) {
    const auto& pyramid = view.tiles().pyramid();
    if (!pyramid || !pyramid->done()) return std::nullopt;
    if (bright_of_ != picture.map) {
        bright_of_ = picture.map;
        bright_.clear();
        next_ = 0;
        const Index level = pyramid->coarsest(), side = Index{1} << level;
        const Tile& all = pyramid->tile({level, 0, 0});
        std::vector<std::size_t> blocks;
        for (std::size_t i = 0; i < all.strongest.size(); ++i)
            if (std::isfinite(all.strongest[i])) blocks.push_back(i);
        const auto value = [&](std::size_t i) {
            return picture.map->is_signed() ? std::abs(all.strongest[i]) : all.strongest[i];
        };
        const std::size_t some = std::min(blocks.size(), most_bright);
        std::ranges::partial_sort(blocks, blocks.begin() + static_cast<std::ptrdiff_t>(some), std::greater{},
                                  value);
        blocks.resize(some);
        for (const std::size_t i : blocks) {
            const Index row = static_cast<Index>(i) / all.cols, col = static_cast<Index>(i) % all.cols;
            bright_.push_back(strongest_cell(
                *picture.map, {{row * side, std::min((row + 1) * side, picture.map->queries())},
                               {col * side, std::min((col + 1) * side, picture.map->keys())}}));
        }
    }
    if (bright_.empty()) return std::nullopt;
    const ui::MapCell cell = bright_[next_ % bright_.size()];
    next_ = (next_ + 1) % bright_.size();
    return go(view, picture, {cell.query, cell.key});
}

// Writes the sums of the marked rectangle, which explain themselves.
void MapFinder::draw_sums(ui::MapView& view, Touch& touch) {
    const std::string sums = marked_part(view);
    if (sums.empty()) {
        ui::caption("Summing up the marked part");
    } else {
        const ui::Type small(ui::Face::regular, ui::size_small);
        const std::string text = ui::wrapped(sums, ImGui::GetContentRegionAvail().x - ui::need::icon);
        const ImVec2 at = ImGui::GetCursorScreenPos();
        touch.sums_clicked =
            ImGui::InvisibleButton("marked", ui::text_size(text), ImGuiButtonFlags_EnableNav);
        ui::landmark_item("map/marked");
        ui::semantic_item(ui::Role::button, "map/marked", sums);
        const bool hovered = ImGui::IsItemHovered();
        touch.over_sums = hovered || ui::focus_is_in("map/marked");
        if (hovered) ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
        ui::draw_text(ImGui::GetWindowDrawList(), at, hovered ? ui::theme().text : ui::theme().dim, text);
    }
    ImGui::SameLine(0, 8);
    if (ui::button("map/forget", "×")) view.forget_brush();
    ui::rename_node("Unmark");
}

MapFinder::Touch MapFinder::draw(ui::MapView& view, const ui::MapPicture& picture, float width) {
    Touch touch;
    std::optional<ui::MapCell>& gone = touch.gone;
    ImGui::PushID("find");
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({8, 4}));
    ImGui::SetNextItemWidth(std::min(ui::menu_width, width * 0.4f));
    const bool entered = ImGui::InputTextWithHint("##text", "Find token or number", text_.data(),
                                                  text_.size(), ImGuiInputTextFlags_EnterReturnsTrue);
    ui::landmark_item("find");
    ui::semantic_field(ui::Role::textbox, "find", "Find a token or a number", text_.data());
    if (entered) ImGui::SetKeyboardFocusHere(-1);
    search(picture);
    const auto step = [&](std::size_t by) {
        at_ = (at_ + by) % found_.size();
        gone = go(view, picture, found_[at_]);
    };
    if (!searched_.empty()) {
        ImGui::SameLine(0, 6);
        if (ui::button("find/back", "‹", !found_.empty())) step(found_.size() - 1);
        ui::rename_node("Previous");
        ImGui::SameLine(0, 6);
        const bool on = ui::button("find/on", "›", !found_.empty());
        ui::rename_node("Next");
        if (on || (entered && !found_.empty())) step(entered ? 0 : 1);
        ImGui::SameLine(0, 8);
        ImGui::AlignTextToFramePadding();
        ui::caption(found_.empty()
                        ? "not there"
                        : (std::to_string(at_ + 1) + " of " + std::to_string(found_.size())).c_str());
    }
    ui::next_control(ui::menu_width);
    if (ui::button("find/bright", "Next bright cell")) gone = next_bright(view, picture);
    ui::tooltip("Jump to the strongest cell, then to the next strongest region");
    ui::next_control(ui::need::button);
    if (ui::button("map/colours", view.colours_open ? "Colours ▴" : "Colours ▾", {"Colours ▴", "Colours ▾"}))
        view.colours_open = !view.colours_open;
    ui::rename_node("Colours");
    ui::node_opens(view.colours_open);
    ui::tooltip("Colour scale, the first key, a threshold, and marking a part");
    ui::next_control(ui::need::icon);
    if (ui::button("map/out", "−", view.zoomed())) view.zoom_by(1 / 1.5f);
    ui::rename_node("Zoom out");
    ui::tooltip("Zoom out");
    ImGui::SameLine(0, 6);
    if (ui::button("map/in", "+")) view.zoom_by(1.5f);
    ui::rename_node("Zoom in");
    ui::tooltip("Zoom in (or Ctrl + scroll); a double click shows all of it");
    if (view.brushed()) draw_sums(view, touch);
    ImGui::PopStyleVar();
    ImGui::PopID();
    return touch;
}

}  // namespace attn::parts
