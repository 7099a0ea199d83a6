#include "lenses/geometry/state.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/linalg/einsum.hpp"
#include "analysis/theory/metric.hpp"
#include "app/format.hpp"
#include "app/link_text.hpp"
#include "app/table.hpp"

namespace attn::app {

namespace {

constexpr std::array<std::string_view, 4> part_keys{"form", "gauge", "metric", "einsum"};
constexpr std::array<std::string_view, 3> form_keys{"wq-wk", "wv-wo", "q-k"};
constexpr std::array<std::string_view, 3> shown_keys{"whole", "symmetric", "antisymmetric"};
constexpr std::array<std::string_view, 4> gauge_keys{"rotation", "stretch", "shear", "mix"};
constexpr std::array<std::string_view, 4> metric_keys{"identity", "divided", "axis", "minkowski"};

template <std::size_t n>
std::string key_of(const std::array<std::string_view, n>& keys, auto value) {
    return std::string(keys[static_cast<std::size_t>(value)]);
}

// Reads a key's value into a copy, which is taken if it is valid.
bool change(State& state, auto&& read) {
    GeometryState next = state.of<GeometryState>();
    return read(next) && take(state, SetGeometry{next});
}

constexpr LinkRow geometry_rows[] = {
    {"geometry.part", "form, gauge, metric or einsum",
     [](State& s, const std::string& text) {
         return change(s, [&](GeometryState& next) {
             const auto part = index_of(part_keys, text);
             next.part = static_cast<GeometryPart>(part.value_or(0));
             return part.has_value();
         });
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const GeometryPart part = s.of<GeometryState>().part;
         return part == GeometryPart::form ? std::nullopt : std::optional(key_of(part_keys, part));
     }},
    // "wv-wo,symmetric,3": the form, its part, a direction.
    {"geometry.form",
     "wq-wk, wv-wo or q-k, whole, symmetric or antisymmetric, and a direction, as wq-wk,whole,0",
     [](State& s, const std::string& text) {
         return change(s, [&](GeometryState& next) {
             const auto parts = split(text, ',');
             if (parts.size() != 3) return false;
             const auto form = index_of(form_keys, parts[0]), shown = index_of(shown_keys, parts[1]);
             const auto direction = read_integer<Index>(parts[2]);
             if (!form || !shown || !direction) return false;
             next.form = static_cast<FormOf>(*form);
             next.shown = static_cast<FormPart>(*shown);
             next.direction = *direction;
             return true;
         });
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const GeometryState &now = s.of<GeometryState>(), usual;
         if (now.form == usual.form && now.shown == usual.shown && now.direction == 0) return std::nullopt;
         return key_of(form_keys, now.form) + "," + key_of(shown_keys, now.shown) + "," +
                std::to_string(now.direction);
     }},
    // "rotation,0.5,0,1,0": the kind, t, two components, a seed.
    {"geometry.gauge", "rotation, stretch, shear or mix, t, two components and a seed, as rotation,0.5,0,1,0",
     [](State& s, const std::string& text) {
         return change(s, [&](GeometryState& next) {
             const auto parts = split(text, ',');
             if (parts.size() != 5) return false;
             const auto kind = index_of(gauge_keys, parts[0]);
             const auto t = read_number(parts[1]);
             const auto first = read_integer<Index>(parts[2]), second = read_integer<Index>(parts[3]);
             const auto seed = read_integer<std::uint32_t>(parts[4]);
             if (!kind || !t || !first || !second || !seed) return false;
             next.gauge = {static_cast<GaugeKind>(*kind), *t, *first, *second, *seed};
             return true;
         });
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const Gauge& now = s.of<GeometryState>().gauge;
         if (now == Gauge{}) return std::nullopt;
         return key_of(gauge_keys, now.kind) + "," + shortest(now.t) + "," + std::to_string(now.first) + "," +
                std::to_string(now.second) + "," + std::to_string(now.seed);
     }},
    {"geometry.metric", "identity, divided, axis, minkowski or a matrix, as 2x2:1,0,0,-1",
     [](State& s, const std::string& text) {
         return change(s, [&](GeometryState& next) {
             next.own = {};
             if (const auto kind = index_of(metric_keys, text)) {
                 next.metric = static_cast<MetricKind>(*kind);
                 return true;
             }
             auto own = read_matrix(text);
             if (!own) return false;
             next.metric = MetricKind::own;
             next.own = *std::move(own);
             return true;
         });
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const GeometryState& now = s.of<GeometryState>();
         if (now.metric == MetricKind::identity) return std::nullopt;
         return now.metric == MetricKind::own ? write_matrix(now.own) : key_of(metric_keys, now.metric);
     }},
    {"geometry.einsum", "an Einstein sum of named matrices, as ik,jk->ij with Q, K",
     [](State& s, const std::string& text) {
         return change(s, [&](GeometryState& next) {
             next.einsum = text;
             return true;
         });
     },
     [](const State& s, const State&) -> std::optional<std::string> {
         const std::string& text = s.of<GeometryState>().einsum;
         return text == GeometryState{}.einsum ? std::nullopt : std::optional(text);
     }},
};

void prune(State& state) {
    const GeometryState& now = state.of<GeometryState>();
    if (now.metric != MetricKind::own || fits_into_a_link(write_matrix(now.own))) return;
    GeometryState& next = state.edit<GeometryState>();
    next.metric = MetricKind::identity;
    next.own = {};
}

}  // namespace

LinkRows geometry_links() { return {.rows = geometry_rows, .prune = prune}; }

Status SetGeometry::apply(State& state) const {
    const auto within = [](Index i) { return i >= 0 && i < position_limit; };
    const auto& [part, form, shown, direction, gauge, metric, own, einsum] = geometry;
    if (!within(direction)) return Error{"There is no such direction."};
    if (!within(gauge.first) || !within(gauge.second) || gauge.first == gauge.second)
        return Error{"A gauge takes two different components."};
    if (!(std::abs(gauge.t) <= gauge_reach))
        return Error{"The gauge goes from −" + shortest(gauge_reach) + " to " + shortest(gauge_reach) + "."};
    if ((metric == MetricKind::own) != !own.empty()) return Error{"A metric of your own has numbers."};
    if (metric == MetricKind::own) {
        if (own.rows != own.cols || own.rows > own_metric_limit)
            return Error{"A metric of your own is a square matrix of at most " +
                         std::to_string(own_metric_limit) + " rows."};
        if (const auto made = Metric::of(own.rows, own.values); !made) return made.error();
        if (std::ranges::any_of(own.values, [](double x) { return std::abs(x) > metric_reach; }))
            return Error{"The numbers of a metric here are at most a million."};
    }
    if (const auto text = EinsumText::parse(einsum); !text) return text.error();
    state.edit<GeometryState>() = geometry;
    return ok();
}

std::string SetGeometry::describe(const State& before) const {
    const GeometryState& was = before.of<GeometryState>();
    const GeometryState& now = geometry;
    if (now.part != was.part) return "geometry: " + key_of(part_keys, now.part);
    if (now.form != was.form) return "form " + key_of(form_keys, now.form);
    if (now.shown != was.shown) return key_of(shown_keys, now.shown) + " part";
    if (now.direction != was.direction) return "direction " + std::to_string(now.direction);
    if (now.gauge.kind != was.gauge.kind) return key_of(gauge_keys, now.gauge.kind);
    if (now.gauge.t != was.gauge.t)
        return "gauge " + rounded(was.gauge.t, 2) + " → " + rounded(now.gauge.t, 2);
    if (now.gauge != was.gauge) return "gauge of other components";
    if (now.metric != was.metric || now.own != was.own)
        return now.metric == MetricKind::own ? "a metric of one’s own"
                                             : "metric " + key_of(metric_keys, now.metric);
    return "einsum " + now.einsum;
}

std::span<const GeometryPreset> geometry_presets() {
    static constexpr std::array presets{
        GeometryPreset{"geometry/preset/rotation", "A rotation",
                       [](GeometryState now) {
                           now.part = GeometryPart::gauge;
                           now.gauge = {.kind = GaugeKind::rotation, .t = 0.75};
                           return now;
                       }},
        GeometryPreset{"geometry/preset/mix", "An ill-conditioned gauge",
                       [](GeometryState now) {
                           now.part = GeometryPart::gauge;
                           now.gauge = {.kind = GaugeKind::mix, .t = 6};
                           return now;
                       }},
        GeometryPreset{"geometry/preset/minkowski", "Minkowski",
                       [](GeometryState now) {
                           now.part = GeometryPart::metric;
                           now.metric = MetricKind::minkowski;
                           now.own = {};
                           return now;
                       }},
        GeometryPreset{"geometry/preset/einsum", "ik,jk->ij",
                       [](GeometryState now) {
                           now.part = GeometryPart::einsum;
                           now.einsum = GeometryState{}.einsum;
                           return now;
                       }},
    };
    return presets;
}

Matrix metric_of(const GeometryState& state, Index size) {
    if (state.metric == MetricKind::own) return state.own;
    Matrix g = identity(size, size);
    if (state.metric == MetricKind::divided)
        for (double& each : g.values) each /= std::sqrt(static_cast<double>(size));
    if (state.metric == MetricKind::axis) g.at(0, 0) = metric_axis;
    if (state.metric == MetricKind::minkowski) g.at(0, 0) = -1;
    return g;
}

Result<Matrix> read_metric(const std::string& text) {
    std::string rows = text;
    std::ranges::replace(rows, ';', '\n');
    auto read = parse_numbers(rows);
    if (!read) return read.error();
    const auto made = read->rows == read->cols ? Metric::of(read->rows, read->values)
                                               : Result<Metric>(Error{"A metric is a square matrix."});
    if (!made) return made.error();
    return *std::move(read);
}

}  // namespace attn::app
