// Draws the errors of a head's chain, by stage and format, by cell and by order of sums.
#include <imgui.h>

#include <algorithm>
#include <cmath>

#include "app/format.hpp"
#include "lenses/numerics/numerics.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::numerics {

namespace {

constexpr float chart_height = 220, table_share = 0.61f;
constexpr std::array<const char*, order_count> order_names{"in order", "in pairs", "compensated", "online"};

void set(const Drawing& drawing, const State& wanted) {
    if (wanted != drawing.state().of<State>()) drawing.visit.perform(Set<State>{wanted}, ui::gesture());
}

// Shows a number of the chain, in its stage and format, as one step.
void go_to(const Drawing& drawing, const ChainCell& at, NumberFormat format) {
    State next = drawing.state().of<State>();
    next.stage = at.stage;
    next.format = format;
    Selection chosen = selection_of(drawing);
    chosen.counterpart.reset();
    if (!is_of_keys(at.stage)) chosen.query = at.row;
    if (is_of_keys(at.stage) || is_of_pairs(at.stage)) chosen.key = is_of_keys(at.stage) ? at.row : at.column;
    drawing.visit.perform(Together{{Set<State>{next}, Select{chosen}}}, ui::gesture());
}

struct Preset {
    const char *name, *title;
    State state;  // but for the measure of errors
};
constexpr std::array presets{
    Preset{"numerics/try/max", "Drop the maximum in f16", {.without_max = true, .stage = ChainStage::output}},
    Preset{"numerics/try/sum", "Sum in bf16", {.format = NumberFormat::bf16, .stage = ChainStage::sum}},
    Preset{"numerics/try/online", "Online", {.order = SumOrder::online, .stage = ChainStage::output}},
    Preset{"numerics/try/fused", "f32 inside, as fused kernels", {NumberFormat::bf16, RoundedSteps::fused}},
    Preset{"numerics/try/fp8", "8 bits", {.format = NumberFormat::e4m3}},
};

void draw_tries(const Drawing& drawing) {
    const ui::Row tries("numerics/try", ui::to_try);
    State next = drawing.state().of<State>();
    for (const Preset& preset : presets)
        if (ui::next_button(preset.title) && ui::button(preset.name, preset.title)) {
            next = preset.state;
            next.measure = drawing.state().of<State>().measure;
        }
    set(drawing, next);
}

void draw_stages(const Model& model, State& next) {
    ui::labelled_list("stage", "numerics/stage", stage_name(model.shown_stage()), ui::menu_width,
                      [&](const ui::ListOptions& list) {
                          for (const ChainStage stage : model.stages)
                              if (list.option(chain_stage_keys[number_of(stage)], stage_name(stage),
                                              stage == model.shown_stage()))
                                  next.stage = stage;
                      });
}

void draw_settings(const Model& model, const Drawing& drawing) {
    static constexpr auto formats = [] {
        std::array<const char*, format_count> names{};
        for (std::size_t i = 0; i < format_count; ++i) names[i] = number_formats[i].name.data();
        return names;
    }();
    static constexpr std::array<const char*, 2> maxima{"subtracted", "not"}, measures{"absolute", "relative"};
    static constexpr std::array<const char*, 3> steps{"every step", "sums in f32", "f32 inside"};
    const ui::Row row("numerics/settings");
    State next = drawing.state().of<State>();
    const auto choose = [](const char* label, const char* name, auto& labels, float width, auto& value) {
        if (!ui::next_control(width)) return;
        if (const auto chosen = ui::labelled_choice(label, name, labels, static_cast<int>(value)))
            value = static_cast<std::remove_reference_t<decltype(value)>>(*chosen);
    };
    choose("format", "numerics/format", formats, 470, next.format);
    draw_stages(model, next);
    choose("maximum", "numerics/max", maxima, ui::need::choices, next.without_max);
    choose("rounded", "numerics/rounded", steps, ui::need::named_choices, next.steps);
    choose("sums", "numerics/sums", order_names, ui::need::named_choices, next.order);
    choose("error", "numerics/measure", measures, ui::need::choices, next.measure);
    // Online attention subtracts the largest score so far, so leaving the maximum in ends it.
    if (next.without_max && drawing.state().of<State>().order == SumOrder::online)
        next.order = SumOrder::in_order;
    set(drawing, next);
}

void draw_orders(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const ChainStage stage = model.summed_stage();
    const auto measure = static_cast<std::size_t>(model.state.measure);
    std::vector<ui::ChartCurve> curves;
    double least = HUGE_VAL, most = 0;
    for (std::size_t order = 0; order < order_count; ++order) {
        ui::ChartCurve curve{.name = order_names[order], .colour = ui::series_colour(order), .points = true};
        if (const RoundedChain* chain = model.chain(model.with_order(order)))
            for (Index query = model.window.queries.begin; query < model.window.queries.end; ++query) {
                const double error = chain->errors_of_row(query)[number_of(stage)].largest[measure].error;
                curve.add(static_cast<double>(query), error > 0 ? error : NAN);
                curve.notes.push_back(label_at(subject.attention()->query_names(), query));
                if (error > 0) least = std::min(least, error), most = std::max(most, error);
            }
        curves.push_back(std::move(curve));
    }
    if (most == 0) return ui::caption("In every order, these sums are exact.");
    const auto first = static_cast<double>(model.window.queries.begin),
               last = static_cast<double>(model.window.queries.end - 1);
    const auto power = [](double value) { return std::pow(10, value); };
    const ui::Chart chart{.name = "numerics-orders",
                          .title = "Error of the " + std::string(stage_name(stage)) + " by order of sums",
                          .x = {"query", first - 0.5, last + 0.5, false, true},
                          .y = {"largest error of the row", power(std::floor(std::log10(least))),
                                power(std::ceil(std::log10(most) + 1e-9)), true},
                          .marked = static_cast<double>(model.query)};
    const auto reply =
        present::chart(drawing, chart, width, chart_height, curves,
                       [&](std::size_t order, std::size_t point) -> std::optional<CellRef> {
                           return cells::order(order, model.window.queries.begin + static_cast<Index>(point));
                       });
    if (reply.held)
        parts::choose_tokens(drawing,
                             std::clamp(static_cast<Index>(std::lround(*reply.held)),
                                        model.window.queries.begin, model.window.queries.end - 1),
                             selection_of(drawing).key);
}

void draw_largest(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const auto clicked = present::sheet(drawing, largest_sheet(model, subject), width);
    if (!clicked) return;
    const auto format = static_cast<std::size_t>(clicked->second);
    const ChainStage stage = model.stages[static_cast<std::size_t>(clicked->first)];
    const StageErrors* errors = model.errors(model.chain(model.with_format(format)), stage);
    ChainCell at{stage, is_of_keys(stage) ? 0 : model.query, 0};
    if (errors && errors->first_not_finite)
        at = *errors->first_not_finite;
    else if (errors && errors->largest[0].error >= 0)
        at = errors->largest[static_cast<std::size_t>(model.state.measure)].at;
    go_to(drawing, at, static_cast<NumberFormat>(format));
}

void draw_way(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const auto way = way_sheet(model, subject);
    const auto clicked = way ? present::sheet(drawing, *way, width) : std::nullopt;
    if (!clicked) return;
    const auto at = way->cell(clicked->first, 0)->own()->at;
    go_to(drawing, {static_cast<ChainStage>(at[0]), at[1], at[2]}, model.state.format);
}

void draw_pictures(Model& model, const Drawing& drawing, Subject& subject) {
    ui::unequal_columns(
        table_share, present::card_gap, "numerics/left",
        [&](float width) { draw_largest(model, drawing, subject, width); }, "numerics/right",
        [&](float width) {
            draw_way(model, drawing, subject, width);
            draw_orders(model, drawing, subject, width);
        });
    if (!model.chosen()) return;
    const float width = ImGui::GetContentRegionAvail().x;
    present::sheet(drawing, errors_sheet(model, subject), width);
    if (const auto& cell = drawing.now.cell; cell && cell->is(cells::error))
        if (const auto& at = cell->own()->at; is_of_pairs(static_cast<ChainStage>(at[0])))
            drawing.point(at[1], at[2]);
    present::sheet(drawing, range_sheet(model, subject), width);
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    ui::hint(
        "Click an error to see its worst cell below; choose another format or another order of the sums.");
    if (ui::settings()) {
        draw_tries(drawing);
        draw_settings(model, drawing);
    }
    if (!subject.attention() || Model::missing(subject)) return;
    model.update(drawing.visit, subject);
    while (!drawing.deadline.passed() && model.step()) continue;
    if (model.refused.empty()) draw_pictures(model, drawing, subject);
    if (model.step())
        drawing.visit.continue_with([&model, window = model.window, state = model.state] {
            return model.window == window && model.state == state && model.step();
        });
}

}  // namespace attn::app::numerics
