#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/gradient/gradient.hpp"
#include "model/network.hpp"
#include "parts/take_over.hpp"
#include "subjects/explain.hpp"
#include "subjects/head_copy.hpp"
#include "subjects/reading.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/matrix_grid.hpp"

namespace attn::app {

namespace {

constexpr float most_grid_width = 460, between = 6;
constexpr ImVec2 gap{22, 26};

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

// Two lists of the model's likeliest tokens.
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
        // What is taken along has no gaps.
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

// While the way back to this head and through its row goes on, there is nothing else to show.
void GradientLens::draw_way_back(Subject& subject) {
    if (aim(subject) != GradientAim::logit)
        return ui::caption("The way back through this row is being computed.");
    const auto loss = logit_loss();
    if (!loss) return ui::caption("The model's logits are not finite, so there is no token to aim at.");
    if (const Status asked = logit_.ask(*loss); !asked)
        return ui::caption((asked.error().message + " Choose another one.").c_str());
    ui::caption(("From " + logit_name(subject) + " " + prediction_in_words(*subject.attention()) +
                 " back through the model, to this head.")
                    .c_str());
}

void GradientLens::draw_ladder(const Drawing& drawing, Subject& subject, const Slopes& slopes) {
    const Attention& attention = *subject.attention();
    const Record& record = slopes.record();
    const ShownTokens keys = keys_shown(slopes);
    const std::vector<std::string> key_labels = keys.labels(attention.key_names()),
                                   query_labels{label_at(attention.query_names(), slopes.query())},
                                   token_labels = [&] {
                                       std::vector<std::string> labels;
                                       if (!slopes.projections()) return labels;
                                       for (const Index row : rows_shown(slopes, Slope::x, keys))
                                           labels.push_back(input_name(attention, slopes, row));
                                       return labels;
                                   }();
    const float width = ImGui::GetContentRegionAvail().x;
    ui::Lines lines(width, gap);
    const HeadIndex head = subject.chosen_head();
    const auto allowed = [&](Index, Index col) {
        return slopes.f64().allowed[static_cast<std::size_t>(keys[col])] != 0;
    };
    const auto label_grid = [&](ui::MatrixGrid& grid, Slope slope) {
        const bool key_rows = rows_are_keys(slope), key_columns = columns_are_keys(slope);
        const std::vector<Index> rows = rows_shown(slopes, slope, keys),
                                 cols = columns_shown(slopes, slope, keys);
        if (!rows.empty() && !cols.empty()) grid.first = {rows.front(), cols.front()};
        grid.row_labels = slope <= Slope::q   ? std::span(query_labels)
                          : key_rows          ? std::span(key_labels)
                          : slope == Slope::x ? std::span(token_labels)
                                              : std::span<const std::string>{};
        if (key_columns) grid.column_labels = key_labels;
        grid.row_axis = slope <= Slope::q   ? "query"
                        : key_rows          ? "key"
                        : slope == Slope::x ? "token"
                                            : "component";
        grid.column_axis = key_columns ? "key" : "component";
        if (is_of_pairs(slope)) grid.allowed = allowed;
    };
    const auto pin_of = [&](ui::MatrixGrid& grid, const auto& cell) {
        const auto& pin = state().pin;
        for (Index r = 0; pin && r < grid.values->rows; ++r)
            for (Index c = 0; c < grid.values->cols; ++c)
                if (*pin == cell(r, c)) grid.pinned = ui::CellAt{r, c};
    };
    const auto answer = [&](const ui::GridReply& reply, auto cell) {
        const auto at = [&](ui::CellAt place) { return cell(place.first, place.second); };
        if (reply.hovered) drawing.now.cell = at(*reply.hovered);
        if (reply.heard) drawing.now.cell = at(*reply.heard);
        if (reply.clicked) drawing.visit.perform(Pin{at(*reply.clicked)}, ui::gesture());
    };
    // The cell at a place among the rows and columns shown.
    const auto placed = [&](Slope slope, auto cell) {
        return [cell, rows = rows_shown(slopes, slope, keys), cols = columns_shown(slopes, slope, keys)](
                   Index row, Index col) {
            return cell(rows[static_cast<std::size_t>(row)], cols[static_cast<std::size_t>(col)]);
        };
    };
    // A matrix of the forward pass, and below it its gradient.
    const auto pair = [&](Slope slope, std::string forward_title, const Matrix& forward, Stage stage) {
        const Matrix back = matrix_of(slopes, slope, keys);
        ui::MatrixGrid above, below;
        const std::string of(info(slope).of);
        above.name = "gradient/" + of;
        above.title = std::move(forward_title);
        above.values = &forward;
        above.is_signed = stage != Stage::weight;
        below.name = "gradient/d" + of;
        below.title = title_of(slope, query_labels.front());
        const bool of_logit = !slopes.loss().along.empty();
        below.notation = slope == Slope::output && of_logit ? "back through the model" : info(slope).formula;
        // A logit follows other queries, too, which make of the same keys, values and weights what they like.
        const std::string of_row = std::string(info(slope).formula) + ", through this query’s row alone";
        if (of_logit && slope >= Slope::k && slope <= Slope::w_v) below.notation = of_row;
        below.values = &back;
        below.is_signed = true;
        below.decimals = 3;
        label_grid(above, slope);
        label_grid(below, slope);
        // Rows of X in cross-attention are of two texts, so its numbers lead to their slopes.
        const bool two = slope == Slope::x && slopes.projections()->crosses;
        const auto above_cell = placed(slope, [=](Index row, Index col) {
            return two ? gradient_cells::derivative(slope, row, col) : CellRef{stage, row, col};
        });
        const auto below_cell =
            placed(slope, [=](Index row, Index col) { return gradient_cells::derivative(slope, row, col); });
        pin_of(above, above_cell);
        pin_of(below, below_cell);
        const float room = std::min(width, most_grid_width);
        const ui::GridMetrics upper = ui::grid_metrics(above, room), lower = ui::grid_metrics(below, room);
        const ImVec2 first = ui::grid_size(above, upper), second = ui::grid_size(below, lower);
        const ImVec2 at = lines.place({std::max(first.x, second.x), first.y + between + second.y});
        answer(ui::draw_matrix_grid(above, upper, at), above_cell);
        answer(ui::draw_matrix_grid(below, lower, {at.x, at.y + first.y + between}), below_cell);
    };
    const auto of_keys = [&](std::span<const float> numbers) {
        Matrix matrix(1, keys.size());
        for (Index c = 0; c < matrix.cols; ++c)
            matrix.at(0, c) = static_cast<double>(numbers[static_cast<std::size_t>(keys[c])]);
        return matrix;
    };
    const RowGradient<float>& pass = slopes.f32();
    pair(Slope::output, "Output", Matrix(1, record.d_v(), {pass.output.begin(), pass.output.end()}),
         Stage::output);
    pair(Slope::weight, "Weights", of_keys(pass.weight), Stage::weight);
    const std::vector<Stage> stages = attention.stages();
    const auto scores = std::ranges::find_if(stages.rbegin(), stages.rend(), is_signed);
    if (scores != stages.rend()) pair(Slope::masked, "Scores S", of_keys(pass.masked), *scores);
    if (slopes.has(Slope::raw)) {
        std::vector<float> raw(pass.scaled);
        for (float& each : raw) each /= static_cast<float>(record.scale());
        pair(Slope::raw, "Raw scores R", of_keys(raw), Stage::raw);
        pair(Slope::q, "Q", rows_of(record.q(), head.head, Range{slopes.query(), slopes.query() + 1}),
             Stage::q);
        pair(Slope::k, "K", rows_of(record.k(), record.kv_head(head.head), keys.tokens()), Stage::k);
    }
    pair(Slope::v, "V", rows_of(record.v(), record.kv_head(head.head), keys.tokens()), Stage::v);
    if (slopes.projections()) {
        const Projections& all = *slopes.projections();
        const std::vector<Index> shown = rows_shown(slopes, Slope::x, keys);
        Matrix in_view(std::ssize(shown), all.x.cols);
        for (Index r = 0; r < in_view.rows; ++r)
            for (Index c = 0; c < all.x.cols; ++c)
                in_view.at(r, c) = all.x.at(shown[static_cast<std::size_t>(r)], c);
        const std::string some = all.of_x == Stage::x ? ""
                                                      : ", components " + std::to_string(all.first) + " to " +
                                                            std::to_string(all.first + all.x.cols - 1);
        const std::string name = all.of_x == Stage::x ? "X"
                                 : all.crosses        ? "X, what the encoder gives and the query’s input"
                                                      : "X, the normalised input";
        pair(Slope::x, name + some, in_view, all.of_x);
        pair(Slope::w_q, "W_Q" + some, all.w_q, Stage::w_q);
        pair(Slope::w_k, "W_K" + some, all.w_k, Stage::w_k);
        pair(Slope::w_v, "W_V" + some, all.w_v, Stage::w_v);
    }
    const Matrix jacobian = matrix_of(slopes, Slope::jacobian, keys);
    ui::MatrixGrid grid;
    grid.name = "gradient/jacobian";
    grid.title = title_of(Slope::jacobian, query_labels.front());
    grid.notation = info(Slope::jacobian).formula;
    grid.values = &jacobian;
    grid.is_signed = true;
    grid.decimals = 3;
    label_grid(grid, Slope::jacobian);
    const auto cell = placed(Slope::jacobian, [](Index row, Index col) {
        return gradient_cells::derivative(Slope::jacobian, row, col);
    });
    pin_of(grid, cell);
    const ui::GridMetrics metrics = ui::grid_metrics(grid, std::min(width, most_grid_width));
    answer(ui::draw_matrix_grid(grid, metrics, lines.place(ui::grid_size(grid, metrics))), cell);
    lines.finish();
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
    // What the controls changed is drawn at once.
    const Slopes* now = slopes(subject);
    if (aim(subject) == GradientAim::logit && !logit_.done())
        drawing.visit.continue_with([this] {
            const bool waits = logit_.slopes().empty();
            return logit_.step() &&
                   waits == logit_.slopes().empty();  // the page is drawn when they are there
        });
    if (slopes_ && !slopes_->done())
        drawing.visit.continue_with([this] { return slopes_ && slopes_->step(); });
    if (!now) return draw_way_back(subject);
    if (ui::settings()) draw_step(drawing, subject, *now);
    ImGui::Dummy({0, 8});
    now = slopes(subject);
    if (!now) return;
    draw_ladder(drawing, subject, *now);
    if (const Slopes* after = slopes(subject)) draw_check(drawing, *after);
}

}  // namespace attn::app
