// Draws the pattern, the fit to it, and the quality of the fit over d_k.
#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/inverse/inverse.hpp"
#include "present/present.hpp"
#include "widgets/chart.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::app::inverse {

namespace {

constexpr float fits_height = 220, least_fit = 300;
constexpr double good_error = 0.01;

void draw_pattern_controls(const Drawing& drawing) {
    static constexpr std::array<const char*, pattern_kind_count> kinds{
        "previous token", "itself", "first token", "blocks", "random permutation", "painted"};
    State next = drawing.state().of<State>();
    Pattern& pattern = next.pattern;
    if (const auto chosen =
            ui::labelled_choice("pattern", "inverse/pattern", kinds, static_cast<int>(pattern.kind))) {
        const auto kind = static_cast<PatternKind>(*chosen);
        pattern.painted = kind == PatternKind::painted ? cells_of(pattern) : std::vector<std::uint8_t>{};
        pattern.kind = kind;
    }
    ui::next_control(ui::need::stepper);
    ImGui::BeginGroup();
    if (const auto tokens =
            ui::stepper("inverse/tokens", "tokens", pattern.tokens, pattern_least, pattern_limit)) {
        // Painted cells stay where they are.
        if (pattern.kind == PatternKind::painted) {
            std::vector<std::uint8_t> cells(static_cast<std::size_t>(*tokens * *tokens));
            const Index kept = std::min(*tokens, pattern.tokens);
            for (Index i = 0; i < kept; ++i)
                std::copy_n(pattern.painted.begin() + i * pattern.tokens, kept, cells.begin() + i * *tokens);
            pattern.painted = std::move(cells);
        }
        pattern.tokens = *tokens;
    }
    ImGui::EndGroup();
    ui::next_control(ui::need::stepper);
    ImGui::BeginGroup();
    if (const auto seed = ui::stepper("inverse/seed", "seed", static_cast<Index>(pattern.seed), 0, 999'999))
        pattern.seed = static_cast<std::uint32_t>(*seed);
    ImGui::EndGroup();
    ui::next_control(ui::need::stepper);
    ImGui::BeginGroup();
    if (const auto d =
            ui::stepper("inverse/d", "d_k", std::min(next.components, pattern.tokens), 1, pattern.tokens))
        next.components = *d;
    ImGui::EndGroup();
    set(drawing, std::move(next));
}

// Draws the error over d_k, by one of the two measures.
void draw_fits(const Model& model, const Drawing& drawing, float width, bool divergence) {
    const PatternFit& all = *model.fit.kept();
    ui::ChartCurve curve{.name = divergence ? "divergence" : "largest error",
                         .colour = ui::series_colour(divergence ? 1 : 0),
                         .points = true};
    double low = good_error, high = 1;
    for (const FittedPattern& each : all.found()) {
        curve.x.push_back(static_cast<double>(each.d_k));
        const double error = divergence ? each.divergence : each.largest_error;
        curve.y.push_back(error > 0 ? error : NAN);  // 0 has no place on a logarithmic axis
        curve.notes.push_back(std::to_string(each.rows_right) + " of " + many(all.rows(), "row") +
                              " look right");
        if (error > 0) low = std::min(low, error), high = std::max(high, error);
    }
    const auto n = static_cast<double>(all.n());
    const ui::ChartCurve good{.name = "limit",
                              .colour = ui::theme().dim,
                              .x = {1, n},
                              .y = {good_error, good_error},
                              .dashed = true};
    const std::array curves{curve, good};
    const Index d = std::min(model.state.components, all.n());
    const ui::Chart chart{.name = divergence ? "inverse-divergence" : "inverse-error",
                          .title = divergence ? "Divergence from the pattern" : "Largest error of a weight",
                          .x = {"d_k", 1, n, false, true},
                          .y = {divergence ? "nats a row" : "difference of weights", low / 2, 2 * high, true},
                          .marked = static_cast<double>(d)};
    const ui::ChartReply reply =
        present::chart(drawing, chart, width, fits_height, std::span(curves).first(divergence ? 1 : 2),
                       [&](std::size_t of, std::size_t point) -> std::optional<CellRef> {
                           const CellKind& kind = divergence ? cells::divergence : cells::error;
                           return of == 0 ? std::optional(kind(point + 1)) : std::nullopt;
                       });
    if (!reply.held) return;
    State next = drawing.state().of<State>();
    next.components = std::clamp(static_cast<Index>(std::lround(*reply.held)), Index{1}, all.n());
    set(drawing, std::move(next));
}

// Draws the steps that use the pattern: set it as targets for the head, or copy its Q and K.
void draw_pattern_steps(const Model& model, const Drawing& drawing) {
    const std::vector<CellWish>& wishes = *model.pattern_wishes.kept();
    const Status possible =
        wishes.empty() ? Status(Error{"This head sees none of the painted cells."}) : ok();
    if (ui::button("inverse/ask", "Ask it of this head", possible)) {
        State next = drawing.state().of<State>();
        next.wishes = wishes;
        drawing.visit.perform(Set<State>{std::move(next)});
    }
    if (possible)
        ui::tooltip(
            "Wishes 0.9 of each row for its painted cells, as far as this head sees them: above is the least "
            "change for it");
    const auto take = take_pattern(model, drawing.visit);
    if (!take) return;
    ui::next_control(ui::need::named_choices);
    const bool pressed = ui::button("inverse/take", take->label.c_str());
    ui::tooltip(take->hint.c_str());
    if (pressed) drawing.visit.perform(take->command);
}

// Says which d_k suffice.
std::string told_of_fit(const PatternFit& all) {
    if (!all.done()) return "Fitting, " + percent(all.progress()) + " done.";
    if (all.rows() == 0) return "Nothing is painted yet.";
    const auto first = [&](auto&& holds) {
        const auto found = std::ranges::find_if(all.found(), holds);
        return found == all.found().end() ? Index{0} : found->d_k;
    };
    const Index right = first([&](const FittedPattern& each) { return each.rows_right == all.rows(); }),
                near = first([](const FittedPattern& each) { return each.largest_error < good_error; });
    return (right > 0 ? "The smallest d_k that was found with every query’s strongest key right is " +
                            std::to_string(right)
                      : "No d_k was found with every query’s strongest key right") +
           (near > 0 ? "; with all weights within 0.01, it is " + std::to_string(near) + "."
                     : "; none was found with all weights within 0.01.") +
           " Better ones than the best of " + std::to_string(PatternFit::starts) + " starts may exist.";
}

}  // namespace

void draw_pattern(Model& model, const Drawing& drawing, Subject& subject) {
    ui::section("A whole pattern");
    ui::caption(
        "Click cells to paint where each query should look; Q and K of ever more components are fitted to "
        "it. A row shares its weight among its painted cells, and one without any asks for nothing.");
    draw_pattern_controls(drawing);
    model.update(drawing.visit, subject);
    ImGui::Dummy({0, 6});
    std::optional<present::Place> painted;
    const std::vector<Sheet> sheets = pattern_sheets(model);
    std::vector<present::Picture> pictures;
    for (const Sheet& sheet : sheets)
        pictures.emplace_back([&](float width) {
            const auto clicked = present::sheet(drawing, sheet, width);
            if (&sheet == &sheets.front()) painted = clicked;
        });
    present::in_columns(pictures, least_fit);
    ui::paragraph(told_of_fit(*model.fit.kept()), ui::theme().text);
    ui::landmark_item("inverse/fit");
    draw_pattern_steps(model, drawing);
    if (&subject_in(drawing.visit) != &subject) return;
    model.update(drawing.visit, subject);
    present::in_columns({[&](float width) { draw_fits(model, drawing, width, false); },
                         [&](float width) { draw_fits(model, drawing, width, true); }},
                        least_fit);
    if (painted) {
        State next = drawing.state().of<State>();
        Pattern& pattern = next.pattern;
        pattern.painted = cells_of(pattern);
        pattern.kind = PatternKind::painted;
        auto& cell =
            pattern.painted[static_cast<std::size_t>(painted->first * pattern.tokens + painted->second)];
        cell = cell ? 0 : 1;
        set(drawing, std::move(next));
    }
    if (!model.fit.kept()->done())
        drawing.visit.continue_with([&model, of = model.state.pattern] {
            return model.state.pattern == of && model.fit.kept() && model.fit.kept()->step();
        });
}

}  // namespace attn::app::inverse
