#include "lenses/map_controls.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "app/format.hpp"
#include "app/word_axis.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::lenses {

namespace {

using app::MapChoice;
using app::MapStage;
using app::Unit;

// By MapStage.
constexpr std::array<const char*, 7> stage_names{"raw",     "scores",       "capped",   "biased",
                                                 "weights", "contribution", "projected"};
constexpr std::array<const char*, 7> stage_titles{"score",  "scaled score", "capped score",    "masked score",
                                                  "weight", "weight × ‖V‖", "weight × ‖V W_O‖"};
constexpr std::array<const char*, 2> pooling_names{"strongest", "mean"};
constexpr std::array<const char*, 3> scaling_names{"linear", "log", "rank"};
constexpr std::array<const char*, 3> sink_names{"shown", "hidden", "renormalised"};
constexpr std::array<const char*, 2> unit_names{"tokens", "words"};

constexpr std::size_t most_bright = 64;
constexpr Index around = 6;  // cells on either side of one that is gone to

template <class Enum, std::size_t n>
bool choose(const char* name, const std::array<const char*, n>& names, Enum& value) {
    const auto chosen = ui::choice(name, names, static_cast<int>(value));
    if (chosen) value = static_cast<Enum>(*chosen);
    return chosen.has_value();
}

// Whether its rows and columns are tokens or words. Other stages than weights have tokens, whatever is chosen.
bool unit_control(MapChoice& choice) {
    const bool weights = choice.stage == MapStage::weight;
    Unit shown = weights ? choice.unit : Unit::tokens;
    ui::next_control(130);
    ImGui::BeginGroup();
    ImGui::BeginDisabled(!weights);
    const bool changed = choose("map/unit", unit_names, shown);
    ImGui::EndDisabled();
    ImGui::EndGroup();
    ui::tooltip(
        weights ? "words: the tokens of a word are one row and one column, and one word of the flow. "
                  "Attention from a word is the mean over its tokens' rows, attention to a word the sum over "
                  "its tokens' columns, so a row keeps its sum"
                : "Only weights can be taken together to words, as means and sums; choose weights");
    if (changed) choice.unit = shown;
    return changed;
}

// How its colours are made. True where something was changed.
bool colour_controls(ui::MapView& view, MapChoice& choice) {
    bool changed = false;
    ui::label("Colours");
    changed |= choose("map/scaling", scaling_names, choice.scaling);
    ui::tooltip(
        "linear: evenly from 0 to the end. log: four decades below the end, evenly. rank: by the share of "
        "the map's "
        "cells, or blocks of cells, that are weaker");
    if (!is_signed(choice.stage)) {
        ui::next_control(330);
        ui::label("First key");
        changed |= choose("map/sink", sink_names, choice.sink);
        ui::tooltip(
            "Many heads lay on the first token what they have no use for. hidden: as if it were masked. "
            "renormalised: "
            "the other weights of a row are divided by what it leaves, 1 − A[i, 0]");
    }
    ui::next_control(290);
    if (const auto least =
            ui::slider("map/least", "Hide below", static_cast<double>(choice.least), 0, 1, "%.2f")) {
        choice.least = static_cast<float>(*least);
        changed = true;
    }
    ui::tooltip("Weaker cells are coloured as zero. A share of the colour bar");
    ui::next_control(110);
    if (ui::button("map/brush", view.brushing ? "Marking: on" : "Mark a part"))
        view.brushing = !view.brushing;
    ui::tooltip("Drag over the map to sum up a rectangle of it; or hold Shift while you drag");
    return changed;
}

}  // namespace

app::MatrixId matrix_of(MapStage stage) {
    switch (stage) {
        case MapStage::raw: return app::MatrixId::raw;
        case MapStage::scaled: return app::MatrixId::scaled;
        case MapStage::capped: return app::MatrixId::capped;
        case MapStage::masked: return app::MatrixId::masked;
        case MapStage::weight:
        case MapStage::contribution:
        case MapStage::projected: break;
    }
    return app::MatrixId::weight;
}

const char* map_title(MapStage stage) { return stage_titles[static_cast<std::size_t>(stage)]; }

std::optional<MapChoice> map_controls(ui::MapView& view, const MapChoice& choice,
                                      std::span<const MapStage> stages, bool has_words) {
    MapChoice next = choice;
    bool changed = false;
    ui::section("Map", true);
    if (stages.size() > 1) ImGui::SameLine(0, 14);
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {8, 4});
    std::vector<const char*> names;
    for (const MapStage stage : stages) names.push_back(stage_names[static_cast<std::size_t>(stage)]);
    const auto taken = std::ranges::find(stages, choice.stage) - stages.begin();
    if (stages.size() > 1)
        if (const auto chosen = ui::choice("map/stage", names, static_cast<int>(taken))) {
            next.stage = stages[static_cast<std::size_t>(*chosen)];
            changed = true;
        }
    if (has_words) changed |= unit_control(next);
    if (view.pooled()) {
        ui::next_control(170);
        changed |= choose("map/pooling", pooling_names, next.pooling);
        ui::tooltip("What a block of cells that share a pixel shows");
    }
    if (view.colours_open) changed |= colour_controls(view, next);
    ImGui::PopStyleVar();
    if (has_words && takes_words(choice))
        ui::caption("From a word: the mean over its tokens. To a word: the sum over its tokens.");
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

void announce_marked(app::Session& session, const ui::MapView& view) {
    static std::string said;
    std::string sums = marked_part(view);
    if (sums == said) return;
    if (!sums.empty()) session.announce(sums);
    said = std::move(sums);
}

// ---- Finding -------------------------------------------------------------------------------------------------------

namespace {

std::string folded(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

Range near(Index at, Index n) { return {std::max(at - around, Index{0}), std::min(at + around + 1, n)}; }

// The strongest cell of a block of the coarsest level, with its exact place.
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

// A number is a position; anything else is looked for in the tokens.
void MapFinder::search(const ui::MapPicture& picture) {
    const std::string text = folded(text_.data());
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
                        : folded(names[static_cast<std::size_t>(i)]).find(text) != std::string::npos;
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

// From the strongest of all to the strongest of the next block, as the coarsest level has them: cells where a map is small.
std::optional<ui::MapCell> MapFinder::next_bright(ui::MapView& view, const ui::MapPicture& picture) {
    const Pyramid* pyramid = view.tiles().pyramid();
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

std::optional<ui::MapCell> MapFinder::draw(ui::MapView& view, const ui::MapPicture& picture, float width) {
    std::optional<ui::MapCell> gone;
    ImGui::PushID("find");
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, {8, 4});
    ImGui::SetNextItemWidth(std::min(150.0f, width * 0.4f));
    const bool entered = ImGui::InputTextWithHint("##text", "Find token or number", text_.data(),
                                                  text_.size(), ImGuiInputTextFlags_EnterReturnsTrue);
    ui::landmark_item("find");
    if (entered) ImGui::SetKeyboardFocusHere(-1);
    search(picture);
    const auto step = [&](std::size_t by) {
        at_ = (at_ + by) % found_.size();
        gone = go(view, picture, found_[at_]);
    };
    if (!searched_.empty()) {
        ImGui::SameLine(0, 6);
        if (ui::button("find/back", "‹", !found_.empty())) step(found_.size() - 1);
        ImGui::SameLine(0, 6);
        if (ui::button("find/on", "›", !found_.empty()) || (entered && !found_.empty()))
            step(entered ? 0 : 1);
        ImGui::SameLine(0, 8);
        ImGui::AlignTextToFramePadding();
        ui::caption(found_.empty()
                        ? "not there"
                        : (std::to_string(at_ + 1) + " of " + std::to_string(found_.size())).c_str());
    }
    ui::next_control(150);
    if (ui::button("find/bright", "Next bright cell")) gone = next_bright(view, picture);
    ui::tooltip("Goes to the strongest cell, then to the strongest of the next block, and so on");
    ui::next_control(86);
    if (ui::button("map/colours", view.colours_open ? "Colours ▴" : "Colours ▾"))
        view.colours_open = !view.colours_open;
    ui::tooltip("Colour scale, the first key, a threshold, and marking a part");
    ui::next_control(60);
    if (ui::button("map/out", "−", view.zoomed())) view.zoom_by(1 / 1.5f);
    ui::tooltip("Smaller");
    ImGui::SameLine(0, 6);
    if (ui::button("map/in", "+")) view.zoom_by(1.5f);
    ui::tooltip("Larger: or turn the wheel over the map; a double click shows it whole");
    if (view.brushed()) {
        const std::string sums = marked_part(view);
        ui::caption(sums.empty() ? "Summing up the marked part" : sums.c_str());
        ImGui::SameLine(0, 8);
        if (ui::button("map/forget", "×")) view.forget_brush();
    }
    ImGui::PopStyleVar();
    ImGui::PopID();
    return gone;
}

}  // namespace attn::lenses
