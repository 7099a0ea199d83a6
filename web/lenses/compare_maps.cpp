// One head's weights in two sentences: side by side, in turn in one place, or the difference.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "lenses/compare_view.hpp"
#include "maps/picked.hpp"
#include "widgets/controls.hpp"
#include "widgets/map_view.hpp"

namespace attn::lenses {

namespace {

constexpr double blink_ms = 800;
constexpr float maps_gap = 24, most_difference = 1;

// The weights of a head in both sentences.
struct PairMaps {
    std::uint64_t first_version = 0, second_version = 0;
    Index layer = -1, head = -1;
    MapPointer first, second, difference;  // the last between tokens that stand for each other
    std::vector<std::string> pair_names;
};
PairMaps pair_maps;
ui::MapView first_view, second_view, difference_view;

// One map after the other in the same place.
struct Blink {
    bool second = false;
    double turns_at = 0;
};
Blink blink;

void update(const CompareView& view) {
    const app::Selection& s = view.selection();
    if (pair_maps.first_version == view.first.run.version &&
        pair_maps.second_version == view.second.version && pair_maps.layer == s.layer &&
        pair_maps.head == s.head)
        return;
    pair_maps = {view.first.run.version, view.second.version, s.layer, s.head, nullptr, nullptr, nullptr, {}};
    pair_maps.first = stage_map(record_of(view.first.run.trace, s.layer), s.head, Stage::weight);
    pair_maps.second = stage_map(record_of(view.second.trace, s.layer), s.head, Stage::weight);
    std::vector<Index> firsts, seconds;
    for (const TokenPair& pair : view.alignment.pairs()) {
        firsts.push_back(pair.first);
        seconds.push_back(pair.second);
        pair_maps.pair_names.push_back(pair.same ? view.first.piece(pair.first)
                                                 : view.first.piece(pair.first) + "/" +
                                                       view.second_piece(pair.second));
    }
    if (auto difference = attn::difference_map(picked_map(pair_maps.first, firsts, firsts),
                                               picked_map(pair_maps.second, seconds, seconds)))
        pair_maps.difference = *std::move(difference);
}

ui::MapPicture weights_of(const char* name, const MapPointer& map, std::span<const std::string> names) {
    return {.name = name,
            .map = map,
            .query_names = names,
            .key_names = names,
            .choice = {},
            .title = "weight",
            .high = 1};
}

std::optional<ui::MapCell> cell_at(std::optional<Index> query, std::optional<Index> key) {
    return query && key ? std::optional(ui::MapCell{*query, *key}) : std::nullopt;
}

void first_map(CompareView& view, float width, float height) {
    ui::MapPicture picture = weights_of("compare/map/first", pair_maps.first, view.first.run.pieces);
    picture.query = view.query();
    picture.key = view.pointed.key;
    picture.pointed = cell_at(view.pointed.query, view.pointed.key);
    const ui::MapTouch touch = first_view.draw(picture, width, height, view.first.deadline);
    if (touch.more) view.session().continue_with([] { return first_view.step(); });
    if (!touch.over) return;
    const auto [query, key] = *touch.over;
    view.point(query, key);
    view.first.hover.cell = app::CellRef{app::MatrixId::weight, query, key};
    if (!touch.clicked) return;
    view.session().perform(app::Pin{view.first.hover.cell}, ui::gesture());
    view.first.select(query, key);
}

void second_map(CompareView& view, float width, float height) {
    ui::MapPicture picture = weights_of("compare/map/second", pair_maps.second, view.second.pieces);
    picture.query = view.second_query();
    picture.key = view.pointed.second_key;
    picture.pointed = cell_at(view.pointed.second_query, view.pointed.second_key);
    const ui::MapTouch touch = second_view.draw(picture, width, height, view.first.deadline);
    if (touch.more) view.session().continue_with([] { return second_view.step(); });
    if (!touch.over) return;
    const auto [query, key] = *touch.over;
    view.point_second(query, key);
    view.first.hover.cell = app::CellRef{app::MatrixId::weight, query, key, true};
    if (!touch.clicked) return;
    app::Selection selection = view.selection();
    selection.counterpart = query;
    view.session().perform(app::Pin{view.first.hover.cell}, ui::gesture());
    view.session().perform(app::Select{selection}, ui::gesture());
}

// The place of a token of the first text among the pairs.
std::optional<Index> place_of(const Alignment& alignment, std::optional<Index> token) {
    if (!token) return std::nullopt;
    const auto found = std::ranges::find(alignment.pairs(), *token, &TokenPair::first);
    return found == alignment.pairs().end() ? std::nullopt : std::optional(found - alignment.pairs().begin());
}

// The subtraction of a cell of the difference.
void tell(const TokenPair& query, const TokenPair& key) {
    const auto a = static_cast<double>(pair_maps.first->cell(query.first, key.first)),
               b = static_cast<double>(pair_maps.second->cell(query.second, key.second));
    if (std::isfinite(a) && std::isfinite(b))
        ui::tooltip((app::fixed(a, 4) + " − " + app::fixed(b, 4) + " = " + app::fixed(a - b, 4)).c_str());
}

void difference_map(CompareView& view, float width, float height) {
    const auto& pairs = view.alignment.pairs();
    if (pairs.empty()) return ui::caption("The two sentences have no token that stands for another.");
    ui::MapPicture picture{.name = "compare/map/difference",
                           .map = pair_maps.difference,
                           .query_names = pair_maps.pair_names,
                           .key_names = pair_maps.pair_names,
                           .choice = {},
                           .title = "first − second",
                           .high = most_difference};
    picture.query = place_of(view.alignment, view.query());
    picture.key = place_of(view.alignment, view.pointed.key);
    picture.pointed = cell_at(place_of(view.alignment, view.pointed.query), picture.key);
    const ui::MapTouch touch = difference_view.draw(picture, width, height, view.first.deadline);
    if (touch.more) view.session().continue_with([] { return difference_view.step(); });
    const auto left_out = view.first.tokens() + std::ssize(view.second.pieces) - 2 * std::ssize(pairs);
    if (left_out)
        ui::caption((std::to_string(left_out) + (left_out == 1 ? " token has" : " tokens have") +
                     " no counterpart and are left out.")
                        .c_str());
    if (!touch.over) return;
    const TokenPair query = pairs[static_cast<std::size_t>(touch.over->query)],
                    key = pairs[static_cast<std::size_t>(touch.over->key)];
    tell(query, key);
    view.point(query.first, key.first);
    view.first.hover.cell = app::CellRef{app::MatrixId::weight, query.first, key.first};
    if (touch.clicked) {
        view.session().perform(app::Pin{view.first.hover.cell}, ui::gesture());
        view.first.select(query.first, key.first);
    }
}

void caption_of(const char* which, const std::string& text, float width) {
    ui::Type small(ui::Face::regular, ui::size_small);
    ui::draw_text_within(ImGui::GetWindowDrawList(), ImGui::GetCursorScreenPos(), width, ui::theme().dim,
                         std::string(which) + ": " + text);
    ImGui::Dummy({1, 20});
}

// Holds still while somebody points at it, and where motion is not wanted.
void blinking(CompareView& view, float width, float height) {
    const double now = app::now_ms();
    const bool held = view.pointed.query || view.session().still();
    if (!held && now >= blink.turns_at) {
        blink.second = !blink.second;
        blink.turns_at = now + blink_ms;
    }
    if (!held) view.session().continue_at(blink.turns_at);
    static constexpr std::array<const char*, 2> names{"first", "second"};
    if (const auto chosen = ui::choice("compare/blink", names, blink.second)) {
        blink.second = *chosen == 1;
        blink.turns_at = now + 3 * blink_ms;
    }
    blink.second ? second_map(view, width, height) : first_map(view, width, height);
}

}  // namespace

void compare_maps(CompareView& view, float width, float most_height) {
    update(view);
    const auto& texts = view.session().state().sentence;
    switch (view.comparison.view) {
        case app::ComparisonView::blink: return blinking(view, width, most_height);
        case app::ComparisonView::difference: return difference_map(view, width, most_height);
        case app::ComparisonView::sides: break;
    }
    const bool beside = width >= 440;
    const float each = beside ? (width - maps_gap) / 2 : width;
    ImGui::BeginGroup();
    caption_of("first", texts.text, each);
    first_map(view, each, most_height);
    ImGui::EndGroup();
    if (beside) ImGui::SameLine(each + maps_gap, 0);
    ImGui::BeginGroup();
    caption_of("second", view.comparison.text, each);
    second_map(view, each, most_height);
    ImGui::EndGroup();
}

}  // namespace attn::lenses
