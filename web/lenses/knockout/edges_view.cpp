// Draws the edges of a head, and patching between two texts.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "app/shown_tokens.hpp"
#include "lenses/knockout/knockout.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float names_width = 120, least_cell = 40, least_map = 560, edge_name_width = 170, below_text = 4;
constexpr Index bars_shown = 14;

}  // namespace

// ---- Edges ------------------------------------------------------------------------------------------------

void KnockoutLens::draw_strongest(const Drawing& drawing, Subject& subject, float width) {
    const EdgeEstimates& estimates = head_cuts()->estimates();
    if (!estimates.done()) return ui::caption("All edges of the head are being estimated.");
    const auto& strongest = estimates.strongest();
    const std::span<const double> exact = head_cuts()->exact();
    const Attention& attention = *subject.attention();
    std::vector<ui::Bar> bars;
    double most = 0;
    const auto shown = std::min(exact.size(), static_cast<std::size_t>(bars_shown));
    for (std::size_t i = 0; i < shown; ++i) {
        const EdgeEstimates::Edge& edge = strongest[i];
        most = std::max(most, std::abs(exact[i]));
        bars.push_back({query_in_words(attention, edge.query) + " → " + key_in_words(attention, edge.key),
                        static_cast<float>(-exact[i]),
                        fixed(-exact[i], 3) + "   estimate " + fixed(-edge.effect, 3), false, false});
    }
    const auto largest = static_cast<float>(most);
    if (shown > 0)
        present::bars(drawing,
                      {.key = "knockout/strongest",
                       .title = "Its strongest edges, cut",
                       .bars = bars,
                       .most = largest,
                       .scale = ui::diverging_scale(largest),
                       .most_name = edge_name_width,
                       .cell = [](Index i) { return knockout_cells::strongest_edge(i); },
                       .table = [&] { return strongest_table(subject); }},
                      width);
    if (const auto& off = head_cuts()->off()) {
        const EdgeEstimates::Edge& worst = strongest[off->worst_at];
        ui::caption(("The " + std::to_string(strongest.size()) +
                     " edges with the largest estimates, cut one by one: the "
                     "estimate is off by " +
                     fixed(off->median, 4) + " in the median and by " + fixed(off->worst, 4) +
                     " at worst, for " + query_in_words(attention, worst.query) + " → " +
                     key_in_words(attention, worst.key) + "; the rank correlation of the two is " +
                     fixed(off->rank_correlation, 2) + ".")
                        .c_str());
        ui::landmark_item("knockout/off_by");
    }
}

KnockoutLens::MapTokens KnockoutLens::map_tokens(Subject& subject, Index room) const {
    const Attention& attention = *subject.attention();
    const HeadIndex head = subject.chosen_head();
    const Index query = chosen_query(subject);
    // The strongest edges of all take at most half of the room; the key that the queries attend to most is
    // shown, too.
    std::vector<Index> queries{query}, keys;
    const auto add = [&](std::vector<Index>& to, Index token, Index most) {
        if (token >= 0 && std::ranges::find(to, token) == to.end() && std::ssize(to) < most)
            to.push_back(token);
    };
    const auto& strongest = head_cuts()->estimates().strongest();
    for (const EdgeEstimates::Edge& edge : strongest) add(queries, edge.query, room / 2);
    const ShownTokens shown{attention.queries(), room, query, queries};
    std::vector<double> looked(static_cast<std::size_t>(attention.keys()));
    for (const Index row : shown) {
        const std::vector<float> weights = attention.record(head.layer)->weights(head.head, row);
        for (std::size_t key = 0; key < looked.size(); ++key)
            looked[key] += static_cast<double>(weights[key]);
    }
    for (const Index key : keys_named(subject)) add(keys, key, room);
    if (attention.one_line()) add(keys, query, room);
    add(keys, std::ranges::max_element(looked) - looked.begin(), room);
    for (const EdgeEstimates::Edge& edge : strongest) add(keys, edge.key, std::max(room / 2, Index{5}));
    return {shown, keys};
}

void KnockoutLens::draw_edges(const Drawing& drawing, Subject& subject, float width) {
    const Attention& attention = *subject.attention();
    if (const auto clicked = present::sheet(drawing, row_sheet(subject), width))
        parts::choose_tokens(drawing, selection_of(drawing).query, clicked->second);
    if (!head_cuts()) {
        ui::caption(head_cuts_.refused.c_str());
        return ui::landmark_item("knockout/no_estimate");
    }
    const float map_width =
        width >= 2 * least_map + present::card_gap ? (width - present::card_gap) / 2 : width;
    const auto fitting = static_cast<Index>((map_width - names_width) / least_cell);
    const MapTokens tokens = map_tokens(subject, std::clamp(fitting, Index{4}, most_in_map));
    head_cuts_.job->show(tokens.queries);
    const auto map = [&](bool estimates) {
        return [&, estimates](float w) {
            if (const auto clicked =
                    present::sheet(drawing, map_sheet(subject, tokens.queries, tokens.keys, estimates), w))
                parts::choose_tokens(drawing, tokens.queries[clicked->first], clicked->second);
        };
    };
    ui::columns("knockout/maps", least_map, present::card_gap, map(false), map(true));
    if (!tokens.queries.are_all()) {
        ui::caption(("Shown are " + std::to_string(tokens.queries.size()) + " of " +
                     with_commas(attention.queries()) +
                     " queries: the chosen one, those with the strongest edges, and the newest before it; "
                     "“…” marks a "
                     "gap.")
                        .c_str());
        ui::landmark_item("knockout/window");
        ImGui::Dummy({0, below_text});
    }
    draw_strongest(drawing, subject, width);
}

// ---- Patching ---------------------------------------------------------------------------------------------

void KnockoutLens::draw_patching(const Drawing& drawing, Subject& subject, float width) {
    const Attention& patched = now().back ? *subject.second() : *subject.attention();
    const Range tokens = patches()->tokens();
    present::sheet(drawing, patch_sheet(subject), width);
    ui::caption((target_name(subject) + " is " + fixed(patches()->value(), 3) +
                 " in the text that is patched and " + fixed(patches()->other(), 3) + " in the other.")
                    .c_str());
    ui::landmark_item("knockout/between");
    if (tokens.size() < patched.queries())
        ui::caption(("Shown are " + many(tokens.size(), "token") + " of " +
                     std::to_string(patched.queries()) + ", up to the chosen one.")
                        .c_str());
}

}  // namespace attn::app
