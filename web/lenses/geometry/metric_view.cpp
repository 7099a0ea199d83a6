// Draws the user's own metric between the components of queries and keys.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "app/table.hpp"
#include "lenses/geometry/geometry.hpp"
#include "present/present.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/text_field.hpp"

namespace attn::app::geometry {

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

// Reads it. One sentence if it is not a metric for this many components.
Result<Matrix> read_metric(std::string text, Index size) {
    std::ranges::replace(text, ';', '\n');
    auto read = parse_numbers(text);
    if (!read) return read.error();
    if (read->rows != read->cols) return Error{"A metric is a square matrix."};
    if (const auto made = Metric::of(read->rows, read->values); !made) return made.error();
    const std::string wanted = std::to_string(size);
    if (read->rows != size)
        return Error{"The vectors here have " + wanted + " components, so g is " + wanted + " × " + wanted +
                     "."};
    return read;
}

void draw_field(Model& model, const Matrix& g, State& next) {
    Model::Typed& field = model.typed_metric;
    if (field.of != written(g)) field = {written(g), written(g), ""};
    ui::label("g");
    const ui::Typed typed =
        ui::text_field("geometry/metric", "Metric, row by row, as in 1 0; 0 -1", field.text, longest_metric);
    ui::tooltip("Rows of numbers, separated by semicolons");
    if (typed.too_long) {
        field.fault = "That text is too long for a metric, so it was not taken.";
    } else if (typed.changed) {
        auto read = read_metric(field.text, g.rows);
        field.fault = read ? "" : read.error().message;
        if (read) {
            field.of = written(*read);
            next.metric = MetricKind::own;
            next.own = *std::move(read);
        }
    }
    ui::fault("geometry/metric-fault", field.fault);
}

// Puts the pinned number of g on a slider; the opposite number moves with it.
void draw_cell(Model& model, const std::optional<CellRef>& pin, const Matrix& g, State& next) {
    if (!pin || !pin->is(cells::metric) || !g.holds(pin->own()->at[0], pin->own()->at[1]))
        return ui::caption("Click a number of g to change it on a slider; g stays symmetric.");
    const auto [row, col, third] = pin->own()->at;
    const std::string label = "g[" + std::to_string(row) + ", " + std::to_string(col) + "]";
    ImGui::BeginGroup();
    if (const auto to =
            ui::slider("geometry/cell", label.c_str(), g.at(row, col), -slider_reach, slider_reach, "%.2f")) {
        Matrix changed = g;
        changed.at(row, col) = changed.at(col, row) =
            std::clamp(std::round(*to * 100) / 100, -metric_reach, metric_reach);
        if (const auto made = Metric::of(g.rows, changed.values)) {
            next.metric = MetricKind::own;
            next.own = std::move(changed);
        } else {
            model.typed_metric.fault = made.error().message;
        }
    }
    ImGui::EndGroup();
}

void draw_metric_controls(Model& model, const Drawing& drawing) {
    State next = model.state;
    const Index d = model.record->d_k();
    static constexpr std::array kinds{"identity", "δ / √d_k", "a longer axis", "Minkowski"};
    ImGui::BeginGroup();
    if (const auto kind = ui::choice("geometry/kind", kinds,
                                     next.metric == MetricKind::own ? -1 : static_cast<int>(next.metric))) {
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
    } else {
        const Matrix g = metric_of(model.state, d);
        draw_field(model, g, next);
        draw_cell(model, drawing.state().pin, g, next);
    }
    set(drawing, next, ui::gesture());
}

}  // namespace

void draw_metric(Model& model, const Drawing& drawing, Subject& subject) {
    draw_metric_controls(model, drawing);
    model.update(drawing.visit, subject);
    ImGui::Dummy({0, 6});
    const auto& scores = model.metric();
    if (!scores) return ui::fault("geometry/fault", scores.error().message);
    ui::caption(("g has " + many(scores->metric.negative(), "negative direction") + " and a condition of " +
                 fixed(scores->metric.condition(), 2) +
                 "; lowered again by g⁻¹, a raised q is off by at most " + fixed(scores->lowered_off, 3) +
                 ". The scores are those of W_Q g in place of W_Q.")
                    .c_str());
    ui::landmark_item("geometry/told");
    ImGui::Dummy({0, 6});
    draw_sheets(drawing, metric_sheets(model, subject));
}

}  // namespace attn::app::geometry
