#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/compare/view.hpp"
#include "present/present.hpp"
#include "widgets/layout.hpp"

namespace attn::app::compare {

namespace {

constexpr float left_share = 0.33f, map_share = 0.7f, least_window = 480;

void draw_controls(const Frame& frame) {
    ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ui::compact({10, 4}));
    {
        const ui::Row row("compare/settings");
        static constexpr std::array<const char*, 3> names{"side by side", "blink", "difference"};
        const View view = frame.drawing.state().of<State>().view;
        if (const auto chosen = ui::choice("compare/view", names, static_cast<int>(view)))
            frame.drawing.visit.perform(Set<State>{{static_cast<View>(*chosen)}});
        frame.subject.comparing()->draw_comparison(frame.drawing);
    }
    ImGui::PopStyleVar();
}

void draw_vectors(const Frame& frame, const Alike& alike, float width) {
    if (alike.residual.empty()) return;
    const bool two_models =
        query_stack(frame.first).trace->model() != query_stack(frame.second).trace->model();
    present::Bars bars{
        .key = "compare/vector",
        .title = "Same word, different vector?",
        .notation =
            "Cosine of " + curly_quoted(label_at(frame.first.query_names(), alike.query)) + " and " +
            curly_quoted(label_at(frame.second.query_names(), alike.second_query)) +
            " in the residual stream, layer by layer." +
            (two_models ? " Models trained apart use directions of their own: only where one was made "
                          "from the other do vectors stay alike."
                        : ""),
        .value = "cosine",
        .bars = {},
        .scale = ui::diverging_scale(1),
        .cell = [](Index bar) { return cells::cosine(bar); },
        .tip =
            [&alike](Index bar) {
                return (bar == 0 ? "token and position: " : "after layer " + std::to_string(bar - 1) + ": ") +
                       arithmetic(alike.residual[static_cast<std::size_t>(bar)]);
            }};
    for (std::size_t i = 0; i < alike.residual.size(); ++i) {
        const double value = alike.residual[i].value();
        bars.bars.push_back({i == 0 ? "embedding" : "layer " + std::to_string(i - 1),
                             static_cast<float>(value), std::isnan(value) ? "–" : fixed(value, 3),
                             static_cast<Index>(i) == frame.selection().layer - alike.layers.begin + 1});
    }
    present::bars(frame.drawing, bars, width);
}

void draw_similarities(const Frame& frame, float width) {
    const auto second_query = frame.second_query();
    if (!second_query) {
        ui::section("Same word, different vector?");
        return ui::caption("This word has no counterpart: click a word of the second line.");
    }
    const Alike& alike = frame.lens.alike(frame.subject, frame.query(), *second_query);
    draw_vectors(frame, alike, width);
    if (const auto clicked = present::sheet(frame.drawing, heads_sheet(alike, frame.subject), width))
        parts::choose_head(frame.drawing, {alike.layers.begin + clicked->first, clicked->second});
}

}  // namespace

void CompareLens::draw(const Drawing& drawing, Subject& subject) {
    const Attention &first = *subject.attention(), &second = *second_of(subject);
    const Frame frame{*this, drawing, subject, first, second, pairings(subject)};
    draw_controls(frame);
    // A button may have ended the comparison.
    if (subject.attention() != &first || second_of(subject) != &second) return;
    const float width = ImGui::GetContentRegionAvail().x;
    const float window = std::max(ImGui::GetWindowHeight(), least_window);
    draw_words(frame, width);
    if (width < ui::two_unequal_columns) {
        draw_maps(frame, width, 1e6f);
        return draw_similarities(frame, width);
    }
    const float left = std::floor((width - present::card_gap) * left_share);
    ui::column("alike", left, [&](float) { draw_similarities(frame, left); });
    ImGui::SameLine(0, present::card_gap);
    ui::column("maps", width - left - present::card_gap,
               [&](float w) { draw_maps(frame, w, window * map_share); });
}

}  // namespace attn::app::compare
