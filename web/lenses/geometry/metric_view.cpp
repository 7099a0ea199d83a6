// Draws the user's own metric between the components of queries and keys.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/geometry/geometry.hpp"
#include "lenses/geometry/view.hpp"
#include "present/present.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/text_field.hpp"

namespace attn::app {

namespace {

constexpr std::size_t longest_metric = 4000;  // in characters
constexpr double slider_reach = 5;

// Writes "1 0; 0 -1".
std::string written(const Matrix& m) {
    std::string text;
    for (Index r = 0; r < m.rows; ++r)
        for (Index c = 0; c < m.cols; ++c) text += (c > 0 ? " " : r > 0 ? "; " : "") + shortest(m.at(r, c));
    return text;
}

}  // namespace

void GeometryLens::draw_metric_controls(const VectorsInView& shown) {
    GeometryState next = now();
    const Index d = shown.record->d_k();
    static constexpr std::array kinds{"identity", "δ / √d_k", "a longer axis", "Minkowski"};
    ImGui::BeginGroup();
    if (const auto kind = ui::choice("geometry/kind", kinds,
                                     now().metric == MetricKind::own ? -1 : static_cast<int>(now().metric))) {
        next.metric = static_cast<MetricKind>(*kind);
        next.own = {};
    }
    ImGui::EndGroup();
    if (d > own_metric_limit) {
        ui::next_control(ui::need::named_choices);
        ImGui::AlignTextToFramePadding();
        ui::caption(("A metric of your own has at most " + std::to_string(own_metric_limit) +
                     " components; these vectors have " + std::to_string(d) + ".")
                        .c_str());
        return set(next, ui::gesture());
    }
    const Matrix g = metric_of(now(), d);
    if (typed_metric_.of != written(g)) typed_metric_ = {written(g), written(g), ""};
    ui::label("g");
    const ui::Typed typed = ui::text_field("geometry/metric", "Metric, row by row, as in 1 0; 0 -1",
                                           typed_metric_.text, longest_metric);
    ui::tooltip("Rows of numbers, separated by semicolons");
    if (typed.too_long) {
        typed_metric_.fault = "That text is too long for a metric, so it was not taken.";
    } else if (typed.changed) {
        auto read = read_metric(typed_metric_.text);
        if (read && read->rows != d) {
            const std::string size = std::to_string(d);
            typed_metric_.fault =
                "The vectors here have " + size + " components, so g is " + size + " × " + size + ".";
        } else if (read) {
            typed_metric_.fault.clear();
            typed_metric_.of = written(*read);
            next.metric = MetricKind::own;
            next.own = *std::move(read);
        } else {
            typed_metric_.fault = read.error().message;
        }
    }
    ui::fault("geometry/metric-fault", typed_metric_.fault);
    // Puts the pinned number of g on a slider; the opposite number moves with it.
    const auto& pin = state().pin;
    if (pin && pin->is(geometry_cells::metric) && g.holds(pin->own.at[0], pin->own.at[1])) {
        const auto [row, col, third] = pin->own.at;
        const std::string label = "g[" + std::to_string(row) + ", " + std::to_string(col) + "]";
        ImGui::BeginGroup();
        if (const auto to = ui::slider("geometry/cell", label.c_str(), g.at(row, col), -slider_reach,
                                       slider_reach, "%.2f")) {
            Matrix changed = g;
            changed.at(row, col) = changed.at(col, row) =
                std::clamp(std::round(*to * 100) / 100, -metric_reach, metric_reach);
            if (const auto made = Metric::of(d, changed.values)) {
                next.metric = MetricKind::own;
                next.own = std::move(changed);
            } else {
                typed_metric_.fault = made.error().message;
            }
        }
        ImGui::EndGroup();
    } else {
        ui::caption("Click a number of g to change it on a slider; g stays symmetric.");
    }
    set(next, ui::gesture());
}

void GeometryLens::draw_metric(const Drawing& drawing, Subject& subject) {
    draw_metric_controls(*in_view(subject));
    ImGui::Dummy({0, 6});
    const auto& made = *metric(subject);
    if (!made) return ui::fault("geometry/fault", made.error().message);
    const MetricHead& head = *made;
    ui::caption(("g has " + many(head.metric.negative(), "negative direction") + " and a condition of " +
                 fixed(head.metric.condition(), 2) + "; lowered again by g⁻¹, a raised q is off by at most " +
                 fixed(head.lowered_off, 3) + ". The scores are those of W_Q g in place of W_Q.")
                    .c_str());
    ui::landmark_item("geometry/told");
    ImGui::Dummy({0, 6});
    std::vector<present::Picture> pictures;
    const std::vector<Sheet> sheets = metric_sheets(subject);
    for (const Sheet& sheet : sheets)
        pictures.emplace_back([&](float width) { present::sheet(drawing, sheet, width); });
    present::in_columns(pictures, least_column);
}

}  // namespace attn::app
