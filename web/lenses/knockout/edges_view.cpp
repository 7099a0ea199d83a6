// Draws the edges of a head, and what is patched between two texts.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/knockout/knockout.hpp"
#include "lenses/knockout/view.hpp"
#include "parts/part.hpp"
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

// As many as fit, up to this one and on from it where there are none before.
Range up_to(Index all, Index one, Index count) {
    count = std::clamp(count, Index{1}, all);
    const Index first = std::clamp(one + 1 - count, Index{0}, all - count);
    return {first, first + count};
}

Index fitting(float width) {
    return std::min(static_cast<Index>((width - names_width) / least_cell), most_shown);
}

}  // namespace

// ---- Edges ------------------------------------------------------------------------------------------------

// Where the chosen query looks, above what it would cost if it did not.
void KnockoutLens::draw_row(const Drawing& drawing, Subject& subject, Range keys, float width) {
    const Attention& attention = *subject.attention();
    const HeadIndex head = subject.chosen_head();
    const Index query = chosen_query(subject);
    const std::vector<float> weights = attention.record(head.layer)->weights(head.head, query);
    const std::vector<std::string> columns = knockout_view::column_names(attention.key_names(), keys),
                                   rows = knockout_view::column_names(attention.query_names(),
                                                                      {query, query + 1});
    const std::vector<Index>& seen = cuts()->keys();
    for (const bool cut : {false, true}) {
        Matrix values(1, keys.size());
        for (Index c = 0; c < values.cols; ++c) {
            const Index key = keys.begin + c;
            const bool sees = std::ranges::binary_search(seen, key);
            values.at(0, c) = !sees ? NAN
                              : cut ? value_at(knockout_rows::cut, key)
                                    : static_cast<double>(weights[static_cast<std::size_t>(key)]);
        }
        ui::MatrixGrid grid;
        grid.name = cut ? "knockout/cut" : "knockout/row";
        grid.first = {query, keys.begin};
        grid.title = cut ? "Falls without the edge" : "Weights";
        grid.notation =
            cut ? "run as it is − run in which the query does not see the key" : "of the chosen query";
        grid.row_labels = rows;
        grid.column_labels = columns;
        grid.row_axis = "query";
        grid.column_axis = "key";
        grid.is_signed = cut;
        const auto cell_of = [&](ui::CellAt at) {
            const Index key = keys.begin + at.second;
            return cut ? CellRef{.stage = Stage::lens, .row = knockout_rows::cut, .col = key}
                       : CellRef{.stage = Stage::weight, .row = query, .col = key};
        };
        if (const auto clicked = knockout_view::draw_grid(grid, values, width, cell_of, drawing))
            parts::choose_tokens(drawing, drawing.selection().query, keys.begin + clicked->second);
    }
}

void KnockoutLens::draw_head_map(const Drawing& drawing, Subject& subject, Range queries, Range keys,
                                 bool estimates, float width) {
    const Attention& attention = *subject.attention();
    const HeadIndex head = subject.chosen_head();
    const auto record = attention.record(head.layer);
    Matrix values(queries.size(), keys.size());
    std::vector<float> weights(values.values.size());
    record->stage(Stage::weight, head.head, queries, keys, weights);
    for (Index r = 0; r < values.rows; ++r) {
        const Index query = queries.begin + r;
        const std::vector<EdgeTerms>* estimated = head_cuts()->row(query);
        for (Index c = 0; c < values.cols; ++c) {
            const Index key = keys.begin + c;
            const bool seen = record->spec().mask.allows(head.head, query, key);
            values.at(r, c) =
                !seen || (estimates && !estimated) ? NAN
                : estimates                        ? -(*estimated)[static_cast<std::size_t>(key)].effect()
                            : static_cast<double>(weights[static_cast<std::size_t>(r * values.cols + c)]);
        }
    }
    const std::vector<std::string> columns = knockout_view::column_names(attention.key_names(), keys),
                                   rows = knockout_view::column_names(attention.query_names(), queries);
    ui::MatrixGrid grid;
    grid.name = estimates ? "knockout/estimate" : "knockout/weights";
    grid.first = {queries.begin, keys.begin};
    grid.title = estimates ? "Falls without the edge, estimated" : "Weights of the head";
    grid.notation = estimates ? "to first order, all edges by one backward pass" : "where it looks";
    grid.row_labels = rows;
    grid.column_labels = columns;
    grid.row_axis = "query";
    grid.column_axis = "key";
    grid.is_signed = estimates;
    const auto cell_of = [&](ui::CellAt at) {
        const Index query = queries.begin + at.first, key = keys.begin + at.second;
        return estimates ? CellRef{.stage = Stage::lens, .row = knockout_rows::estimate + query, .col = key}
                         : CellRef{.stage = Stage::weight, .row = query, .col = key};
    };
    if (const auto clicked = knockout_view::draw_grid(grid, values, width, cell_of, drawing))
        parts::choose_tokens(drawing, queries.begin + clicked->first, keys.begin + clicked->second);
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
    const CellRef cell{.stage = Stage::lens, .row = knockout_rows::strongest, .col = *over};
    drawing.now.cell = cell;
    ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
    if (ui::clicked()) parts::pin(drawing, cell);
}

void KnockoutLens::draw_edges(const Drawing& drawing, Subject& subject, float width) {
    const Attention& attention = *subject.attention();
    const Index query = chosen_query(subject), fit = fitting(width);
    const Index last_key = attention.one_line() ? query : attention.keys() - 1;
    draw_row(drawing, subject, up_to(attention.keys(), last_key, fit), width);
    if (!head_cuts()) {
        ui::caption(head_cuts_.refused.c_str());
        return ui::landmark_item("knockout/no_estimate");
    }
    const Index in_map =
        fitting(width >= 2 * least_map + ui::column_gap ? (width - ui::column_gap) / 2 : width);
    const Range queries = up_to(attention.queries(), query, in_map),
                keys = up_to(attention.keys(), last_key, in_map);
    head_cuts_.job->show(queries);
    const auto map = [&](bool estimates) {
        return [&, estimates](float w) { draw_head_map(drawing, subject, queries, keys, estimates, w); };
    };
    ui::columns("knockout/maps", least_map, ui::column_gap, map(false), map(true));
    if (queries.size() < attention.queries() || keys.size() < attention.keys()) {
        const auto range = [](const Range& part) {
            return std::to_string(part.begin) + " to " + std::to_string(part.end - 1);
        };
        ui::caption(
            ("In view are queries " + range(queries) + " of " + with_commas(attention.queries()) +
             " and keys " + range(keys) + " of " + with_commas(attention.keys()) +
             ", up to the chosen query: choose another to move there. The strongest edges below are of all.")
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
                value_at(knockout_rows::patch + layer, token);
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
        return CellRef{.stage = Stage::lens,
                       .row = knockout_rows::patch + layers.begin + at.first,
                       .col = tokens.begin + at.second};
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
