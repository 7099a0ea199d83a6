// Draws the controls of lens Paths, its strongest edges, what graphs of all sizes keep, and its nodes.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/paths/paths.hpp"
#include "parts/text_pairs.hpp"
#include "parts/token_choice.hpp"
#include "present/present.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/text_field.hpp"

namespace attn::app::paths {

namespace {

constexpr float name_share = 0.66f, bars_share = 0.5f, curve_height = 300;
constexpr std::size_t bars_shown = 12;

void set(const Drawing& drawing, const State& wanted) {
    if (wanted != drawing.visit.state().of<State>()) drawing.visit.perform(Set<State>{wanted}, ui::gesture());
}

// ---- Controls ---------------------------------------------------------------------------------------------

// Returns whether one was pressed, which may have changed everything.
bool draw_presets(const Drawing& drawing) {
    const ui::Row tries("paths/try", ui::to_try);
    for (const parts::TextPair& pair : parts::text_pairs)
        if (parts::draw_text_pair(drawing, pair, Set<State>{})) return true;
    const auto& pair = parts::agreement;
    const State asks{.raise = pair.right,
                     .over = pair.wrong,
                     .share = 0.8,
                     .merge = PathMerge::tokens,
                     .ablation = Ablation::counterfactual};
    return parts::draw_text_pair(drawing, pair, Set<State>{asks});
}

void draw_share(const Model& model, State& next) {
    ui::control(ui::need::slider, [&] {
        if (const auto to = ui::slider("paths/share", "keep", 100 * next.share, 1, 100, "%.0f %%"))
            next.share = *to / 100;
        ImGui::SameLine(0, 4);
        const float begin = ImGui::GetCursorPosX();
        ui::text_item(": " + many(std::ssize(model.kept.edges), "edge"));
        // It is as wide for any number of edges, so that its neighbours do not move.
        ImGui::SameLine(begin + ui::text_size(": 1000 edges").x);
        ImGui::Dummy({0, 0});
    });
}

void draw_settings(Model& model, const Drawing& drawing, Subject& subject) {
    State next = drawing.state().of<State>();
    {
        const ui::Row row("paths/settings");
        draw_share(model, next);
        const auto choose = []<class E>(const char* label, const char* name, const auto& options, E& value) {
            if (!ui::next_control(ui::need::many_choices)) return;
            if (const auto chosen = ui::labelled_choice(label, name, options, static_cast<int>(value)))
                value = static_cast<E>(*chosen);
        };
        static constexpr std::array<const char*, ablation_count> ablations{"zero", "mean", "second text"};
        choose("ablate to", "paths/ablation", ablations, next.ablation);
        static constexpr std::array<const char*, 3> merges{"nothing", "tokens", "heads"};
        choose("merge", "paths/merged", merges, next.merge);
        parts::draw_token_choice({.key = "paths",
                                  .loss = model.of.loss,
                                  .rows = {&model.row},
                                  .vocabulary = model.vocabulary,
                                  .search = model.search,
                                  .typed = model.typed},
                                 subject, next.raise, next.over);
    }
    ui::fault("paths/fault", model.search.fault);
    set(drawing, next);
}

// Offers the step that provides what the proof lacks; the lens stays open.
void draw_lacking(const Model& model, const Drawing& drawing) {
    if (model.lacking.empty()) return;
    ui::caption(model.lacking.c_str());
    ui::landmark_item("paths/lacking");
    if (model.offer && ui::button("paths/second", model.offer->label.c_str()))
        drawing.visit.perform(Together{{model.offer->command, OpenLens{drawing.state().lens}}});
}

// ---- Pictures ---------------------------------------------------------------------------------------------

void draw_strongest(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const std::vector<PathEdge>& edges = model.strongest;
    const std::size_t count = std::min(edges.size(), bars_shown);
    present::Bars bars{.key = "paths/strongest",
                       .title = "The strongest edges",
                       .notation = "out · ∂logit/∂in",
                       .value = "effect",
                       .most = static_cast<float>(std::abs(edges.front().effect)),
                       .most_name = width * name_share,
                       .cell = [&](Index i) { return model.cell_of(edges[static_cast<std::size_t>(i)]); },
                       .table = [&] { return edges_table(model, subject); }};
    for (std::size_t i = 0; i < count; ++i)
        bars.bars.push_back({edge_name(model, subject, edges[i], model.of.state.merge),
                             static_cast<float>(edges[i].effect), signed_number(edges[i].effect)});
    bars.scale = ui::diverging_scale(bars.most);
    bars.tip = [names = bars.bars](Index bar) { return names[static_cast<std::size_t>(bar)].name; };
    present::bars(drawing, bars, width);
}

void draw_curve(const Model& model, const Drawing& drawing, float width) {
    static constexpr std::array<const char*, path_measure_count> names{"flow, all else held", "proof",
                                                                       "random edges, proof"};
    const double most = std::max(static_cast<double>(model.graph->edges().size()), 2.0);
    std::vector<ui::ChartCurve> curves;
    // Each size is measured in their order.
    for (std::size_t measure = 0; measure < path_measure_count; ++measure) {
        const auto points = model.proof->points(static_cast<PathMeasure>(measure));
        if (points.empty()) break;
        ui::ChartCurve& drawn = curves.emplace_back(
            ui::ChartCurve{.name = names[measure], .colour = ui::series_colour(measure), .points = true});
        for (const PathCurve::Point& point : points) {
            drawn.add(static_cast<double>(point.count), point.value);
            drawn.notes.push_back(many(point.edges, "edge") + " on paths");
            if (point.random.empty()) continue;
            const auto [low, high] = std::ranges::minmax(point.random);
            drawn.band_low.push_back(low);
            drawn.band_high.push_back(high);
        }
    }
    if (curves.empty()) return;
    curves.push_back({.name = "the run’s logit",
                      .colour = ui::theme().dim,
                      .x = {1, most},
                      .y = {model.graph->value(), model.graph->value()},
                      .dashed = true});
    const ui::Chart chart{.name = "paths-kept",
                          .title = "What is kept of the logit, by the number of edges",
                          .x = {"strongest edges", 1, most, true, true},
                          .y = ui::fitted("logit", curves, true),
                          .marked = static_cast<double>(model.taken)};
    const auto reply = present::chart(
        drawing, chart, width, curve_height, curves,
        [&](std::size_t curve, std::size_t point) -> std::optional<CellRef> {
            if (curve + 1 == curves.size()) return std::nullopt;
            return cells::kept(curve, model.proof->points(static_cast<PathMeasure>(curve))[point].count);
        });
    if (!reply.held) return;
    State next = drawing.state().of<State>();
    next.share = std::round(1000 * std::max(model.proof->flow().share_within(*reply.held), 0.01)) / 1000;
    set(drawing, next);
}

// Returns the lens to open; empty: none.
std::string_view draw_pictures(Model& model, const Drawing& drawing, Subject& subject, float width) {
    std::string_view lens;
    if (!model.proof) return lens;
    if (!model.shown.edges.empty()) {
        lens = draw_graph(model, drawing, subject, width);
        ui::unequal_columns(
            bars_share, present::card_gap, "paths/left",
            [&](float w) { draw_strongest(model, drawing, subject, w); }, "paths/right",
            [&](float w) { draw_curve(model, drawing, w); });
    }
    present::sheet(drawing, nodes_sheet(model, subject), width);
    return lens;
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    ui::hint("Drag the slider to keep a larger share of the logit, and click a head to go on from there.");
    if (ui::settings() && !draw_presets(drawing)) draw_settings(model, drawing, subject);
    if (!subject.attention() || Model::missing(subject)) return;
    model.update(drawing.visit, subject);
    while (!drawing.deadline.passed() && model.step(subject)) continue;
    draw_lacking(model, drawing);
    if (model.refused.empty())
        if (const auto lens = draw_pictures(model, drawing, subject, ImGui::GetContentRegionAvail().x);
            !lens.empty())
            return drawing.visit.perform(OpenLens{lens});
    if (model.step(subject))
        drawing.visit.continue_with([&model, &subject, of = model.of] {
            return subject.attention() && subject.attention()->trace() && model.of == of &&
                   model.step(subject);
        });
}

}  // namespace attn::app::paths
