// Draws the chosen head's maps in both runs, and their difference.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/clock.hpp"
#include "app/format.hpp"
#include "lenses/compare/view.hpp"
#include "present/present.hpp"
#include "text/differing_end.hpp"
#include "widgets/layout.hpp"

namespace attn::app::compare {

namespace {

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

void draw_weights(const Frame& frame, bool of_second, float width, float height) {
    const Attention& run = frame.run(of_second);
    const PairMaps& maps = frame.lens.maps(frame.subject);
    const Hover& pointed = frame.drawing.pointed;
    ui::MapView& view = seen_in(frame).views[of_second];
    const ui::MapPicture picture{
        .name = of_second ? "compare/map/second" : "compare/map/first",
        .map = of_second ? maps.second : maps.first,
        .query_names = run.query_names(),
        .key_names = run.key_names(),
        .choice = {},
        .title = "weight",
        .high = 1,
        .query = frame.query_of(of_second),
        .key = frame.pointed_key(of_second),
        .pointed = cell_at(of_second ? pointed.second_query : pointed.query, frame.pointed_key(of_second))};
    const ui::MapTouch touch = view.draw(picture, width, height, frame.drawing.deadline);
    if (touch.more) frame.drawing.visit.continue_with([&view] { return view.step(); });
    if (!touch.over) return;
    const auto [over, under] = *touch.over;
    frame.point_in(of_second, over, under);
    frame.drawing.now.cell = RunCell{Stage::weight, over, under, of_second};
    seen_in(frame).clicks.answer(frame.drawing, touch, [&] {
        present::pin(frame.drawing, *frame.drawing.now.cell);
        if (!of_second) return parts::choose_tokens(frame.drawing, over, under);
        Selection chosen = frame.selection();
        chosen.counterpart = over;
        frame.drawing.visit.perform(Select{chosen}, ui::gesture());
    });
}

// The cell under the cursor is explained as a subtraction.
void draw_difference(const Frame& frame, float width, float height) {
    const Alignment &queries = frame.pairings.queries.alignment(), &keys = frame.pairings.keys.alignment();
    if (queries.pairs().empty() || keys.pairs().empty())
        return ui::caption("The two sentences have no tokens that correspond.");
    const PairMaps& maps = frame.lens.maps(frame.subject);
    const auto key = place_of(keys, frame.drawing.pointed.key);
    const ui::MapPicture picture{.name = "compare/map/difference",
                                 .map = maps.difference,
                                 .query_names = maps.query_names,
                                 .key_names = maps.key_names,
                                 .choice = {},
                                 .title = "first − second",
                                 .high = 1,
                                 .query = place_of(queries, frame.query()),
                                 .key = key,
                                 .pointed = cell_at(place_of(queries, frame.drawing.pointed.query), key)};
    ui::MapView& view = seen_in(frame).difference_view;
    const ui::MapTouch touch = view.draw(picture, width, height, frame.drawing.deadline);
    if (touch.more) frame.drawing.visit.continue_with([&view] { return view.step(); });
    auto left_out = frame.first.queries() + frame.second.queries() - 2 * std::ssize(queries.pairs());
    if (!frame.first.one_line())
        left_out += frame.first.keys() + frame.second.keys() - 2 * std::ssize(keys.pairs());
    if (left_out)
        ui::caption((std::to_string(left_out) + (left_out == 1 ? " token has" : " tokens have") +
                     " no counterpart and are left out.")
                        .c_str());
    if (!touch.over) return;
    const TokenPair query = queries.pairs()[static_cast<std::size_t>(touch.over->query)],
                    under = keys.pairs()[static_cast<std::size_t>(touch.over->key)];
    const auto a = static_cast<double>(maps.first->cell(query.first, under.first)),
               b = static_cast<double>(maps.second->cell(query.second, under.second));
    if (std::isfinite(a) && std::isfinite(b))
        ui::tooltip((fixed(a, 4) + " − " + fixed(b, 4) + " = " + fixed(a - b, 4)).c_str());
    frame.point_in(false, query.first, under.first);
    frame.drawing.now.cell = cells::difference(query.first, under.first);
    seen_in(frame).clicks.answer(frame.drawing, touch, [&] {
        present::pin(frame.drawing, *frame.drawing.now.cell);
        parts::choose_tokens(frame.drawing, query.first, under.first);
    });
}

enum class Shown { first, second, difference };

void draw_map(const Frame& frame, Shown which, float width, float height) {
    static constexpr std::array keys{"first", "second", "difference"},
        titles{"Weights of the first", "Weights of the second", "Weights of the first minus the second"};
    const auto at = static_cast<std::size_t>(which);
    const auto [first, second] = frame.subject.comparing()->comparison_names();
    const float room = present::Card::width_within(width);
    const bool is_empty = which == Shown::difference && !frame.lens.maps(frame.subject).difference;
    present::Card::Text text{.key = std::string("compare/map/") + keys[at],
                             .title = titles[at],
                             .notation = which == Shown::first    ? text_within(first, second, room)
                                         : which == Shown::second ? text_within(second, first, room)
                                                                  : "",
                             .is_listed = false};
    if (!is_empty)
        text.table = [lens = &frame.lens, subject = &frame.subject, at] {
            return map_tables(*lens, *subject)[at];
        };
    const present::Card card(frame.drawing, std::move(text), width);
    which == Shown::difference ? draw_difference(frame, card.width(), height)
                               : draw_weights(frame, which == Shown::second, card.width(), height);
}

// Blinking pauses while the cursor is over the map, and when the user prefers reduced motion.
void draw_blinking(const Frame& frame, float width, float height) {
    CompareLens& lens = frame.lens;
    const double now = now_ms();
    const bool held = frame.drawing.pointed.query || frame.drawing.visit.still();
    if (!held && now >= lens.blink_turns_at) {
        lens.blinks_second = !lens.blinks_second;
        lens.blink_turns_at = now + blink_ms;
    }
    if (!held) frame.drawing.visit.continue_at(lens.blink_turns_at);
    static constexpr std::array<const char*, 2> names{"first", "second"};
    if (const auto chosen = ui::choice("compare/blink", names, lens.blinks_second)) {
        lens.blinks_second = *chosen == 1;
        lens.blink_turns_at = now + 3 * blink_ms;
    }
    draw_map(frame, lens.blinks_second ? Shown::second : Shown::first, width, height);
}

}  // namespace

void draw_maps(const Frame& frame, float width, float most_height) {
    switch (frame.drawing.state().of<State>().view) {
        case View::blink: return draw_blinking(frame, width, most_height);
        case View::difference: return draw_map(frame, Shown::difference, width, most_height);
        case View::sides: break;
    }
    const bool beside = width >= ui::two_maps;
    const float each = beside ? std::floor((width - present::card_gap) / 2) : width;
    for (const Shown which : {Shown::first, Shown::second}) {
        if (which == Shown::second && beside) ImGui::SameLine(0, present::card_gap);
        ImGui::BeginGroup();
        draw_map(frame, which, each, most_height);
        ImGui::EndGroup();
    }
}

}  // namespace attn::app::compare
