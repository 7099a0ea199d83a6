#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/gradient/gradient.hpp"
#include "model/network.hpp"
#include "parts/take_over.hpp"
#include "present/present.hpp"
#include "subjects/reading.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::gradient {

namespace {

constexpr float least_matrix = 330;

void set(const Model& model, const Drawing& drawing, const State& next) {
    if (next != model.state) drawing.visit.perform(Set<State>{next}, ui::gesture());
}

void draw_presets(const Model& model, const Drawing& drawing, Subject& subject) {
    const auto offer = [&](const char* name, const char* label, State next) {
        next.rate = model.state.rate;
        next.from = model.state.from;
        if (ui::next_button(label) && ui::button(name, label)) drawing.visit.perform(Set<State>{next});
    };
    const ui::Row tries("gradient/try", ui::to_try);
    using enum Aim;
    offer("gradient/preset/component", "Raise the first component", {});
    offer("gradient/preset/first", "Become the first value", {.aim = value});
    if (model.row->query < model.row->record->keys())
        offer("gradient/preset/own", "Become its own value", {.aim = value, .key = model.row->query});
    const auto trace = subject.attention()->trace();
    if (!trace) return;
    const bool next = trace->model()->network().causal;
    offer("gradient/preset/next", next ? "Make the next word likelier" : "Make the likeliest word likelier",
          {.aim = logit});
    const std::vector<Candidate>& likeliest = model.logit.likeliest();
    if (likeliest.size() > 1)
        offer("gradient/preset/over",
              next ? "The next word over the runner-up" : "The likeliest word over the runner-up",
              {.aim = logit, .raise = likeliest[0].id, .over = likeliest[1].id});
}

// Draws two lists of the model's most likely tokens.
void draw_tokens(const Model& model, Subject& subject, State& next) {
    const auto loss = model.logit_loss();
    if (!loss) return;
    std::vector<std::int32_t> ids{loss->raise};
    const auto offer = [&](std::int32_t id) {
        if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
    };
    if (loss->over) offer(*loss->over);
    for (const Candidate& candidate : model.logit.likeliest()) offer(candidate.id);
    const std::vector<std::string> texts = subject.token_texts(ids);
    const auto name = [&](std::size_t i) {
        return texts.empty() ? "token " + std::to_string(ids[i]) : curly_quoted(on_one_line(texts[i]));
    };
    const auto place = [&](std::int32_t id) {
        return static_cast<std::size_t>(std::ranges::find(ids, id) - ids.begin());
    };
    ui::labelled_list("the logit of", "gradient/raise", name(place(loss->raise)), ui::menu_width,
                      [&](const ui::ListOptions& list) {
                          for (std::size_t i = 0; i < ids.size(); ++i)
                              if (list.option(std::to_string(ids[i]), name(i), ids[i] == loss->raise)) {
                                  next.raise = ids[i];
                                  if (next.over == next.raise) next.over = loss->raise;
                              }
                      });
    ui::labelled_list("over that of", "gradient/over", loss->over ? name(place(*loss->over)) : "nothing",
                      ui::menu_width, [&](const ui::ListOptions& list) {
                          if (list.option("none", "nothing", !loss->over)) next.over = std::nullopt;
                          for (std::size_t i = 0; i < ids.size(); ++i)
                              if (ids[i] != loss->raise &&
                                  list.option(std::to_string(ids[i]), name(i), ids[i] == loss->over)) {
                                  next.raise = loss->raise;
                                  next.over = ids[i];
                              }
                      });
}

void draw_controls(const Model& model, const Drawing& drawing, Subject& subject) {
    State next = model.state;
    const ChosenRow& row = *model.row;
    static constexpr std::array<const char*, 3> aims{"raise a component", "come near a value",
                                                     "raise a logit"};
    const Attention& attention = *subject.attention();
    ImGui::BeginGroup();
    if (const auto query =
            ui::stepper("gradient/query", "output of", row.query, 0, row.record->queries() - 1)) {
        Selection selection = selection_of(drawing);
        selection.query = *query;
        drawing.visit.perform(Select{selection}, ui::gesture());
    }
    ImGui::EndGroup();
    ui::control(ui::need::named_choices, [&] {
        const std::span offered(aims.data(), attention.trace() ? aims.size() : aims.size() - 1);
        if (const auto chosen = ui::choice("gradient/loss", offered, static_cast<int>(model.aim)))
            next.aim = static_cast<Aim>(*chosen);
    });
    if (model.aim == Aim::logit) {
        draw_tokens(model, subject, next);
    } else {
        ui::control(ui::need::stepper, [&] {
            if (model.aim == Aim::value) {
                const Index keys = row.record->keys(), key = std::min(next.key, keys - 1);
                if (const auto to = ui::stepper("gradient/key", "of", key, 0, keys - 1)) next.key = *to;
                ImGui::SameLine();
                ImGui::AlignTextToFramePadding();
                ui::text_item(label_at(attention.key_names(), key));
            } else {
                const Index columns = row.record->d_v();
                if (const auto to = ui::stepper("gradient/component", "component",
                                                std::min(next.component, columns - 1), 0, columns - 1))
                    next.component = *to;
            }
        });
    }
    if (const auto trace = attention.trace()) {
        const Index width = trace->model()->config().d_model, step = most_components;
        const Index from = std::clamp(next.from, Index{0}, std::max(width - step, Index{0}));
        ui::control(ui::need::named_choices, [&] {
            if (const auto to = ui::stepper(
                    "gradient/from", "components of X from", std::to_string(from),
                    {std::max(from - step, Index{0}), from > 0 ? "" : "These are the first."},
                    {std::min(from + step, width - step), from + step < width ? "" : "These are the last."}))
                next.from = *to;
        });
    }
    set(model, drawing, next);
}

void draw_step(const Model& model, const Drawing& drawing, Subject& subject) {
    const Ladder* ladder = subject.ladder();
    const Slopes& slopes = *model.slopes();
    const bool editable = ladder && ladder->edits();
    if (!editable) {
        // Copied tokens have no gaps.
        const auto up_to_query = [&](Index all) {
            const Index count = std::min(all, most_keys),
                        first = std::clamp(slopes.query() + 1 - count, Index{0}, all - count);
            return Range{first, first + count};
        };
        const Range queries = up_to_query(slopes.record().queries()),
                    keys = up_to_query(slopes.record().keys());
        if (ui::next_control(ui::need::choices)) parts::draw_take_over(drawing, subject, queries, keys);
    }
    if (!editable && !subject.runs_model()) return;
    ui::control(ui::need::slider, [&] {
        if (const auto rate =
                ui::slider("gradient/rate", "rate", model.state.rate, 0.01, rate_limit, "%.2f", true)) {
            State next = model.state;
            next.rate = std::clamp(*rate, 0.01, rate_limit);
            set(model, drawing, next);
        }
    });
    if (!ui::next_control(ui::need::long_button)) return;
    const auto along = step_along(slopes, model.state, drawing.state(), subject);
    if (ui::button("gradient/step", "One step", along ? ok() : Status(along.error())))
        drawing.visit.perform(*along);
    if (along && !editable)
        ui::tooltip(
            "Adds the rate times ∂L/∂Q to this query’s q in this head; the model goes on from there. "
            "Keys and values stay as they are, as other queries read them too.");
}

// Says the value that was asked about, and what a step makes of it.
void draw_value(const Model& model, Subject& subject) {
    const Ladder* ladder = subject.ladder();
    const Slopes& slopes = *model.slopes();
    const bool of_logit = !slopes.loss().along.empty();
    const double loss = of_logit ? model.logit.gradient()->value() : slopes.f64().loss;
    const std::string value = (of_logit               ? model.logit_name(subject) + " = "
                               : slopes.loss().target ? "½‖O − V‖² = "
                                                      : "O = ") +
                              fixed(loss, 5);
    std::string step = ". In a copy you can take a step along this gradient.";
    if ((ladder && ladder->edits()) || subject.runs_model()) {
        const double by = model.state.rate * gain_of_step(slopes, subject);
        step = "; by its slope, a step brings it to about " +
               fixed(slopes.loss().target ? loss - by : loss + by, 5) + ".";
    }
    ui::caption((value + step).c_str());
    ui::landmark_item("gradient/value");
}

void draw_check(Model& model, const Drawing& drawing) {
    const Slopes& slopes = *model.slopes();
    const auto& check = model.check;
    if (!check || check->done < check->cells.size())
        drawing.visit.continue_with(
            [&model, given = model.given] { return model.given == given && model.check_some(); });
    if (!check || check->done == 0) return;
    const std::string text = "Central differences of " + std::to_string(check->done) + " of " +
                             std::to_string(check->cells.size()) +
                             (model.keys.are_all() ? " inputs" : " inputs in view") +
                             ": the largest is off by " + fixed(check->worst, 3) + ".";
    ui::caption(text.c_str());
    ui::landmark_item("gradient/check");
    if (slopes.loss().along.empty()) return;
    const std::vector<double>& differences = model.logit.differences();
    double worst = 0;
    for (std::size_t b = 0; b < differences.size(); ++b)
        worst = std::max(worst, std::abs(differences[b] - slopes.loss().along[b]));
    ui::caption(("The model, run again with " + std::to_string(differences.size()) + " of " +
                 std::to_string(slopes.loss().along.size()) +
                 " components of the output moved up and down: the largest slope is off by " +
                 fixed(worst, 3) + ", in f32.")
                    .c_str());
    ui::landmark_item("gradient/rerun");
}

// Until the backward pass has reached this head and passed its row, there is nothing else to show.
void draw_way_back(Model& model, Subject& subject) {
    if (model.aim != Aim::logit) return ui::caption("Computing the way back through this row.");
    const auto loss = model.logit_loss();
    if (!loss) return ui::caption("The model's logits are not finite, so there is no token to aim at.");
    if (const Status asked = model.logit.ask(*loss); !asked)
        return ui::caption((asked.error().message + " Choose another one.").c_str());
    ui::caption(("From " + model.logit_name(subject) + " " + prediction_in_words(*subject.attention()) +
                 " back through the model, to this head.")
                    .c_str());
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    if (!model.row) return;
    const ui::TightLabels tight;
    ui::hint(
        "Ask something of one output and see what every number before it could do for that. Click a number "
        "under a matrix to see its slope found twice, or take a step along it.");
    std::optional<ui::Row> row;
    if (ui::settings()) {
        draw_presets(model, drawing, subject);
        row.emplace("gradient/settings");
        draw_controls(model, drawing, subject);
    }
    // Changes by the controls are drawn at once.
    model.update(drawing.visit, subject);
    if (model.aim == Aim::logit && !model.logit.done())
        drawing.visit.continue_with([&model] {
            const bool waits = model.logit.slopes().empty();
            // The page is redrawn when they are there.
            return model.logit.step() && waits == model.logit.slopes().empty();
        });
    if (model.job && !model.job->done())
        drawing.visit.continue_with([&model] { return model.job && model.job->step(); });
    if (!model.slopes()) return draw_way_back(model, subject);
    if (ui::settings()) draw_step(model, drawing, subject);
    row.reset();
    model.update(drawing.visit, subject);
    if (!model.slopes()) return;
    const std::vector<Sheet> all = sheets(model, subject);
    std::vector<present::Picture> pictures;
    for (std::size_t i = 0; i < all.size(); i += 2)
        pictures.emplace_back([&, i](float width) {
            for (const Sheet& sheet : std::span(all).subspan(i, std::min<std::size_t>(2, all.size() - i)))
                present::sheet(drawing, sheet, width);
        });
    present::in_columns(pictures, least_matrix);
    if (ui::settings()) draw_value(model, subject);
    draw_check(model, drawing);
}

}  // namespace attn::app::gradient
