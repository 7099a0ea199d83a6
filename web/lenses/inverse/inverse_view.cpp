#include <imgui.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "lenses/inverse/inverse.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "subjects/explain.hpp"
#include "subjects/reading.hpp"
#include "widgets/chart.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/page_field.hpp"
#include "widgets/text_field.hpp"

namespace attn::app {

namespace {

constexpr float row_height = 210, least_picture = 320;
constexpr double least_wish = 0.001, most_wish = 0.999;
// Changes of a weight, per point of dragging and per notch of the wheel.
constexpr double per_point = 0.005, per_notch = 0.02;

double as_wish(double weight) { return std::clamp(std::round(weight * 1000) / 1000, least_wish, most_wish); }

bool begins_weight(ImWchar c) { return (c >= '0' && c <= '9') || c == '.'; }

}  // namespace

// Screen position of the weights.
struct InverseLens::Placed {
    const present::CellRect& rect;
};

void InverseLens::set(InverseState wanted) const {
    if (wanted != state().of<InverseState>()) visit().perform(SetInverse{std::move(wanted)}, ui::gesture());
}

void InverseLens::wish(const Drawing& drawing, Index query, Index key, double weight) {
    InverseState next = state().of<InverseState>();
    next.wish(query, key, as_wish(weight));
    if (next.wishes.size() <= wish_limit) parts::choose_tokens(drawing, query, key);
    set(std::move(next));
}

void InverseLens::forget(Index query, Index key) const {
    InverseState next = state().of<InverseState>();
    next.forget(query, key);
    visit().perform(SetInverse{std::move(next)});
}

void InverseLens::draw_presets(Subject& subject, const HeadChange& change) {
    const Chosen& row = chosen(subject, change);
    std::vector<std::pair<double, Index>> seen;  // weights and their keys
    for (Index j = 0; j < change.record().keys(); ++j)
        if (is_open(row.row, j)) seen.emplace_back(row.now.at(j).weight, j);
    const Status two =
        seen.size() > 1 ? ok() : Status(Error{"This row sees too few keys to move weight between them."});
    bool first = true;
    const auto offer = [&](const char* name, const char* label, const Status& possible,
                           std::vector<CellWish> wishes) {
        if (!std::exchange(first, false)) ui::next_control(ui::need::choices);
        if (!ui::button(name, label, possible)) return;
        InverseState next = state().of<InverseState>();
        next.wishes = std::move(wishes);
        visit().perform(SetInverse{std::move(next)});
    };
    if (seen.empty()) seen.emplace_back();
    offer("inverse/preset/least", "The weakest gets 0.9", two,
          {{row.query, std::ranges::min(seen).second, 0.9}});
    offer("inverse/preset/most", "The strongest gets 0.05", two,
          {{row.query, std::ranges::max(seen).second, 0.05}});
    if (subject.attention()->one_line()) {
        std::vector<CellWish> back;
        const Range rows = queries_shown(change.record());
        const Mask& mask = change.record().spec().mask;
        for (Index i = std::max<Index>(rows.begin, 1); i < std::min(rows.end, change.record().keys()); ++i)
            if (mask.allows(change.head(), i, i - 1) && mask.allows(change.head(), i, i))
                back.push_back({i, i - 1, 0.6});
        const Status some =
            back.empty() ? Status(Error{"No query here sees itself and the token before it."}) : ok();
        offer("inverse/preset/previous", "All look one back", some, std::move(back));
    }
    offer("inverse/preset/none", "No wish",
          change.wishes().empty() ? Status(Error{"Nothing is wished for yet."}) : ok(), {});
}

void InverseLens::draw_controls(const Drawing& drawing, Subject& subject, const HeadChange& change) {
    InverseState next = state().of<InverseState>();
    ImGui::BeginGroup();
    if (const auto query = ui::stepper("inverse/query", "row of query", chosen_query(change.record()), 0,
                                       change.record().queries() - 1))
        parts::choose_tokens(drawing, *query, selection_of(drawing).key);
    ImGui::EndGroup();
    std::vector<const char*> labels;
    const Index offered = inputs(subject) ? change_count : change_count - 2;
    for (Index i = 0; i < offered; ++i) labels.push_back(info(static_cast<ChangeOf>(i)).label);
    ui::next_control(ui::need::named_choices + ui::need::choices);
    if (const auto chosen =
            ui::labelled_choice("change", "inverse/of", labels, static_cast<int>(change.of())))
        next.of = static_cast<ChangeOf>(*chosen);
    if (const auto trace = subject.attention()->trace();
        trace && normalised(*trace, subject.chosen().layer)) {
        ui::caption("Norms stand between W_Q, W_K and the scores here, so q and k are changed themselves.");
        ui::landmark_item("inverse/normalised");
    }
    set(std::move(next));
}

void InverseLens::wish_as_typed(const Drawing& drawing, Index query, Index key, std::optional<double> weight,
                                const std::string& text) {
    if (weight && *weight > 0 && *weight < 1) return wish(drawing, query, key, *weight);
    visit().report_error({"“" + text + "” is no weight to wish for; type a number between 0 and 1."});
}

// Draws the targets of the chosen row as numbers, and the weight of the chosen key if it has none.
void InverseLens::draw_wishes(const Drawing& drawing, Subject& subject, const HeadChange& change) {
    const Attention& attention = *subject.attention();
    const Chosen& row = chosen(subject, change);
    const auto slider = [&](Index key, double weight, bool wished) {
        ImGui::BeginGroup();
        const std::string name = "inverse/wish/" + std::to_string(key),
                          label = "weight of " + key_in_words(attention, key);
        if (const auto to = ui::slider(name.c_str(), label.c_str(), weight, least_wish, most_wish, "%.3f"))
            wish(drawing, row.query, key, *to);
        // With a keyboard, the user types into the cell itself.
        if (ui::by_touch()) {
            const auto typed = ui::number_field(("inverse/typed/" + std::to_string(key)).c_str(),
                                                label.c_str(), weight, "%.3f", ui::number_width);
            if (typed) wish_as_typed(drawing, row.query, key, *typed, shortest(*typed));
        }
        ImGui::EndGroup();
        if (!wished) return;
        ui::next_control(ui::need::button);
        if (ui::button(("inverse/forget/" + std::to_string(key)).c_str(), "Forget it"))
            forget(row.query, key);
    };
    bool has_chosen = false;
    const auto& key = selection_of(drawing).key;
    const std::vector<CellWish> wishes = change.wishes();
    for (const CellWish& each : wishes) {
        if (each.query != row.query) continue;
        has_chosen = has_chosen || each.key == key;
        slider(each.key, each.weight, true);
    }
    if (key && !has_chosen && *key < change.record().keys() && is_open(row.row, *key))
        slider(*key, as_wish(row.now.at(*key).weight), false);
}

// Digits typed while a cell has the focus become a target.
void InverseLens::type_into(const Drawing& drawing, const HeadChange& change, const Placed& cells) {
    const auto heard = std::exchange(heard_, std::nullopt);
    if (typed_) {
        typed_->typing.gather();
    } else {
        const ImGuiIO& io = ImGui::GetIO();
        const auto& pin = drawing.state().pin;
        const auto cell = heard ? heard : pin && pin->stage == Stage::weight ? pin : std::nullopt;
        if (!cell || io.WantTextInput || io.KeyCtrl) return;
        if (!std::ranges::any_of(io.InputQueueCharacters, begins_weight)) return;
        typed_ = Typed{cell->row, cell->col, ui::Typing()};
        typed_->typing.gather();
    }
    const Record& record = change.record();
    const ShownTokens queries(record.queries(), queries_shown(record)), keys = keys_shown(change);
    if (!queries.holds(typed_->query) || !keys.holds(typed_->key)) return typed_.reset();
    const auto [min, max] = cells.rect({queries.place(typed_->query), keys.place(typed_->key)});
    ui::Type mono(ui::Face::mono, ui::size_small);
    ImGui::SetCursorScreenPos({min.x - 2, min.y - 2});
    ImGui::SetNextItemWidth(std::max(max.x - min.x, ui::number_width));
    ImGui::PushStyleColor(ImGuiCol_FrameBg, ui::theme().surface);
    typed_->typing.draw("##wish");
    ui::landmark_item("inverse/typing");
    ui::semantic_field(ui::Role::textbox, "inverse/typing", "Weight", typed_->typing.text());
    ImGui::PopStyleColor();
    if (!typed_->typing.entered() && !typed_->typing.left()) return;
    const Typed typed = *std::exchange(typed_, std::nullopt);
    if (ImGui::IsKeyPressed(ImGuiKey_Escape)) return;
    const std::string text(typed.typing.text());
    wish_as_typed(drawing, typed.query, typed.key, read_number(text), text);
}

// Draws the present weights, where targets are set.
void InverseLens::draw_weights(const Drawing& drawing, Subject& subject, const HeadChange& change,
                               float width) {
    const Sheet sheet = weights_sheet(subject, change, false);
    present::sheet(drawing, sheet, width, {}, [&](const ui::GridReply& reply, const present::CellRect& rect) {
        const auto of = [&](ui::CellAt at) { return *sheet.cell(at.first, at.second); };
        if (reply.heard) heard_ = of(*reply.heard);
        if (reply.hovered) drawing.point(of(*reply.hovered).row, of(*reply.hovered).col);
        if (reply.clicked) parts::choose_tokens(drawing, of(*reply.clicked).row, of(*reply.clicked).col);
        const auto move = [&](ui::CellAt at, double by) {
            const CellRef cell = of(at);
            const CellWish* made = state().of<InverseState>().wish_of(cell.row, cell.col);
            wish(drawing, cell.row, cell.col, (made ? made->weight : sheet.value(at.first, at.second)) + by);
        };
        // A drag across rows stays with the cell where it began.
        if (reply.dragged && reply.drag != 0)
            move(*reply.dragged, per_point * static_cast<double>(reply.drag));
        if (reply.hovered && reply.wheel != 0)
            move(*reply.hovered,
                 per_notch * std::copysign(std::max(std::abs(static_cast<double>(reply.wheel)), 1.0),
                                           static_cast<double>(reply.wheel)));
        type_into(drawing, change, {rect});
    });
}

// Draws the weights of the row, before and after.
void InverseLens::draw_row(const Drawing& drawing, Subject& subject, const HeadChange& change, float width) {
    const Attention& attention = *subject.attention();
    const ShownTokens keys = keys_shown(change);
    const Chosen& row = chosen(subject, change);
    const std::vector<double>* after = change.after(row.query);
    ui::ChartCurve now{.name = "now", .colour = ui::with_alpha(ui::theme().dim, 0.55f), .bars = true},
        then{.name = "with the change", .colour = ui::with_alpha(ui::theme().accent, 0.55f), .bars = true};
    for (const Index j : keys) {
        const std::string name = label_at(attention.key_names(), j);
        for (auto [curve, weight] :
             {std::pair(&now, row.now.at(j).weight),
              std::pair(&then, after ? (*after)[static_cast<std::size_t>(j)] : row.now.at(j).weight)}) {
            curve->x.push_back(static_cast<double>(j));
            curve->y.push_back(weight);
            curve->notes.push_back(name);
        }
    }
    const std::array curves{now, then};
    const ui::Chart chart{.name = "inverse-row",
                          .title = "The row of " + query_in_words(attention, row.query),
                          .x = {"key", static_cast<double>(keys[0]) - 0.5,
                                static_cast<double>(keys[keys.size() - 1]) + 0.5, false, true},
                          .y = {"weight", 0, 1}};
    present::chart(drawing, chart, width, row_height, std::span(curves).first(after ? 2 : 1),
                   [&](std::size_t curve, std::size_t point) {
                       const Index key = keys[static_cast<Index>(point)];
                       return curve == 0 ? CellRef{Stage::weight, row.query, key}
                                         : inverse_cells::weight(row.query, key);
                   });
}

void InverseLens::draw_search(const Drawing& drawing, const HeadChange& change, float width) const {
    const auto& steps = change.search()->iterations();
    ui::ChartCurve residual{.name = "residual", .colour = ui::series_colour(0), .points = steps.size() < 40},
        length{.name = "length of the change", .colour = ui::series_colour(1), .points = steps.size() < 40};
    double low = 1, high = 1;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        residual.x.push_back(static_cast<double>(i));
        length.x.push_back(static_cast<double>(i));
        // 0 has no place on a logarithmic axis.
        residual.y.push_back(steps[i].residual > 0 ? steps[i].residual : NAN);
        length.y.push_back(steps[i].length > 0 ? steps[i].length : NAN);
        for (const double each : {residual.y.back(), length.y.back()})
            if (std::isfinite(each)) low = std::min(low, each), high = std::max(high, each);
    }
    const std::array curves{residual, length};
    const ui::Chart chart{.name = "inverse-search",
                          .title = "How it was found",
                          .x = {"step", 0, std::max(static_cast<double>(steps.size() - 1), 1.0), false, true},
                          .y = {"log-odds; length |z|", low / 2, 2 * high, true}};
    present::chart(drawing, chart, width, row_height, curves, [](std::size_t curve, std::size_t point) {
        return inverse_cells::iteration(curve, point);
    });
}

void InverseLens::draw_deed(const Drawing& drawing, Subject& subject) {
    const auto possible = deed(subject);
    if (!possible) return;
    const bool has_slider = std::ranges::any_of(change_->wishes(), [&](const CellWish& wish) {
        return wish.query == chosen_query(change_->record());
    });
    if (has_slider) ui::next_button(possible->label);
    const bool pressed = ui::button("inverse/do", possible->label.c_str());
    ui::tooltip(possible->hint.c_str());
    if (pressed) drawing.visit.perform(possible->command);
}

// Says how large the change is, and what else it moves.
void InverseLens::draw_told(Subject& subject, const HeadChange& change) const {
    const Attention& attention = *subject.attention();
    double squares = 0;
    const Record& record = change.record();
    const auto add = [&](double each) { squares += each * each; };
    const ConstMatrix q = record.q().heads().head(change.head()),
                      k = record.k().heads().head(record.kv_head(change.head()));
    if (change.of() == ChangeOf::q)
        for (const Index row : change.wished_rows())
            for (Index a = 0; a < q.cols; ++a) add(static_cast<double>(q(row, a)));
    if (change.of() == ChangeOf::key || change.of() == ChangeOf::keys)
        for (Index j = 0; j < k.rows; ++j)
            for (Index a = 0; a < k.cols && change.left(0, j) != 0; ++a) add(static_cast<double>(k(j, a)));
    if (change.of_projection())
        if (const auto projections = edited_projections(subject, state()))
            for (const double each :
                 (change.of() == ChangeOf::w_q ? projections->w_q : projections->w_k).values)
                add(each);
    const std::string what = change.of() == ChangeOf::q ? "what it was"
                             : change.of_projection()   ? info(change.of()).label
                                                        : "the keys that move";
    std::string text = (change.proven() ? "The least change has length " : "The change has length ") +
                       fixed(change.norm(), 4);
    if (squares > 0) text += ", " + percent(change.norm() / std::sqrt(squares)) + " of " + what;
    text +=
        ", found in " + many(std::ssize(change.search()->iterations()) - 1, "step") +
        (change.proven() ? "." : "; no shorter one was found from " + many(change.starts(), "start") + ".");
    const auto in_row = [&](const HeadChange::Moved& most) {
        return "in the row of " + query_in_words(attention, most.query) + ", the weight of " +
               key_in_words(attention, most.key) + " moves most, by " + (most.by > 0 ? "+" : "−") +
               fixed(std::abs(most.by), 4) + ".";
    };
    if (change.within().key >= 0 && change.within().by != 0) text += " Besides, " + in_row(change.within());
    if (change.of() != ChangeOf::q && !change.all_moved()) {
        text += " The other rows are being worked out.";
    } else if (change.elsewhere().query < 0 || change.elsewhere().by == 0) {
        text += " No other row moves.";
    } else {
        const Index looked = change.rows_looked_at();
        text += (looked < record.queries() ? " Of " + std::to_string(looked) + " rows looked at, "
                                           : std::string(" Elsewhere, ")) +
                in_row(change.elsewhere());
    }
    const bool of_keys = change.of() != ChangeOf::q && change.of() != ChangeOf::w_q;
    if (of_keys && record.kv_heads() < record.heads()) text += " Other heads share these keys.";
    ui::paragraph(text, ui::theme().text);
    ui::landmark_item("inverse/told");
}

// Draws the changed matrix, and the effect of the change.
void InverseLens::draw_found(const Drawing& drawing, Subject& subject) {
    const HeadChange& found = *change_;
    ImGui::Dummy({0, 2});
    draw_told(subject, found);
    ImGui::Dummy({0, 8});
    const std::vector<Sheet> sheets = matrix_sheets(subject, found);
    std::vector<present::Picture> pictures;
    for (const Sheet& sheet : sheets)
        pictures.emplace_back([&](float width) { present::sheet(drawing, sheet, width); });
    pictures.emplace_back([&](float width) { draw_row(drawing, subject, found, width); });
    pictures.emplace_back([&](float width) { draw_search(drawing, found, width); });
    present::in_columns(pictures, least_picture);
}

void InverseLens::draw(const Drawing& drawing, Subject& subject) {
    const ui::TightLabels tight;
    if (!change(subject)) return;
    ui::hint(
        "Drag weights to the right or left, to what they should be: this looks for the least change that "
        "makes "
        "it so. Further down, paint a whole pattern.");
    if (ui::settings()) {
        draw_presets(subject, *change(subject));
        ImGui::Dummy({0, 2});
        if (const HeadChange* now = change(subject)) draw_controls(drawing, subject, *now);
    }
    // Changes by the controls are drawn at once.
    if (!change(subject)) return;
    while (!drawing.deadline.passed() && change_->step()) continue;
    ImGui::Dummy({0, 8});
    // A drag continues while its target is drawn, so nothing above the weights may appear or disappear.
    const auto weights = [&](float width) {
        draw_weights(drawing, subject, *change_, width);
        draw_wishes(drawing, subject, *change_);
        draw_deed(drawing, subject);
    };
    const auto with_the_change = [&](float width) {
        if (&subject_in(visit()) != &subject || !change(subject)) return;
        if (!change_->found()) return draw_row(drawing, subject, *change_, width);
        present::sheet(drawing, weights_sheet(subject, *change_, true), width);
    };
    present::in_columns({weights, with_the_change}, least_picture);
    if (&subject_in(visit()) != &subject || !change(subject)) return;
    const auto elsewhere = std::ranges::count_if(change_->wishes(), [&](const CellWish& wish) {
        return wish.query != chosen_query(change_->record());
    });
    if (elsewhere > 0)
        ui::caption(((elsewhere == 1 ? "One wish is" : std::to_string(elsewhere) + " wishes are") +
                     std::string(" for other rows; click a row to change them."))
                        .c_str());
    if (const HeadChange* now = change(subject); now && now->found()) draw_found(drawing, subject);
    if (change(subject) && change_->step())
        drawing.visit.continue_with(
            [this, of = asked_] { return asked_ == of && change_ && change_->step(); });
    ImGui::Dummy({0, 14});
    draw_pattern(drawing, subject);
}

}  // namespace attn::app
