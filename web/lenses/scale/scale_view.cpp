#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "analysis/moments.hpp"
#include "app/format.hpp"
#include "lenses/scale/scale.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app {

namespace {

constexpr Index bins = 41;
constexpr float plot_height = 240, most_plot_width = 720, axis_height = 38;
constexpr double reach_in_spreads = 4;

}  // namespace

void ScaleLens::draw_controls(Subject& subject) {
    ScaleState scale = state().of<ScaleState>();
    const Attention* attention = subject.attention();
    const auto record =
        attention ? attention->record(std::min(state().selection.layer, attention->layers() - 1)) : nullptr;
    static constexpr std::array<const char*, 2> names{"seeded normal", "of this head"};
    ImGui::BeginGroup();
    ui::label("vectors");
    ImGui::BeginDisabled(!record);
    if (const auto chosen = ui::choice("scale/vectors", names, record ? static_cast<int>(scale.vectors) : 0))
        scale.vectors = static_cast<ScaleVectors>(*chosen);
    ImGui::EndDisabled();
    ImGui::EndGroup();
    if (!record) ui::tooltip("There are no q and k here: the weights were given finished.");
    const bool of_head = record && scale.vectors == ScaleVectors::head;
    const Index most = of_head ? record->d_k() : scale_components_limit;
    ui::next_control(ui::need::slider);
    ImGui::BeginGroup();
    if (const auto d = ui::slider("scale/d", "d_k", static_cast<double>(std::min(scale.components, most)), 1,
                                  static_cast<double>(most), "%.0f", true))
        scale.components = std::clamp(static_cast<Index>(std::lround(*d)), Index{1}, most);
    ImGui::EndGroup();
    if (!of_head) {
        ui::next_control(ui::need::stepper);
        ImGui::BeginGroup();
        if (const auto seed = ui::stepper("scale/seed", "seed", static_cast<Index>(scale.seed), 0, 999'999))
            scale.seed = static_cast<std::uint32_t>(*seed);
        ImGui::EndGroup();
    }
    if (scale != state().of<ScaleState>()) visit().perform(SetScale{scale}, ui::gesture());
}

void ScaleLens::draw_histogram(const DotProducts& shown, float width) const {
    const ui::Theme& t = ui::theme();
    const Moments moments = moments_of(shown.values());
    const auto d = static_cast<double>(shown.components());
    // The same axis for all d of normal vectors would hide what changes: it grows with what is expected.
    const double reach = std::max(reach_in_spreads * std::sqrt(std::max(d, moments.variance)), 1e-6);
    const std::vector<Index> counts = histogram_of(shown.values(), reach, bins);
    const auto most = static_cast<float>(std::max(std::ranges::max(counts), Index{1}));
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const ImVec2 end{corner.x + width, corner.y + plot_height};
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled(corner, end, t.surface, 6);
    list->AddRect(corner, end, t.border, 6);
    const float bar = width / static_cast<float>(bins), room = plot_height - 16;
    ImGui::InvisibleButton("histogram", {width, plot_height});
    ui::landmark_item("scale/histogram");
    ui::semantic_item(ui::Role::img, "scale/histogram", "Histogram of q · k");
    const float at = ImGui::GetMousePos().x - corner.x;
    const bool hovered = ImGui::IsItemHovered();
    const auto over = static_cast<std::size_t>(std::clamp(at / bar, 0.0f, bins - 1.0f));
    const auto edge = [&](std::size_t bin) {
        return reach * (2 * static_cast<double>(bin) / static_cast<double>(bins) - 1);
    };
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const float left = corner.x + static_cast<float>(i) * bar;
        const float high = room * static_cast<float>(counts[i]) / most;
        list->AddRectFilled({left + 1, end.y - high}, {left + bar - 1, end.y},
                            hovered && over == i ? t.accent : ui::with_alpha(t.accent, 0.6f), 2);
    }
    // N(0, d) as these bins would count it.
    const auto expected = [&](double x) {
        const double density = std::exp(-x * x / (2 * d)) / std::sqrt(2 * std::numbers::pi * d);
        return static_cast<double>(shown.values().size()) * density * 2 * reach / static_cast<double>(bins);
    };
    constexpr int pieces = 120;
    ImVec2 before{};
    for (int i = 0; i <= pieces; ++i) {
        const double x = reach * (2.0 * i / pieces - 1);
        const float y = end.y - room * std::min(static_cast<float>(expected(x)) / most, 1.05f);
        const ImVec2 now{corner.x + width * static_cast<float>(i) / pieces, y};
        if (i > 0) list->AddLine(before, now, t.changed, 2);
        before = now;
    }
    ui::Type mono(ui::Face::mono, 12);
    for (const double share : {-1.0, -0.5, 0.0, 0.5, 1.0}) {
        const std::string text = share == 0 ? "0" : fixed(share * reach, reach < 10 ? 1 : 0);
        const float x = corner.x + width * static_cast<float>(share + 1) / 2;
        const float half = ui::text_size(text).x / 2;
        ui::draw_text(list, {std::clamp(x - half, corner.x, end.x - 2 * half), end.y + 4}, t.dim, text);
    }
    const std::string axis = "q · k →";
    ui::draw_text(list, {end.x - ui::text_size(axis).x, end.y + 20}, t.dim, axis);
    ui::draw_text(list, {corner.x + 8, corner.y + 6}, t.dim, "pairs ↑");
    ImGui::Dummy({width, axis_height});
    if (hovered)
        ui::tooltip((std::to_string(counts[over]) + " of " + std::to_string(shown.values().size()) +
                     " pairs have q · k from " + fixed(edge(over), 2) + " to " + fixed(edge(over + 1), 2))
                        .c_str());
    const std::string measured = "q · k of " + std::to_string(shown.values().size()) + " pairs: mean " +
                                 fixed(moments.mean, 3) + ", variance " + fixed(moments.variance, 2) +
                                 " beside d_k = " + std::to_string(shown.components()) +
                                 ". The line is the normal density with variance d_k.";
    ui::caption(measured.c_str());
    ui::landmark_item("scale/measured");
}

void ScaleLens::draw(const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    ui::caption(
        "Drag d_k and watch the scores spread. Everything is computed, from seeded normal vectors or from "
        "this head's own q and k.");
    draw_controls(subject);
    ImGui::Dummy({0, 6});
    const DotProducts& shown = products(subject);
    draw_histogram(shown, std::min(ImGui::GetContentRegionAvail().x, most_plot_width));
    if (!shown.done())
        drawing.visit.continue_with([this, begun = shown_] { return shown_ == begun && products_->step(); });
}

}  // namespace attn::app
