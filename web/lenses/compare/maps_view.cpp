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

constexpr float most_difference = 1;
constexpr double blink_ms = 800;

std::optional<ui::MapCell> cell_at(std::optional<Index> query, std::optional<Index> key) {
    return query && key ? std::optional(ui::MapCell{*query, *key}) : std::nullopt;
}

// Returns the index of the pair that contains a token of the first text.
std::optional<Index> place_of(const Alignment& alignment, std::optional<Index> token) {
    if (!token) return std::nullopt;
    const auto found = std::ranges::find(alignment.pairs(), *token, &TokenPair::first);
    return found == alignment.pairs().end() ? std::nullopt : std::optional(found - alignment.pairs().begin());
}

// Cuts off the text before the words that differ if it does not fit.
std::string text_within(const std::string& text, const std::string& other, float width) {
    ui::Type small(ui::Face::regular, ui::size_small);
    return ui::text_size(text).x <= width ? text : from_difference(text, other);
}

}  // namespace

void CompareLens::draw_map(const Frame& frame, Shown which, float width, float height) {
    const auto [first, second] = frame.subject.comparison_names();
    const float room = present::Card::width_within(width);
    present::Card::Text text{
        .key = "compare/map/first",
        .title = "Weights of the first",
        .notation = text_within(first, second, room),
        .table = [&] { return map_tables(frame.subject)[static_cast<std::size_t>(which)]; },
        .is_vector = false,
        .is_listed = false};
    if (which == Shown::second) {
        text.key = "compare/map/second";
        text.title = "Weights of the second";
        text.notation = text_within(second, first, room);
    } else if (which == Shown::difference) {
        text.key = "compare/map/difference";
        text.title = "Weights of the first minus the second";
        text.notation.clear();
        if (!maps_.difference) text.table = {};
    }
    const present::Card card(frame.drawing, std::move(text), width);
    which == Shown::difference ? difference_map(frame, card.width(), height)
                               : map_of(frame, which == Shown::second, card.width(), height);
}

void CompareLens::map_of(const Frame& frame, bool of_second, float width, float height) {
    const Attention& run = frame.run(of_second);
    const Hover& pointed = frame.drawing.pointed;
    const auto key = of_second ? pointed.second_key : pointed.key;
    ui::MapView& view = of_second ? second_view_ : first_view_;
    const ui::MapPicture picture{.name = of_second ? "compare/map/second" : "compare/map/first",
                                 .map = of_second ? maps_.second : maps_.first,
                                 .query_names = run.query_names(),
                                 .key_names = run.key_names(),
                                 .choice = {},
                                 .title = "weight",
                                 .high = 1,
                                 .query = frame.query_of(of_second),
                                 .key = key,
                                 .pointed = cell_at(of_second ? pointed.second_query : pointed.query, key)};
    const ui::MapTouch touch = view.draw(picture, width, height, frame.drawing.deadline);
    if (touch.more) frame.drawing.visit.continue_with([&view] { return view.step(); });
    if (!touch.over) return;
    const auto [over, under] = *touch.over;
    frame.point_in(of_second, over, under);
    frame.drawing.now.cell = CellRef{Stage::weight, over, under, of_second};
    clicks_.answer(frame.drawing, touch, [&] {
        present::pin(frame.drawing, *frame.drawing.now.cell);
        if (!of_second) return parts::choose_tokens(frame.drawing, over, under);
        Selection chosen = frame.selection();
        chosen.counterpart = over;
        frame.drawing.visit.perform(Select{chosen}, ui::gesture());
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
    frame.point_in(false, query.first, key.first);
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
    draw_map(frame, blink_.second ? Shown::second : Shown::first, width, height);
}

void CompareLens::draw_maps(const Frame& frame, float width, float most_height) {
    update_maps(frame.first, frame.second, frame.subject.chosen_head());
    switch (state().of<CompareState>().view) {
        case ComparisonView::blink: return blinking(frame, width, most_height);
        case ComparisonView::difference: return draw_map(frame, Shown::difference, width, most_height);
        case ComparisonView::sides: break;
    }
    const bool beside = width >= ui::two_maps;
    const float each = beside ? std::floor((width - present::card_gap) / 2) : width;
    ImGui::BeginGroup();
    draw_map(frame, Shown::first, each, most_height);
    ImGui::EndGroup();
    if (beside) ImGui::SameLine(0, present::card_gap);
    ImGui::BeginGroup();
    draw_map(frame, Shown::second, each, most_height);
    ImGui::EndGroup();
}

}  // namespace attn::app
