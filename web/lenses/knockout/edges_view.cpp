// Draws the edges of a head, and what is patched between two texts.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "app/shown_tokens.hpp"
#include "lenses/knockout/knockout.hpp"
#include "lenses/knockout/view.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/chosen_row.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"
#include "widgets/bars.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr float names_width = 90, least_cell = 34, least_map = 400, edge_name_width = 170;
constexpr Index most_shown = 20, bars_shown = 14;

Index fitting(float width) {
    return std::min(static_cast<Index>((width - names_width) / least_cell), most_shown);
}

}  // namespace

// ---- Edges ------------------------------------------------------------------------------------------------

// Where the chosen query looks, above what it would cost if it did not.
void KnockoutLens::draw_row(const Drawing& drawing, Subject& subject, const ShownTokens& keys, float width) {
    const Attention& attention = *subject.attention();
    const HeadIndex head = subject.chosen_head();
    const Index query = chosen_query(subject);
    const std::vector<float> weights = attention.record(head.layer)->weights(head.head, query);
    const std::vector<std::string> columns = keys.labels_by([&](Index key) {
        return knockout_view::short_name(attention.key_names(), key);
    }),
                                   rows = {knockout_view::short_name(attention.query_names(), query)};
    const std::vector<Index>& seen = cuts()->keys();
    for (const bool cut : {false, true}) {
        Matrix values(1, keys.size());
        for (Index c = 0; c < values.cols; ++c) {
            const Index key = keys[c];
            const bool sees = std::ranges::binary_search(seen, key);
            values.at(0, c) = !sees ? NAN
                              : cut ? value_at(knockout_cells::edge_ablation(key))
                                    : static_cast<double>(weights[static_cast<std::size_t>(key)]);
        }
        ui::MatrixGrid grid;
        grid.name = cut ? "knockout/cut" : "knockout/row";
        grid.first = {query, 0};
        grid.title = cut ? "Falls without the edge" : "Weights";
        grid.notation =
            cut ? "run as it is − run in which the query does not see the key" : "of the chosen query";
        grid.row_labels = rows;
        grid.column_labels = columns;
        grid.row_axis = "query";
        grid.column_axis = "key";
        grid.is_signed = cut;
        const auto cell_of = [&](ui::CellAt at) {
            const Index key = keys[at.second];
            return cut ? knockout_cells::edge_ablation(key)
                       : CellRef{.stage = Stage::weight, .row = query, .col = key};
        };
        if (const auto clicked = knockout_view::draw_grid(grid, values, width, cell_of, drawing))
            parts::choose_tokens(drawing, selection_of(drawing).query, keys[clicked->second]);
    }
}

void KnockoutLens::draw_head_map(const Drawing& drawing, Subject& subject, const ShownTokens& queries,
                                 const ShownTokens& keys, bool estimates, float width) {
    const Attention& attention = *subject.attention();
    const HeadIndex head = subject.chosen_head();
    const auto record = attention.record(head.layer);
    Matrix values(queries.size(), keys.size());
    for (Index r = 0; r < values.rows; ++r) {
        const Index query = queries[r];
        const std::vector<float> weights = record->weights(head.head, query);
        const std::vector<EdgeTerms>* estimated = head_cuts()->row(query);
        for (Index c = 0; c < values.cols; ++c) {
            const Index key = keys[c];
            const bool seen = record->spec().mask.allows(head.head, query, key);
            values.at(r, c) = !seen || (estimates && !estimated) ? NAN
                              : estimates ? -(*estimated)[static_cast<std::size_t>(key)].effect()
                                          : static_cast<double>(weights[static_cast<std::size_t>(key)]);
        }
    }
    const auto short_names = [](const ShownTokens& shown, std::span<const std::string> names) {
        return shown.labels_by([&](Index i) { return knockout_view::short_name(names, i); });
    };
    const std::vector<std::string> columns = short_names(keys, attention.key_names()),
                                   rows = short_names(queries, attention.query_names());
    ui::MatrixGrid grid;
    grid.name = estimates ? "knockout/estimate" : "knockout/weights";
    grid.title = estimates ? "Falls without the edge, estimated" : "Weights of the head";
    grid.notation = estimates ? "to first order, all edges by one backward pass" : "where it looks";
    grid.row_labels = rows;
    grid.column_labels = columns;
    grid.row_axis = "query";
    grid.column_axis = "key";
    grid.is_signed = estimates;
    const auto cell_of = [&](ui::CellAt at) {
        const Index query = queries[at.first], key = keys[at.second];
        return estimates ? knockout_cells::edge_estimate(query, key)
                         : CellRef{.stage = Stage::weight, .row = query, .col = key};
    };
    if (const auto clicked = knockout_view::draw_grid(grid, values, width, cell_of, drawing))
        parts::choose_tokens(drawing, queries[clicked->first], keys[clicked->second]);
}

void KnockoutLens::draw_strongest(const Drawing& drawing, Subject& subject, float width) {
    const EdgeEstimates& estimates = head_cuts()->estimates();
    if (!estimates.done()) return ui::caption("All edges of the head are being estimated.");
    const auto& strongest = estimates.strongest();
    const std::span<const double> exact = head_cuts()->exact();
    ui::section("Its strongest edges, cut");
    if (const auto& off = head_cuts()->off()) {
        const EdgeEstimates::Edge& worst = strongest[off->worst_at];
        const Attention& attention = *subject.attention();
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
    if (exact.empty()) return;
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
    const auto over = ui::bar_list("knockout/strongest", "The strongest edges of the head", width, bars,
                                   largest, ui::diverging_scale(largest), edge_name_width);
    if (!over) return;
    const CellRef cell = knockout_cells::strongest_edge(*over);
    drawing.now.cell = cell;
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (ui::clicked()) present::pin(drawing, cell);
}

void KnockoutLens::draw_edges(const Drawing& drawing, Subject& subject, float width) {
    const Attention& attention = *subject.attention();
    const Index query = chosen_query(subject), fit = fitting(width);
    const Index last_key = attention.one_line() ? query : attention.keys() - 1;
    const std::vector<Index> named = keys_named(subject);
    draw_row(drawing, subject, {attention.keys(), fit, last_key, named}, width);
    if (!head_cuts()) {
        ui::caption(head_cuts_.refused.c_str());
        return ui::landmark_item("knockout/no_estimate");
    }
    const Index in_map =
        fitting(width >= 2 * least_map + ui::column_gap ? (width - ui::column_gap) / 2 : width);
    // The strongest edges of all are in the map as well, in half of the room, and the key that its rows look at most.
    std::vector<Index> named_queries{query}, named_keys;
    const auto add = [&](std::vector<Index>& to, Index token, Index most) {
        if (token >= 0 && std::ranges::find(to, token) == to.end() && std::ssize(to) < most)
            to.push_back(token);
    };
    const auto& strongest = head_cuts()->estimates().strongest();
    for (const EdgeEstimates::Edge& edge : strongest) add(named_queries, edge.query, in_map / 2);
    const ShownTokens queries{attention.queries(), in_map, query, named_queries};
    const HeadIndex head = subject.chosen_head();
    std::vector<double> looked(static_cast<std::size_t>(attention.keys()));
    for (const Index row : queries) {
        const std::vector<float> weights = attention.record(head.layer)->weights(head.head, row);
        for (std::size_t key = 0; key < looked.size(); ++key)
            looked[key] += static_cast<double>(weights[key]);
    }
    for (const Index key : named) add(named_keys, key, in_map);
    if (attention.one_line()) add(named_keys, query, in_map);
    add(named_keys, std::ranges::max_element(looked) - looked.begin(), in_map);
    for (const EdgeEstimates::Edge& edge : strongest)
        add(named_keys, edge.key, std::max(in_map / 2, Index{5}));
    const ShownTokens keys{attention.keys(), in_map, last_key, named_keys};
    head_cuts_.job->show(queries);
    const auto map = [&](bool estimates) {
        return [&, estimates](float w) { draw_head_map(drawing, subject, queries, keys, estimates, w); };
    };
    ui::columns("knockout/maps", least_map, ui::column_gap, map(false), map(true));
    if (!queries.are_all() || !keys.are_all()) {
        ui::caption(
            ("Shown are " + std::to_string(queries.size()) + " of " + with_commas(attention.queries()) +
             " queries" + " and " + many(keys.size(), "key") + " of " + with_commas(attention.keys()) +
             ": the chosen one, those with the strongest edges, and the newest before it; “…” marks a gap.")
                .c_str());
        ui::landmark_item("knockout/window");
    }
    draw_strongest(drawing, subject, width);
}

// ---- Patching ---------------------------------------------------------------------------------------------

void KnockoutLens::draw_patching(const Drawing& drawing, Subject& subject, float width) {
    const Attention &attention = *subject.attention(), &patched = now().back ? *subject.second() : attention;
    const Range layers = patches()->attentions(), tokens = patches()->tokens();
    Matrix values(layers.size(), tokens.size());
    std::vector<std::string> rows;
    for (Index layer = layers.begin; layer < layers.end; ++layer) {
        rows.push_back(attention.numbering().name(layer));
        for (Index token = tokens.begin; token < tokens.end; ++token)
            values.at(layer - layers.begin, token - tokens.begin) =
                value_at(knockout_cells::patching(layer, token));
    }
    const std::vector<std::string> columns = knockout_view::column_names(patched.query_names(), tokens);
    ui::MatrixGrid grid;
    grid.name = "knockout/patch";
    grid.first = {layers.begin, tokens.begin};
    grid.title = "Moves if this is the other text’s";
    grid.notation = "run with the other’s vector − run as it is";
    grid.row_labels = rows;
    grid.column_labels = columns;
    grid.row_axis = "layer";
    grid.column_axis = "token";
    grid.is_signed = true;
    const auto cell_of = [&](ui::CellAt at) {
        return knockout_cells::patching(layers.begin + at.first, tokens.begin + at.second);
    };
    knockout_view::draw_grid(grid, values, width, cell_of, drawing);
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
