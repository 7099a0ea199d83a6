// Defines the settings of lens Geometry.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>

#include "analysis/linalg/bilinear_form.hpp"
#include "analysis/theory/gauge.hpp"
#include "app/fields.hpp"
#include "app/matrix.hpp"

namespace attn::app {

enum class GeometryPart : std::uint8_t { form, gauge, metric, einsum };
// Chooses the bilinear form: W_Q W_Kᵀ, W_V W_O or Q Kᵀ.
enum class FormOf : std::uint8_t { scores, values, tokens };
enum class MetricKind : std::uint8_t {
    identity,
    divided,    // δ / √d_k
    axis,       // the identity, except for the first component
    minkowski,  // −1 for the first component, 1 for the others
    own,
};

inline constexpr double gauge_reach = 8;  // limits |t|
inline constexpr Index own_metric_limit = 24;
inline constexpr double metric_axis = 4;  // the first component of MetricKind::axis
inline constexpr double metric_reach = 1e6;

struct GeometryState {
    GeometryPart part = GeometryPart::form;
    FormOf form = FormOf::scores;
    FormPart shown = FormPart::whole;
    Index direction = 0;
    Gauge gauge;
    MetricKind metric = MetricKind::identity;
    Matrix own;  // for MetricKind::own; otherwise empty
    std::string einsum = "ik,jk->ij with Q, K";
    bool operator==(const GeometryState&) const = default;
    static const Fields<GeometryState>& fields();
};
using SetGeometry = Set<GeometryState>;

struct GeometryPreset {
    const char *name, *title;
    GeometryState (*from)(GeometryState now);
};
std::span<const GeometryPreset> geometry_presets();

// Returns the metric for this many components; `own` may have another size.
Matrix metric_of(const GeometryState& state, Index size);
// Reads rows of numbers, separated by semicolons: "1 0; 0 -1". One sentence if it is not a metric.
Result<Matrix> read_metric(const std::string& text);

LinkRows geometry_links();

}  // namespace attn::app
