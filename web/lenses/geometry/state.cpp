// Defines the settings of lens Geometry, and how links spell its numbers.
#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/linalg/einsum.hpp"
#include "analysis/theory/metric.hpp"
#include "app/format.hpp"
#include "app/link_text.hpp"
#include "app/table.hpp"
#include "lenses/geometry/geometry.hpp"

namespace attn::app::geometry {

namespace {

constexpr std::array<std::string_view, 4> part_keys{"form", "gauge", "metric", "einsum"};
constexpr std::array<std::string_view, 3> form_keys{"wq-wk", "wv-wo", "q-k"};
constexpr std::array<std::string_view, 3> shown_keys{"whole", "symmetric", "antisymmetric"};
constexpr std::array<std::string_view, 4> gauge_keys{"rotation", "stretch", "shear", "mix"};
constexpr std::array<std::string_view, 4> metric_keys{"identity", "divided", "axis", "minkowski"};

void prune(app::State& state) {
    const State& now = state.of<State>();
    if (now.metric != MetricKind::own || fits_into_a_link(write_matrix(now.own))) return;
    State& next = state.edit<State>();
    next.metric = MetricKind::identity;
    next.own = {};
}

bool read_metric(State& to, std::string_view text) {
    to.own = {};
    if (const auto kind = index_of(metric_keys, text)) {
        to.metric = static_cast<MetricKind>(*kind);
        return true;
    }
    auto own = read_matrix(text);
    if (own) to.own = *std::move(own);
    to.metric = MetricKind::own;
    return !to.own.empty();
}
std::string write_metric(const State& state) {
    return state.metric == MetricKind::own ? write_matrix(state.own)
                                           : std::string(metric_keys[static_cast<std::size_t>(state.metric)]);
}
constexpr std::string_view metric_examples[] = {"2x2:1,0,0,-1", "identity", "divided", "axis", "minkowski"};
constexpr std::string_view einsum_examples[] = {"ik,jk->ij with Q, K", "ij,jd->id with A, V"};

Status check(const State& now) {
    const Matrix& own = now.own;
    const bool is_own = now.metric == MetricKind::own;
    if (now.gauge.first == now.gauge.second) return Error{"A gauge takes two different components."};
    if (is_own != !own.empty()) return Error{"A metric of your own has numbers."};
    if (is_own) {
        if (own.rows != own.cols || own.rows > own_metric_limit)
            return Error{"A metric of your own is a square matrix of at most " +
                         std::to_string(own_metric_limit) + " rows."};
        if (const auto made = Metric::of(own.rows, own.values); !made) return made.error();
        if (std::ranges::any_of(own.values, [](double x) { return std::abs(x) > metric_reach; }))
            return Error{"The numbers of a metric here are at most a million."};
    }
    const auto text = EinsumText::parse(now.einsum);
    return text ? ok() : Status(text.error());
}

}  // namespace

const Fields<State>& State::fields() {
    using S = State;
    static const Field<S> all[]{
        {"geometry.part", "geometry: {}", named<&S::part>(part_keys)},
        {"geometry.form", "form {}", named<&S::form>(form_keys), named<&S::shown>(shown_keys),
         whole<&S::direction>("direction", 0, position_limit - 1)},
        {"geometry.gauge", "gauge {}", named<[](S& s) -> auto& { return s.gauge.kind; }>(gauge_keys),
         real<[](S& s) -> auto& { return s.gauge.t; }>("place t of the gauge", -gauge_reach, gauge_reach),
         whole<[](S& s) -> auto& { return s.gauge.first; }>("first component", 0, position_limit - 1),
         whole<[](S& s) -> auto& { return s.gauge.second; }>("second component", 0, position_limit - 1),
         whole<[](S& s) -> auto& { return s.gauge.seed; }>("seed", 0, seed_limit)},
        {"geometry.metric",
         [](const S& s) {
             return s.metric == MetricKind::own ? std::string("a metric of your own")
                                                : "metric " + write_metric(s);
         },
         FieldPart<S>{{.kind = FieldValue::Kind::spelled, .what = "metric", .names = metric_examples},
                      [](const FieldValue&, S& to, std::string_view text) { return read_metric(to, text); },
                      [](const FieldValue&, const S& s) { return write_metric(s); },
                      [](const FieldValue&, const S&) { return true; },
                      [](const S& a, const S& b) { return a.metric == b.metric && a.own == b.own; }}},
        {"geometry.einsum", [](const S& s) { return "einsum " + s.einsum; },
         spelled<&S::einsum, [](std::string_view text) { return std::optional(std::string(text)); },
                 [](const std::string& text) { return text; }>("sum of named matrices", einsum_examples)},
    };
    static const Fields<S> fields{.all = all, .check = check};
    return fields;
}
LinkRows links() { return {.rows = rows_of_fields<State, 5>(), .prune = prune}; }

std::span<const Preset> presets() {
    static constexpr std::array all{
        Preset{"geometry/preset/rotation", "A rotation",
               [](State now) {
                   now.part = Part::gauge;
                   now.gauge = {.kind = GaugeKind::rotation, .t = 0.75};
                   return now;
               }},
        Preset{"geometry/preset/mix", "An ill-conditioned gauge",
               [](State now) {
                   now.part = Part::gauge;
                   now.gauge = {.kind = GaugeKind::mix, .t = 6};
                   return now;
               }},
        Preset{"geometry/preset/minkowski", "Minkowski",
               [](State now) {
                   now.part = Part::metric;
                   now.metric = MetricKind::minkowski;
                   now.own = {};
                   return now;
               }},
        Preset{"geometry/preset/einsum", "ik,jk->ij",
               [](State now) {
                   now.part = Part::einsum;
                   now.einsum = State{}.einsum;
                   return now;
               }},
    };
    return all;
}

Matrix metric_of(const State& state, Index size) {
    if (state.metric == MetricKind::own) return state.own;
    Matrix g = identity(size, size);
    if (state.metric == MetricKind::divided)
        for (double& each : g.values) each /= std::sqrt(static_cast<double>(size));
    if (state.metric == MetricKind::axis) g.at(0, 0) = 4;
    if (state.metric == MetricKind::minkowski) g.at(0, 0) = -1;
    return g;
}

}  // namespace attn::app::geometry
