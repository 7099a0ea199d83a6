// Draws the edges of a head, and patching between two texts.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/knockout/knockout.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/reading.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::knockout {

namespace {

constexpr float names_width = 120, least_cell = 40, least_map = 560, edge_name_width = 170, below_text = 4;
constexpr std::size_t bars_shown = 14;

void draw_strongest(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const EdgeEstimates& estimates = model.head_cuts()->estimates();
    if (!estimates.done()) return ui::caption("All edges of the head are being estimated.");
    const auto& strongest = estimates.strongest();
    const Attention& attention = *subject.attention();
    const auto edge_name = [&](const EdgeEstimates::Edge& edge) {
        return query_in_words(attention, edge.query) + " → " + key_in_words(attention, edge.key);
    };
    const std::span<const double> all = model.head_cuts()->exact(),
                                  exact = all.first(std::min(all.size(), bars_shown));
    std::vector<ui::Bar> bars;
    float most = 0;
    for (std::size_t i = 0; i < exact.size(); ++i) {
        most = std::max(most, static_cast<float>(std::abs(exact[i])));
        bars.push_back({edge_name(strongest[i]), static_cast<float>(-exact[i]),
                        fixed(-exact[i], 3) + "   estimate " + fixed(-strongest[i].effect, 3), false, false});
    }
    if (!bars.empty())
        present::bars(drawing,
                      {.key = "knockout/strongest",
                       .title = "Its strongest edges, cut",
                       .bars = bars,
                       .most = most,
                       .scale = ui::diverging_scale(most),
                       .most_name = edge_name_width,
                       .cell = [](Index i) { return cells::strongest_edge(i); },
                       .table = [&] { return strongest_table(model, subject); }},
                      width);
    const auto& off = model.head_cuts()->off();
    if (!off) return;
    ui::caption(("The " + std::to_string(strongest.size()) +
                 " edges with the largest estimates, cut one by one: the estimate is off by " +
                 fixed(off->median, 4) + " in the median and by " + fixed(off->worst, 4) + " at worst, for " +
                 edge_name(strongest[off->worst_at]) + "; the rank correlation of the two is " +
                 fixed(off->rank_correlation, 2) + ".")
                    .c_str());
    ui::landmark_item("knockout/off_by");
}

}  // namespace

void draw_edges(Model& model, const Drawing& drawing, Subject& subject) {
    const float width = ImGui::GetContentRegionAvail().x;
    const Attention& attention = *subject.attention();
    if (const auto clicked = present::sheet(drawing, row_sheet(model, subject), width))
        parts::choose_tokens(drawing, selection_of(drawing).query, clicked->second);
    Result<HeadCuts>& cuts = *model.measured.head_cuts.kept();
    if (!cuts) {
        ui::caption(cuts.error().message.c_str());
        return ui::landmark_item("knockout/no_estimate");
    }
    const float map_width =
        width >= 2 * least_map + present::card_gap ? (width - present::card_gap) / 2 : width;
    const auto fitting = static_cast<Index>((map_width - names_width) / least_cell);
    const MapTokens tokens = map_tokens(model, subject, std::clamp(fitting, Index{4}, most_in_map));
    const ShownTokens& queries = tokens.queries;
    cuts->show({queries.begin(), queries.end()});
    const auto map = [&](bool estimates) {
        return [&, estimates](float w) {
            if (const auto clicked = present::sheet(drawing, map_sheet(model, subject, tokens, estimates), w))
                parts::choose_tokens(drawing, queries[clicked->first], clicked->second);
        };
    };
    ui::columns("knockout/maps", least_map, present::card_gap, map(false), map(true));
    if (!queries.are_all()) {
        ui::caption(("Shown are " + std::to_string(queries.size()) + " of " +
                     with_commas(attention.queries()) +
                     " queries: the chosen one, those with the strongest edges, and the newest before it; "
                     "“…” marks a gap.")
                        .c_str());
        ui::landmark_item("knockout/window");
        ImGui::Dummy({0, below_text});
    }
    draw_strongest(model, drawing, subject, width);
}

void draw_patching(const Model& model, const Drawing& drawing, Subject& subject) {
    const Patches& patches = *model.patches();
    present::sheet(drawing, patch_sheet(model, subject), ImGui::GetContentRegionAvail().x);
    ui::caption((model.target_name(subject) + " is " + fixed(patches.value(), 3) +
                 " in the text that is patched and " + fixed(patches.other(), 3) + " in the other.")
                    .c_str());
    ui::landmark_item("knockout/between");
    const Index shown = patches.tokens().size(), all = model.patched(subject).queries();
    if (shown < all)
        ui::caption(
            ("Shown are " + many(shown, "token") + " of " + std::to_string(all) + ", up to the chosen one.")
                .c_str());
}

}  // namespace attn::app::knockout
