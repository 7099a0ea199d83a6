#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "lenses/inverse/inverse.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/reading.hpp"
#include "widgets/chart.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/page_field.hpp"
#include "widgets/text_field.hpp"
#include "widgets/typing.hpp"

namespace attn::app::inverse {

struct ViewMemory {
    // Digits that are typed while a cell has the focus.
    struct Typed {
        Index query, key;
        ui::Typing typing;
    };
    std::optional<Typed> typed = {};
    std::optional<CellRef> heard = {};  // the cell with the focus
};

namespace {

constexpr float row_height = 210, least_picture = 320;
constexpr double least_wish = 0.001, most_wish = 0.999;
// Changes of a weight, per point of dragging and per notch of the wheel.
constexpr double per_point = 0.005, per_notch = 0.02;

double as_wish(double weight) { return std::clamp(std::round(weight * 1000) / 1000, least_wish, most_wish); }

bool begins_weight(ImWchar c) { return (c >= '0' && c <= '9') || c == '.'; }

void wish(const Drawing& drawing, Index query, Index key, double weight) {
    State next = drawing.state().of<State>();
    next.wish(query, key, as_wish(weight));
    if (next.wishes.size() <= wish_limit) parts::choose_tokens(drawing, query, key);
    set(drawing, std::move(next));
}

// An invalid weight is refused with a message that repeats the text.
void wish_as_typed(const Drawing& drawing, Index query, Index key, std::optional<double> weight,
                   const std::string& text) {
    if (weight && *weight > 0 && *weight < 1) return wish(drawing, query, key, *weight);
    drawing.visit.report_error({"“" + text + "” is no weight to wish for; type a number between 0 and 1."});
}

void draw_presets(const Model& model, const Drawing& drawing, Subject& subject) {
    const Record& record = *model.row.record;
    const Index query = model.row.query, head = model.row.head.head;
    const Model::Unchanged& row = *model.unchanged.kept();
    std::vector<std::pair<double, Index>> seen;  // weights and their keys
    for (Index j = 0; j < record.keys(); ++j)
        if (is_open(row.scores, j)) seen.emplace_back(row.chain.at(j).weight, j);
    const Status two =
        seen.size() > 1 ? ok() : Status(Error{"This row sees too few keys to move weight between them."});
    const ui::Row tries("inverse/try", ui::to_try);
    const auto offer = [&](const char* name, const char* label, const Status& possible,
                           std::vector<CellWish> wishes) {
        if (!ui::next_button(label) || !ui::button(name, label, possible)) return;
        State next = drawing.state().of<State>();
        next.wishes = std::move(wishes);
        drawing.visit.perform(Set<State>{std::move(next)});
    };
    if (seen.empty()) seen.emplace_back();
    offer("inverse/preset/least", "The weakest gets 0.9", two, {{query, std::ranges::min(seen).second, 0.9}});
    offer("inverse/preset/most", "The strongest gets 0.05", two,
          {{query, std::ranges::max(seen).second, 0.05}});
    if (subject.attention()->one_line()) {
        std::vector<CellWish> back;
        const Range rows = model.queries_shown();
        const Mask& mask = record.spec().mask;
        for (Index i = std::max<Index>(rows.begin, 1); i < std::min(rows.end, record.keys()); ++i)
            if (mask.allows(head, i, i - 1) && mask.allows(head, i, i)) back.push_back({i, i - 1, 0.6});
        const Status some =
            back.empty() ? Status(Error{"No query here sees itself and the token before it."}) : ok();
        offer("inverse/preset/previous", "All look one back", some, std::move(back));
    }
    offer("inverse/preset/none", "No wish",
          model.asked->wishes.empty() ? Status(Error{"Nothing is wished for yet."}) : ok(), {});
}

void draw_controls(const Model& model, const Drawing& drawing, Subject& subject) {
    State next = drawing.state().of<State>();
    {
        const ui::Row row("inverse/settings");
        ImGui::BeginGroup();
        if (const auto query = ui::stepper("inverse/query", "row of query", model.row.query, 0,
                                           model.row.record->queries() - 1))
            parts::choose_tokens(drawing, *query, selection_of(drawing).key);
        ImGui::EndGroup();
        std::vector<const char*> labels;
        const Index offered = *model.inputs.kept() ? change_count : change_count - 2;
        for (Index i = 0; i < offered; ++i) labels.push_back(change_name(static_cast<ChangeOf>(i)));
        if (ui::next_control(ui::need::named_choices + ui::need::choices))
            if (const auto chosen =
                    ui::labelled_choice("change", "inverse/of", labels, static_cast<int>(model.asked->of)))
                next.of = static_cast<ChangeOf>(*chosen);
    }
    if (normalised(*subject.attention(), model.row.head.layer)) {
        ui::caption("Norms stand between W_Q, W_K and the scores here, so q and k are changed themselves.");
        ui::landmark_item("inverse/normalised");
    }
    set(drawing, std::move(next));
}

// Draws the targets of the chosen row as numbers, and the weight of the chosen key if it has none.
void draw_wishes(const Model& model, const Drawing& drawing, Subject& subject) {
    const Attention& attention = *subject.attention();
    const Index query = model.row.query;
    const auto slider = [&](Index key, double weight, bool wished) {
        ImGui::BeginGroup();
        const std::string name = "inverse/wish/" + std::to_string(key),
                          label = "weight of " + key_in_words(attention, key);
        if (const auto to = ui::slider(name.c_str(), label.c_str(), weight, least_wish, most_wish, "%.3f"))
            wish(drawing, query, key, *to);
        // With a keyboard, the user types into the cell itself.
        if (ui::by_touch()) {
            const auto typed = ui::number_field(("inverse/typed/" + std::to_string(key)).c_str(),
                                                label.c_str(), weight, "%.3f", ui::number_width);
            if (typed) wish_as_typed(drawing, query, key, *typed, shortest(*typed));
        }
        ImGui::EndGroup();
        if (!wished) return;
        ui::next_control(ui::need::button);
        if (!ui::button(("inverse/forget/" + std::to_string(key)).c_str(), "Forget it")) return;
        State next = drawing.state().of<State>();
        next.forget(query, key);
        drawing.visit.perform(Set<State>{std::move(next)});
    };
    bool has_chosen = false;
    const auto& key = selection_of(drawing).key;
    for (const CellWish& each : model.asked->wishes) {
        if (each.query != query) continue;
        has_chosen = has_chosen || each.key == key;
        slider(each.key, each.weight, true);
    }
    const Model::Unchanged& row = *model.unchanged.kept();
    if (key && !has_chosen && *key < model.row.record->keys() && is_open(row.scores, *key))
        slider(*key, as_wish(row.chain.at(*key).weight), false);
}

// Digits typed while a cell has the focus become a target.
void type_into(Model& model, const Drawing& drawing, const present::CellRect& rect) {
    auto& [typed, last_heard] = remembered(model.seen);
    const auto heard = std::exchange(last_heard, std::nullopt);
    if (!typed) {
        const ImGuiIO& io = ImGui::GetIO();
        const auto& pin = drawing.state().pin;
        const auto cell = heard ? heard : pin && pin->is(Stage::weight) ? pin : std::nullopt;
        if (!cell || io.WantTextInput || io.KeyCtrl) return;
        if (!std::ranges::any_of(io.InputQueueCharacters, begins_weight)) return;
        typed = ViewMemory::Typed{cell->run()->row, cell->run()->col, ui::Typing()};
    }
    typed->typing.gather();
    const ShownTokens queries(model.row.record->queries(), model.queries_shown()), keys = model.keys_shown();
    if (!queries.holds(typed->query) || !keys.holds(typed->key)) return typed.reset();
    const auto [min, max] = rect({queries.place(typed->query), keys.place(typed->key)});
    ui::Type mono(ui::Face::mono, ui::size_small);
    ImGui::SetCursorScreenPos({min.x - 2, min.y - 2});
    ImGui::SetNextItemWidth(std::max(max.x - min.x, ui::number_width));
    ImGui::PushStyleColor(ImGuiCol_FrameBg, ui::theme().surface);
    typed->typing.draw("##wish");
    ui::landmark_item("inverse/typing");
    ui::semantic_field(ui::Role::textbox, "inverse/typing", "Weight", typed->typing.text());
    ImGui::PopStyleColor();
    if (!typed->typing.entered() && !typed->typing.left()) return;
    const ViewMemory::Typed done = *std::exchange(typed, std::nullopt);
    if (ImGui::IsKeyPressed(ImGuiKey_Escape)) return;
    const std::string text(done.typing.text());
    wish_as_typed(drawing, done.query, done.key, read_number(text), text);
}

// Draws the present weights, where targets are set.
void draw_weights(Model& model, const Drawing& drawing, Subject& subject, float width) {
    const Sheet sheet = weights_sheet(model, subject, false);
    present::sheet(drawing, sheet, width, {}, [&](const ui::GridReply& reply, const present::CellRect& rect) {
        const auto of = [&](ui::CellAt at) { return *sheet.cell(at.first, at.second)->run(); };
        if (reply.heard) remembered(model.seen).heard = of(*reply.heard);
        if (reply.hovered) drawing.point(of(*reply.hovered).row, of(*reply.hovered).col);
        if (reply.clicked) parts::choose_tokens(drawing, of(*reply.clicked).row, of(*reply.clicked).col);
        const auto move = [&](ui::CellAt at, double by) {
            const RunCell cell = of(at);
            const CellWish* made = drawing.state().of<State>().wish_of(cell.row, cell.col);
            wish(drawing, cell.row, cell.col, (made ? made->weight : sheet.value(at.first, at.second)) + by);
        };
        // A drag across rows stays with the cell where it began.
        if (reply.dragged && reply.drag != 0)
            move(*reply.dragged, per_point * static_cast<double>(reply.drag));
        if (reply.hovered && reply.wheel != 0)
            move(*reply.hovered,
                 per_notch * std::copysign(std::max(std::abs(static_cast<double>(reply.wheel)), 1.0),
                                           static_cast<double>(reply.wheel)));
        type_into(model, drawing, rect);
    });
}

// Draws the weights of the row, before and after.
void draw_row(const Model& model, const Drawing& drawing, Subject& subject, float width) {
    const Attention& attention = *subject.attention();
    const ShownTokens keys = model.keys_shown();
    const Index query = model.row.query;
    const std::vector<double>* after = model.change.kept()->after(query);
    ui::ChartCurve now{.name = "now", .colour = ui::with_alpha(ui::theme().dim, 0.55f), .bars = true},
        then{.name = "with the change", .colour = ui::with_alpha(ui::theme().accent, 0.55f), .bars = true};
    for (const Index j : keys) {
        now.add(static_cast<double>(j), model.unchanged.kept()->chain.at(j).weight);
        now.notes.push_back(label_at(attention.key_names(), j));
        then.y.push_back(after ? (*after)[static_cast<std::size_t>(j)] : now.y.back());
    }
    then.x = now.x;
    then.notes = now.notes;
    const std::array curves{now, then};
    const ui::Chart chart{.name = "inverse-row",
                          .title = "The row of " + query_in_words(attention, query),
                          .x = {"key", now.x.front() - 0.5, now.x.back() + 0.5, false, true},
                          .y = {"weight", 0, 1}};
    present::chart(drawing, chart, width, row_height, std::span(curves).first(after ? 2 : 1),
                   [&](std::size_t curve, std::size_t point) {
                       const Index key = keys[static_cast<Index>(point)];
                       return curve == 0 ? RunCell{Stage::weight, query, key} : cells::weight(query, key);
                   });
}

void draw_search(const HeadChange& change, const Drawing& drawing, float width) {
    const auto& steps = change.search()->iterations();
    ui::ChartCurve residual{.name = "residual", .colour = ui::series_colour(0), .points = steps.size() < 40},
        length{.name = "length of the change", .colour = ui::series_colour(1), .points = steps.size() < 40};
    double low = 1, high = 1;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        residual.x.push_back(static_cast<double>(i));
        // 0 has no place on a logarithmic axis.
        residual.y.push_back(steps[i].residual > 0 ? steps[i].residual : NAN);
        length.y.push_back(steps[i].length > 0 ? steps[i].length : NAN);
        for (const double each : {residual.y.back(), length.y.back()})
            if (std::isfinite(each)) low = std::min(low, each), high = std::max(high, each);
    }
    length.x = residual.x;
    const std::array curves{residual, length};
    const ui::Chart chart{.name = "inverse-search",
                          .title = "How it was found",
                          .x = {"step", 0, std::max(static_cast<double>(steps.size() - 1), 1.0), false, true},
                          .y = {"log-odds; length |z|", low / 2, 2 * high, true}};
    present::chart(drawing, chart, width, row_height, curves,
                   [](std::size_t curve, std::size_t point) { return cells::iteration(curve, point); });
}

void draw_deed(const Model& model, const Drawing& drawing, Subject& subject) {
    const auto possible = deed(model, drawing.visit, subject);
    if (!possible) return;
    const bool has_slider = std::ranges::find(model.asked->wishes, model.row.query, &CellWish::query) !=
                            model.asked->wishes.end();
    if (has_slider) ui::next_button(possible->label);
    const bool pressed = ui::button("inverse/do", possible->label.c_str());
    ui::tooltip(possible->hint.c_str());
    if (pressed) drawing.visit.perform(possible->command);
}

// Draws the changed matrix, and the effect of the change.
void draw_found(const Model& model, const Drawing& drawing, Subject& subject) {
    ImGui::Dummy({0, 2});
    ui::paragraph(told(model, subject), ui::theme().text);
    ui::landmark_item("inverse/told");
    ImGui::Dummy({0, 8});
    const std::vector<Sheet> sheets = matrix_sheets(model, subject);
    std::vector<present::Picture> pictures;
    for (const Sheet& sheet : sheets)
        pictures.emplace_back([&](float width) { present::sheet(drawing, sheet, width); });
    pictures.emplace_back([&](float width) { draw_row(model, drawing, subject, width); });
    pictures.emplace_back([&](float width) { draw_search(*model.change.kept(), drawing, width); });
    present::in_columns(pictures, least_picture);
}

}  // namespace

void set(const Drawing& drawing, State wanted) {
    if (wanted != drawing.state().of<State>())
        drawing.visit.perform(Set<State>{std::move(wanted)}, ui::gesture());
}

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    // A command may move the page to another subject.
    const auto updated = [&]() -> HeadChange* {
        if (&subject_in(drawing.visit) != &subject) return nullptr;
        model.update(drawing.visit, subject);
        return model.change.kept();
    };
    if (!model.change.kept()) return;
    ui::hint(
        "Drag weights to the right or left, to what they should be: this looks for the least change that "
        "makes it so. Further down, paint a whole pattern.");
    if (ui::settings()) {
        draw_presets(model, drawing, subject);
        if (updated()) draw_controls(model, drawing, subject);
    }
    // Changes by the controls are drawn at once.
    HeadChange* change = updated();
    if (!change) return;
    while (!drawing.deadline.passed() && change->step()) continue;
    // A drag continues while its target is drawn, so nothing above the weights may appear or disappear.
    const auto weights = [&](float width) {
        draw_weights(model, drawing, subject, width);
        draw_wishes(model, drawing, subject);
        draw_deed(model, drawing, subject);
    };
    const auto with_the_change = [&](float width) {
        const HeadChange* now = updated();
        if (!now) return;
        if (!now->found()) return draw_row(model, drawing, subject, width);
        present::sheet(drawing, weights_sheet(model, subject, true), width);
    };
    present::in_columns({weights, with_the_change}, least_picture);
    change = updated();
    if (!change) return;
    const auto elsewhere = std::ranges::count_if(
        change->wishes(), [&](const CellWish& wish) { return wish.query != model.row.query; });
    if (elsewhere > 0)
        ui::caption(((elsewhere == 1 ? "One wish is" : std::to_string(elsewhere) + " wishes are") +
                     std::string(" for other rows; click a row to change them."))
                        .c_str());
    if (change->found()) draw_found(model, drawing, subject);
    if (change->step())
        drawing.visit.continue_with([&model, of = model.asked] {
            HeadChange* now = model.change.kept();
            return model.asked == of && now && now->step();
        });
    ImGui::Dummy({0, 14});
    draw_pattern(model, drawing, subject);
}

}  // namespace attn::app::inverse
