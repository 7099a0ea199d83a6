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

namespace attn::app {

namespace {

constexpr float least_matrix = 330;

}  // namespace

void GradientLens::draw_presets(Subject& subject, const ChosenRow& row) {
    const auto offer = [&](const char* name, const char* label, GradientState next) {
        next.rate = state().of<GradientState>().rate;
        next.from = state().of<GradientState>().from;
        ui::next_control(ui::need::choices);
        if (ui::button(name, label)) visit().perform(SetGradient{next});
    };
    using enum GradientAim;
    offer("gradient/preset/component", "Raise the first component", {});
    offer("gradient/preset/first", "Become the first value", {.aim = value});
    if (row.query < row.record->keys())
        offer("gradient/preset/own", "Become its own value", {.aim = value, .key = row.query});
    if (!subject.attention()->trace()) return;
    const Attention& attention = *subject.attention();
    logit_.read(attention.trace(), attention.logits_row());
    const bool next = attention.trace()->model()->network().causal;
    offer("gradient/preset/next", next ? "Make the next word likelier" : "Make the likeliest word likelier",
          {.aim = logit});
    const std::vector<Candidate>& likeliest = logit_.likeliest();
    if (likeliest.size() > 1)
        offer("gradient/preset/over",
              next ? "The next word over the runner-up" : "The likeliest word over the runner-up",
              {.aim = logit, .raise = likeliest[0].id, .over = likeliest[1].id});
}

// Draws two lists of the model's most likely tokens.
void GradientLens::draw_tokens(Subject& subject, GradientState& next) {
    const auto loss = logit_loss();
    if (!loss) return;
    std::vector<std::int32_t> ids{loss->raise};
    const auto offer = [&](std::int32_t id) {
        if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
    };
    if (loss->over) offer(*loss->over);
    for (const Candidate& candidate : logit_.likeliest()) offer(candidate.id);
    const std::vector<std::string> texts = subject.token_texts(ids);
    const auto name = [&](std::size_t i) {
        return texts.empty() ? "token " + std::to_string(ids[i]) : curly_quoted(on_one_line(texts[i]));
    };
    const auto place = [&](std::int32_t id) {
        return static_cast<std::size_t>(std::ranges::find(ids, id) - ids.begin());
    };
    ui::next_control(ui::need::many_choices);
    ImGui::BeginGroup();
    ui::label("the logit of");
    ImGui::SetNextItemWidth(ui::menu_width);
    if (ui::begin_list("gradient/raise", "the logit of", name(place(loss->raise)).c_str())) {
        for (std::size_t i = 0; i < ids.size(); ++i)
            if (ui::list_option(("gradient/raise/" + std::to_string(ids[i])).c_str(), name(i).c_str(),
                                ids[i] == loss->raise)) {
                next.raise = ids[i];
                if (next.over == next.raise) next.over = loss->raise;
            }
        ui::end_list();
    }
    ImGui::EndGroup();
    ui::next_control(ui::need::many_choices);
    ImGui::BeginGroup();
    ui::label("over that of");
    ImGui::SetNextItemWidth(ui::menu_width);
    const std::string shown = loss->over ? name(place(*loss->over)) : "nothing";
    if (ui::begin_list("gradient/over", "over that of", shown.c_str())) {
        if (ui::list_option("gradient/over/none", "nothing", !loss->over)) next.over = std::nullopt;
        for (std::size_t i = 0; i < ids.size(); ++i)
            if (ids[i] != loss->raise && ui::list_option(("gradient/over/" + std::to_string(ids[i])).c_str(),
                                                         name(i).c_str(), ids[i] == loss->over)) {
                next.raise = loss->raise;
                next.over = ids[i];
            }
        ui::end_list();
    }
    ImGui::EndGroup();
}

void GradientLens::draw_controls(const Drawing& drawing, Subject& subject, const ChosenRow& row) {
    GradientState next = state().of<GradientState>();
    const GradientState now = next;
    static constexpr std::array<const char*, 3> aims{"raise a component", "come near a value",
                                                     "raise a logit"};
    const Attention& attention = *subject.attention();
    const GradientAim asked = aim(subject);
    ImGui::BeginGroup();
    if (const auto query =
            ui::stepper("gradient/query", "output of", row.query, 0, row.record->queries() - 1)) {
        Selection selection = selection_of(drawing);
        selection.query = *query;
        drawing.visit.perform(Select{selection}, ui::gesture());
    }
    ImGui::EndGroup();
    ui::next_control(ui::need::named_choices);
    ImGui::BeginGroup();
    const std::span offered(aims.data(), attention.trace() ? aims.size() : aims.size() - 1);
    if (const auto chosen = ui::choice("gradient/loss", offered, static_cast<int>(asked)))
        next.aim = static_cast<GradientAim>(*chosen);
    ImGui::EndGroup();
    if (asked == GradientAim::logit) {
        draw_tokens(subject, next);
    } else {
        ui::next_control(ui::need::stepper);
        ImGui::BeginGroup();
        if (asked == GradientAim::value) {
            const Index keys = row.record->keys(), key = std::min(now.key, keys - 1);
            if (const auto to = ui::stepper("gradient/key", "of", key, 0, keys - 1)) next.key = *to;
            ImGui::SameLine();
            ImGui::AlignTextToFramePadding();
            ui::text_item(label_at(attention.key_names(), key));
        } else {
            const Index columns = row.record->d_v();
            if (const auto to = ui::stepper("gradient/component", "component",
                                            std::min(now.component, columns - 1), 0, columns - 1))
                next.component = *to;
        }
        ImGui::EndGroup();
    }
    if (const auto trace = attention.trace()) {
        const Index width = trace->model()->config().d_model, step = gradient_components_shown;
        const Index from = std::clamp(now.from, Index{0}, std::max(width - step, Index{0}));
        ui::next_control(ui::need::named_choices);
        ImGui::BeginGroup();
        if (const auto to = ui::stepper(
                "gradient/from", "components of X from", std::to_string(from),
                {std::max(from - step, Index{0}), from > 0 ? "" : "These are the first."},
                {std::min(from + step, width - step), from + step < width ? "" : "These are the last."}))
            next.from = *to;
        ImGui::EndGroup();
    }
    if (next != now) visit().perform(SetGradient{next}, ui::gesture());
}

void GradientLens::draw_step(const Drawing& drawing, Subject& subject, const Slopes& slopes) {
    const Ladder* ladder = subject.ladder();
    const GradientState now = state().of<GradientState>();
    const bool of_logit = !slopes.loss().along.empty();
    const double loss = of_logit ? logit_.gradient()->value() : slopes.f64().loss;
    const std::string value = (of_logit               ? logit_name(subject) + " = "
                               : slopes.loss().target ? "½‖O − V‖² = "
                                                      : "O = ") +
                              fixed(loss, 5);
    const bool editable = ladder && ladder->edits();
    if (!editable) {
        // Copied tokens have no gaps.
        const auto up_to_query = [&](Index all) {
            const Index count = std::min(all, gradient_keys_shown),
                        first = std::clamp(slopes.query() + 1 - count, Index{0}, all - count);
            return Range{first, first + count};
        };
        const Range queries = up_to_query(slopes.record().queries()),
                    keys = up_to_query(slopes.record().keys());
        parts::draw_take_over(drawing, subject, queries, keys);
        ui::next_control(ui::need::named_choices);
    }
    if (!editable && !subject.runs_model()) {
        ImGui::AlignTextToFramePadding();
        ui::caption((value + ". In a copy you can take a step along this gradient.").c_str());
        ui::landmark_item("gradient/value");
        return;
    }
    ImGui::BeginGroup();
    if (const auto rate =
            ui::slider("gradient/rate", "rate", now.rate, 0.01, gradient_rate_limit, "%.2f", true)) {
        GradientState next = now;
        next.rate = std::clamp(*rate, 0.01, gradient_rate_limit);
        if (next != now) visit().perform(SetGradient{next}, ui::gesture());
    }
    ImGui::EndGroup();
    ui::next_control(ui::need::long_button);
    const auto along = step(subject);
    if (ui::button("gradient/step", "One step", along ? ok() : Status(along.error())))
        drawing.visit.perform(*along);
    if (along && !editable)
        ui::tooltip(
            "Adds the rate times ∂L/∂Q to this query’s q in this head; the model goes on from there. "
            "Keys and values stay as they are, as other queries read them too.");
    ui::next_control(ui::need::named_choices);
    ImGui::AlignTextToFramePadding();
    const double by = now.rate * gain_of_step(subject, slopes);
    ui::caption((value + "; by its slope, a step brings it to about " +
                 fixed(slopes.loss().target ? loss - by : loss + by, 5) + ".")
                    .c_str());
    ui::landmark_item("gradient/value");
}

void GradientLens::draw_check(const Drawing& drawing, const Slopes& slopes) {
    if (!check_begun_ || check_.done < check_.cells.size())
        drawing.visit.continue_with(
            [this, begun = shown_] { return shown_ == begun && check_some(*slopes_); });
    if (!check_begun_ || check_.done == 0) return;
    const std::string text =
        "Central differences of " + std::to_string(check_.done) + " of " +
        std::to_string(check_.cells.size()) +
        (keys_shown(slopes).size() < slopes.record().keys() ? " inputs in view" : " inputs") +
        ": the largest is off by " + fixed(check_.worst, 3) + ".";
    ui::caption(text.c_str());
    ui::landmark_item("gradient/check");
    if (slopes.loss().along.empty()) return;
    const std::vector<double>& differences = logit_.differences();
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
void GradientLens::draw_way_back(Subject& subject) {
    if (aim(subject) != GradientAim::logit) return ui::caption("Computing the way back through this row.");
    const auto loss = logit_loss();
    if (!loss) return ui::caption("The model's logits are not finite, so there is no token to aim at.");
    if (const Status asked = logit_.ask(*loss); !asked)
        return ui::caption((asked.error().message + " Choose another one.").c_str());
    ui::caption(("From " + logit_name(subject) + " " + prediction_in_words(*subject.attention()) +
                 " back through the model, to this head.")
                    .c_str());
}

void GradientLens::draw(const Drawing& drawing, Subject& subject) {
    const auto asked = row(subject);
    if (!asked) return;
    const ui::TightLabels tight;
    ui::hint(
        "Ask something of one output and see what every number before it could do for that. Click a number "
        "under a matrix to see its slope found twice, or take a step along it.");
    if (ui::settings()) {
        draw_presets(subject, *asked);
        ImGui::Dummy({0, 2});
        draw_controls(drawing, subject, *asked);
    }
    // Changes by the controls are drawn at once.
    const Slopes* now = slopes(subject);
    if (aim(subject) == GradientAim::logit && !logit_.done())
        drawing.visit.continue_with([this] {
            const bool waits = logit_.slopes().empty();
            return logit_.step() &&
                   waits == logit_.slopes().empty();  // the page is redrawn when they are there
        });
    if (slopes_ && !slopes_->done())
        drawing.visit.continue_with([this] { return slopes_ && slopes_->step(); });
    if (!now) return draw_way_back(subject);
    if (ui::settings()) draw_step(drawing, subject, *now);
    ImGui::Dummy({0, 8});
    now = slopes(subject);
    if (!now) return;
    const std::vector<Sheet> all = sheets(subject, *now);
    std::vector<present::Picture> pictures;
    for (std::size_t i = 0; i < all.size(); i += 2)
        pictures.emplace_back([&, i](float width) {
            for (const Sheet& sheet : std::span(all).subspan(i, std::min<std::size_t>(2, all.size() - i)))
                present::sheet(drawing, sheet, width);
        });
    present::in_columns(pictures, least_matrix);
    if (const Slopes* after = slopes(subject)) draw_check(drawing, *after);
}

}  // namespace attn::app
