// Draws what a mistake changes in a head.
#include <imgui.h>

#include <algorithm>

#include "app/format.hpp"
#include "lenses/pitfalls/pitfalls.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::pitfalls {

namespace {

constexpr float least_picture = 300, chart_height = 180;

void set(const Drawing& drawing, const State& wanted) {
    if (wanted != drawing.state().of<State>()) drawing.visit.perform(Set<State>{wanted}, ui::gesture());
}
void choose_mistake(const Drawing& drawing, Index mistake) {
    set(drawing, {mistake, 0, drawing.state().of<State>().train});
}

using Preset = std::array<const char*, 3>;  // landmark, title, mistake
constexpr std::array presets{
    Preset{"pitfalls/try/causal", "Leave out the causal mask", "causal_missing"},
    Preset{"pitfalls/try/merge", "Merge heads without a transpose", "heads_merged_without_transpose"},
    Preset{"pitfalls/try/mask", "Mask after the softmax", "mask_after_softmax"},
};

void draw_tries(const Drawing& drawing) {
    const ui::Row tries("pitfalls/try", ui::to_try);
    for (const auto& [name, title, key] : presets)
        if (ui::next_button(title) && ui::button(name, title))
            choose_mistake(drawing, std::ranges::find(mistake_keys, key) - mistake_keys.begin());
}

void draw_settings(const Model& model, const Drawing& drawing) {
    const ui::Row row("pitfalls/settings");
    State next = drawing.state().of<State>();
    const PossibleMistake& chosen = model.chosen();
    ui::labelled_list("mistake", "pitfalls/mistake", chosen.mistake->name, ui::wide_menu_width,
                      [&](const ui::ListOptions& list) {
                          for (Index mistake = 0; mistake < mistake_count; ++mistake)
                              if (const PossibleMistake& each = model.at(mistake);
                                  list.option(each.mistake->key, each.mistake->name,
                                              mistake == model.state.mistake, !each.variants.empty()))
                                  next = {mistake, 0, next.train};
                      });
    if (chosen.variants.size() > 1) {
        const auto text = [&](std::size_t variant) {
            const std::string& detail = chosen.variants[variant].detail;
            return detail.empty() ? std::string("as it is") : detail;
        };
        const std::size_t now = model.variant_of(model.state.mistake);
        ui::labelled_list("variant", "pitfalls/variant", text(now), ui::menu_width,
                          [&](const ui::ListOptions& list) {
                              for (std::size_t variant = 0; variant < chosen.variants.size(); ++variant)
                                  if (list.option(std::to_string(variant), text(variant), variant == now))
                                      next.variant = static_cast<Index>(variant);
                          });
    }
    static constexpr std::array<const char*, 3> trained{"no", "with it", "with all"};
    if (ui::next_control(ui::need::named_choices))
        if (const auto wanted =
                ui::labelled_choice("train", "pitfalls/train", trained, static_cast<int>(next.train)))
            next.train = static_cast<Train>(*wanted);
    set(drawing, next);
}

void draw_losses(const Model& model, const Drawing& drawing, float width) {
    const std::array runs{Index{0}, 1 + model.state.mistake};
    std::vector<ui::ChartCurve> curves;
    for (const Index run : runs) {
        const MistakenTraining* of = model.training(run);
        ui::ChartCurve curve{.name = run_name(model, run), .colour = ui::series_colour(run == 0 ? 0 : 1)};
        if (of)
            for (const float loss : of->losses())
                curve.add(static_cast<double>(curve.x.size()), static_cast<double>(loss));
        curves.push_back(std::move(curve));
    }
    const double last = static_cast<double>(mistaken_training_plan().steps - 1);
    curves.push_back({.name = "guessing",
                      .colour = ui::theme().dim,
                      .x = {0, last},
                      .y = {guessing_loss(), guessing_loss()},
                      .dashed = true});
    const ui::Chart chart{.name = "pitfalls-loss",
                          .title = "Loss of a small network",
                          .x = {"step", 0, last, false, true},
                          .y = ui::fitted("loss in nats", curves, true)};
    present::chart(drawing, chart, width, chart_height, curves,
                   [&](std::size_t curve, std::size_t point) -> std::optional<CellRef> {
                       if (curve >= runs.size()) return std::nullopt;
                       return cells::loss(runs[curve], point);
                   });
}

void draw_training(const Model& model, const Drawing& drawing) {
    const std::vector<Index> runs = model.runs();
    if (runs.empty()) return;
    const auto chosen = [&](Index row) {
        const Index run = runs[static_cast<std::size_t>(row)];
        if (run > 0) choose_mistake(drawing, run - 1);
    };
    const float width = ImGui::GetContentRegionAvail().x;
    draw_losses(model, drawing, width);
    if (const auto clicked = present::sheet(drawing, learned_sheet(model), width, {}, {}, chosen))
        chosen(clicked->first);
}

void draw_weights(const Model& model, const Drawing& drawing, Subject& subject) {
    std::vector<present::Picture> pictures;
    for (const Side side : {Side::right, Side::mistaken, Side::change})
        pictures.emplace_back([&model, &drawing, &subject, side](float width) {
            const Range rows = model.rows.queries;
            if (const auto clicked = present::sheet(drawing, weights_sheet(model, subject, side), width))
                parts::choose_tokens(drawing, rows.begin + clicked->first, clicked->second);
        });
    present::in_columns(pictures, least_picture);
    if (const auto& cell = drawing.now.cell; cell && cell->is(cells::weight))
        drawing.point(cell->own()->at[1], cell->own()->at[2]);
}

void draw_output(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const Sheet sheet = output_sheet(model, subject);
    std::vector<ui::ChartCurve> curves;
    for (const Side side : {Side::right, Side::mistaken}) {
        const bool right = side == Side::right;
        ui::ChartCurve curve{.name = right ? "right" : "with the mistake",
                             .colour = ui::series_colour(right ? 0 : 1),
                             .points = right,
                             .bars = !right};
        for (Index b = 0; b < sheet.columns.size(); ++b) {
            curve.add(static_cast<double>(b), sheet.value(static_cast<Index>(side), b));
        }
        curves.push_back(std::move(curve));
    }
    std::ranges::reverse(curves);  // bars lie behind the points
    const ui::Chart chart{
        .name = "pitfalls-output",
        .title = sheet.title,
        .x = {"component", -0.5, static_cast<double>(sheet.columns.size()) - 0.5, false, true},
        .y = ui::fitted("output", curves, true)};
    present::chart(drawing, chart, width, chart_height, curves,
                   [&](std::size_t curve, std::size_t point) -> std::optional<CellRef> {
                       return cells::output(curve == 0 ? Side::mistaken : Side::right, model.rows.query,
                                            point);
                   });
    present::sheet(drawing, sheet, width);
}

void draw_pictures(const Model& model, const Drawing& drawing, Subject& subject) {
    const float width = ImGui::GetContentRegionAvail().x;
    if (model.state.train != Train::none) draw_training(model, drawing);
    const std::vector<Index> listed = model.listed();
    const auto chosen = [&](Index row) { choose_mistake(drawing, listed[static_cast<std::size_t>(row)]); };
    if (const auto clicked = present::sheet(drawing, effects_sheet(model, subject), width, {}, {}, chosen))
        return chosen(clicked->first);
    const MistakeEffect* effect = model.effect(model.state.mistake);
    if (model.mistaken() && effect) {
        if (!is_seen(*effect))
            ui::caption("No map shows this mistake: no weight changes by more than one colour step.");
        ui::caption(("Right in PyTorch: " + std::string(model.chosen().mistake->remedy.pytorch)).c_str());
        draw_weights(model, drawing, subject);
        draw_output(model, drawing, subject, width);
        present::sheet(drawing, scores_sheet(model, subject), width);
        present::sheet(drawing, gradient_sheet(model, subject), width);
    }
    if (const Sheet impossible = impossible_sheet(model); impossible.rows.size() > 0)
        present::sheet(drawing, impossible, width);
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    ui::hint("Click a mistake to make it in this head; below is what it changes, beside what is right.");
    if (model.refused.empty() && ui::settings()) {
        draw_tries(drawing);
        draw_settings(model, drawing);
    }
    if (!subject.attention() || Model::missing(subject)) return;
    model.update(drawing.visit, subject);
    while (!drawing.deadline.passed() && model.step()) continue;
    if (model.refused.empty() && model.right()) draw_pictures(model, drawing, subject);
    if (model.step())
        drawing.visit.continue_with([&model, rows = model.rows, state = model.state] {
            return model.rows == rows && model.state == state && model.step();
        });
}

}  // namespace attn::app::pitfalls
