// Draws the chosen head's maps in both runs, and their difference.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "lenses/compare/view.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float maps_gap = 24, most_difference = 1;
constexpr double blink_ms = 800;

ui::MapPicture weights_of(const char* name, const MapPointer& map, const Attention& run) {
    return {.name = name,
            .map = map,
            .query_names = run.query_names(),
            .key_names = run.key_names(),
            .choice = {},
            .title = "weight",
            .high = 1};
}

std::optional<ui::MapCell> cell_at(std::optional<Index> query, std::optional<Index> key) {
    return query && key ? std::optional(ui::MapCell{*query, *key}) : std::nullopt;
}

// Returns the index of the pair that contains a token of the first text.
std::optional<Index> place_of(const Alignment& alignment, std::optional<Index> token) {
    if (!token) return std::nullopt;
    const auto found = std::ranges::find(alignment.pairs(), *token, &TokenPair::first);
    return found == alignment.pairs().end() ? std::nullopt : std::optional(found - alignment.pairs().begin());
}

// Cuts the text before the words that differ if there is no room for all of it.
void caption_of(const char* which, const std::string& text, const std::string& other, float width) {
    ui::Type small(ui::Face::regular, ui::size_small);
    const std::string name = std::string(which) + ": ";
    const bool fits = ui::text_size(name + text).x <= width;
    ui::draw_text_within(ImGui::GetWindowDrawList(), ImGui::GetCursorScreenPos(), width, ui::theme().dim,
                         name + (fits ? text : from_difference(text, other)));
    ImGui::Dummy({1, 20});
}

}  // namespace

void CompareLens::first_map(const Frame& frame, float width, float height) {
    ui::MapPicture picture = weights_of("compare/map/first", maps_.first, frame.first);
    picture.query = frame.query();
    picture.key = frame.drawing.pointed.key;
    picture.pointed = cell_at(frame.drawing.pointed.query, frame.drawing.pointed.key);
    const ui::MapTouch touch = first_view_.draw(picture, width, height, frame.drawing.deadline);
    if (touch.more) frame.drawing.visit.continue_with([this] { return first_view_.step(); });
    if (!touch.over) return;
    const auto [query, key] = *touch.over;
    frame.point(query, key);
    frame.drawing.now.cell = CellRef{Stage::weight, query, key};
    clicks_.answer(frame.drawing, touch, [&] {
        present::pin(frame.drawing, *frame.drawing.now.cell);
        parts::choose_tokens(frame.drawing, query, key);
    });
}

void CompareLens::second_map(const Frame& frame, float width, float height) {
    ui::MapPicture picture = weights_of("compare/map/second", maps_.second, frame.second);
    picture.query = frame.second_query();
    picture.key = frame.drawing.pointed.second_key;
    picture.pointed = cell_at(frame.drawing.pointed.second_query, frame.drawing.pointed.second_key);
    const ui::MapTouch touch = second_view_.draw(picture, width, height, frame.drawing.deadline);
    if (touch.more) frame.drawing.visit.continue_with([this] { return second_view_.step(); });
    if (!touch.over) return;
    const auto [query, key] = *touch.over;
    frame.point_second(query, key);
    frame.drawing.now.cell = CellRef{Stage::weight, query, key, true};
    clicks_.answer(frame.drawing, touch, [&] {
        Selection selection = frame.selection();
        selection.counterpart = query;
        present::pin(frame.drawing, *frame.drawing.now.cell);
        frame.drawing.visit.perform(Select{selection}, ui::gesture());
    });
}

// Explains a cell of the difference as a subtraction.
void CompareLens::tell_difference(const TokenPair& query, const TokenPair& key) const {
    const auto a = static_cast<double>(maps_.first->cell(query.first, key.first)),
               b = static_cast<double>(maps_.second->cell(query.second, key.second));
    if (std::isfinite(a) && std::isfinite(b))
        ui::tooltip((fixed(a, 4) + " − " + fixed(b, 4) + " = " + fixed(a - b, 4)).c_str());
}

void CompareLens::difference_map(const Frame& frame, float width, float height) {
    const auto &pairs = frame.pairing.alignment().pairs(), &key_pairs = frame.keys.alignment().pairs();
    if (pairs.empty() || key_pairs.empty())
        return ui::caption("The two sentences have no tokens that correspond.");
    ui::MapPicture picture{.name = "compare/map/difference",
                           .map = maps_.difference,
                           .query_names = maps_.pair_names,
                           .key_names = maps_.key_pair_names,
                           .choice = {},
                           .title = "first − second",
                           .high = most_difference};
    picture.query = place_of(frame.pairing.alignment(), frame.query());
    picture.key = place_of(frame.keys.alignment(), frame.drawing.pointed.key);
    picture.pointed = cell_at(place_of(frame.pairing.alignment(), frame.drawing.pointed.query), picture.key);
    const ui::MapTouch touch = difference_view_.draw(picture, width, height, frame.drawing.deadline);
    if (touch.more) frame.drawing.visit.continue_with([this] { return difference_view_.step(); });
    auto left_out = frame.first.queries() + frame.second.queries() - 2 * std::ssize(pairs);
    if (!frame.first.one_line())
        left_out += frame.first.keys() + frame.second.keys() - 2 * std::ssize(key_pairs);
    if (left_out)
        ui::caption((std::to_string(left_out) + (left_out == 1 ? " token has" : " tokens have") +
                     " no counterpart and are left out.")
                        .c_str());
    if (!touch.over) return;
    const TokenPair query = pairs[static_cast<std::size_t>(touch.over->query)],
                    key = key_pairs[static_cast<std::size_t>(touch.over->key)];
    tell_difference(query, key);
    frame.point(query.first, key.first);
    frame.drawing.now.cell = CellRef{Stage::difference, query.first, key.first};
    clicks_.answer(frame.drawing, touch, [&] {
        present::pin(frame.drawing, *frame.drawing.now.cell);
        parts::choose_tokens(frame.drawing, query.first, key.first);
    });
}

// Blinking pauses while the cursor is over the map, and when the user prefers reduced motion.
void CompareLens::blinking(const Frame& frame, float width, float height) {
    const double now = now_ms();
    const bool held = frame.drawing.pointed.query || frame.drawing.visit.still();
    if (!held && now >= blink_.turns_at) {
        blink_.second = !blink_.second;
        blink_.turns_at = now + blink_ms;
    }
    if (!held) frame.drawing.visit.continue_at(blink_.turns_at);
    static constexpr std::array<const char*, 2> names{"first", "second"};
    if (const auto chosen = ui::choice("compare/blink", names, blink_.second)) {
        blink_.second = *chosen == 1;
        blink_.turns_at = now + 3 * blink_ms;
    }
    blink_.second ? second_map(frame, width, height) : first_map(frame, width, height);
}

void CompareLens::draw_maps(const Frame& frame, float width, float most_height) {
    update_maps(frame.first, frame.second, frame.subject.chosen_head());
    switch (state().of<CompareState>().view) {
        case ComparisonView::blink: return blinking(frame, width, most_height);
        case ComparisonView::difference: return difference_map(frame, width, most_height);
        case ComparisonView::sides: break;
    }
    const bool beside = width >= ui::two_maps;
    const float each = beside ? (width - maps_gap) / 2 : width;
    const auto [first_name, second_name] = frame.subject.comparison_names();
    ImGui::BeginGroup();
    caption_of("first", first_name, second_name, each);
    first_map(frame, each, most_height);
    ImGui::EndGroup();
    if (beside) ImGui::SameLine(each + maps_gap, 0);
    ImGui::BeginGroup();
    caption_of("second", second_name, first_name, each);
    second_map(frame, each, most_height);
    ImGui::EndGroup();
}

}  // namespace attn::app
