#include "widgets/plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <utility>

#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"

namespace attn::ui {

namespace {

constexpr float axis_width = 42, plot_title_height = 24, plot_axis_height = 18;

struct Frame {
    ImVec2 min, max;
    const Plot& plot;

    float x(std::int64_t step) const {
        return min.x + (max.x - min.x) *
                           static_cast<float>(static_cast<double>(step) /
                                              static_cast<double>(std::max<std::int64_t>(plot.steps, 1)));
    }
    float y(float value) const {
        return max.y - (max.y - min.y) * std::clamp((value - plot.low) / (plot.high - plot.low), 0.0f, 1.0f);
    }
    std::int64_t step_at(float at) const {
        const double share = std::clamp((at - min.x) / (max.x - min.x), 0.0f, 1.0f);
        return std::llround(share * static_cast<double>(plot.steps));
    }
};

std::string written(const Plot& plot, float value) {
    char text[32];
    std::snprintf(text, sizeof text, plot.format.c_str(), static_cast<double>(value));
    return text;
}

void grid(ImDrawList* list, const Frame& frame) {
    Type mono(Face::mono, 12);
    const float half = (frame.plot.low + frame.plot.high) / 2;
    for (const float value : {frame.plot.low, half, frame.plot.high}) {
        const float y = std::floor(frame.y(value)) + 0.5f;
        list->AddLine({frame.min.x, y}, {frame.max.x, y},
                      with_alpha(theme().border, value == frame.plot.low ? 1 : 0.5f));
        const std::string text = written(frame.plot, value);
        draw_text(list, {frame.min.x - 8 - text_size(text).x, y - ImGui::GetFontSize() / 2}, theme().dim,
                  text);
    }
    for (const std::int64_t step : {std::int64_t{0}, frame.plot.steps / 2, frame.plot.steps}) {
        const std::string text = (step == 0 ? "step " : "") + std::to_string(step);
        const float wide = text_size(text).x, x = frame.x(step);
        draw_text(list, {bounded(x - wide / 2, frame.min.x, frame.max.x - wide), frame.max.y + 4},
                  theme().dim, text);
    }
}

// Draws at most one point per pixel; points that share one are averaged.
void line(ImDrawList* list, const Frame& frame, const Curve& curve) {
    std::vector<ImVec2> run;
    const auto flush = [&] {
        const int count = static_cast<int>(run.size());
        if (curve.dashed)
            for (std::size_t i = 1; i < run.size(); i += 2)
                list->AddLine(run[i - 1], run[i], curve.colour, 1.5f);
        else if (count > 1)
            list->AddPolyline(run.data(), count, curve.colour, 0, 1.5f);
        run.clear();
    };
    float pixel = -1, sum = 0, count = 0;
    const auto put = [&] {
        if (count > 0) run.push_back({pixel, frame.y(sum / count)});
        sum = count = 0;
    };
    for (std::size_t i = 0; i < curve.steps.size(); ++i) {
        if (!std::isfinite(curve.values[i])) {
            put();
            flush();
            continue;
        }
        const float x = std::floor(frame.x(curve.steps[i]));
        if (x != pixel) put();
        pixel = x;
        sum += curve.values[i];
        ++count;
    }
    put();
    flush();
}

// Returns the last value that is not after the step.
std::optional<float> value_at(const Curve& curve, std::int64_t step) {
    const auto after = std::ranges::upper_bound(curve.steps, step);
    if (after == curve.steps.begin()) return std::nullopt;
    return curve.values[static_cast<std::size_t>(after - curve.steps.begin() - 1)];
}

// Returns the mark nearest to the cursor, if it is near.
std::optional<PlotReply::Mark> mark_under(const Frame& frame, const std::vector<Curve>& curves,
                                          ImVec2 mouse) {
    constexpr float reach = 12;
    std::optional<PlotReply::Mark> found;
    float least = reach;
    for (std::size_t c = 0; c < curves.size(); ++c) {
        const Curve& curve = curves[c];
        for (std::size_t i = 0; i < curve.steps.size(); ++i) {
            if (!std::isfinite(curve.values[i])) continue;
            const float away =
                std::hypot(frame.x(curve.steps[i]) - mouse.x, frame.y(curve.values[i]) - mouse.y);
            if (away >= least) continue;
            least = away;
            found = {static_cast<std::ptrdiff_t>(c), curve.steps[i]};
        }
    }
    return found;
}

}  // namespace

PlotReply plot(const Plot& plot, float width, float height, const std::vector<Curve>& curves) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const Frame frame{{at.x + axis_width, at.y + plot_title_height},
                      {at.x + width - 4, at.y + height - plot_axis_height},
                      plot};
    ImGui::PushID(plot.name.c_str());
    ImGui::InvisibleButton("plot", {width, height});
    ImGui::PopID();
    const bool held = ui::held(), hovered = ImGui::IsItemHovered();
    landmark("plot/" + plot.name, frame.min, frame.max);

    {
        Type semibold(Face::semibold, size_body);
        draw_text(list, at, theme().text, plot.title);
    }
    grid(list, frame);
    for (const Curve& curve : curves) line(list, frame, curve);

    const float x = std::floor(frame.x(plot.marked)) + 0.5f;
    list->AddLine({x, frame.min.y}, {x, frame.max.y}, theme().accent, 1);
    float title_end = at.x;
    {
        Type semibold(Face::semibold, size_body);
        title_end += text_size(plot.title).x + 16;
    }
    // The largest values come first, as many as there is room for.
    std::vector<std::pair<float, const Curve*>> named;
    for (const Curve& curve : curves)
        if (const auto value = value_at(curve, plot.marked); value && !curve.name.empty())
            named.push_back({*value, &curve});
    std::ranges::sort(named, [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::string told = "step " + std::to_string(plot.marked);
    for (const auto& [value, curve] : named) told += ", " + curve->name + " " + written(plot, value);
    Type mono(Face::mono, 12);
    for (const auto& [value, curve] : named) {
        const std::string text = curve->name + " " + written(plot, value);
        const float wide = text_size(text).x;
        if (title_end + 12 + wide > at.x + width) break;
        list->AddRectFilled({title_end, at.y + 7}, {title_end + 8, at.y + 11}, curve->colour, 2);
        draw_text(list, {title_end + 12, at.y + 2}, theme().dim, text);
        title_end += wide + 26;
    }
    PlotReply reply;
    // The last item is the plot.
    const auto asked =
        semantic_slider("plot/" + plot.name, plot.title, told,
                        {static_cast<double>(plot.marked), 0, static_cast<double>(plot.steps)});
    if (asked)
        reply.held = std::llround(*asked);
    else if (held)
        reply.held = frame.step_at(ImGui::GetMousePos().x);
    if (hovered) reply.over = mark_under(frame, curves, ImGui::GetMousePos());
    return reply;
}

}  // namespace attn::ui
