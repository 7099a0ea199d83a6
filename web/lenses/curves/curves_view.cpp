#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/curves/curves.hpp"
#include "parts/part.hpp"
#include "present/present.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"

namespace attn::app::curves {

namespace {

constexpr float curve_height = 176, left_share = 0.52f;
constexpr float head_gap = 10, label_line = 15, label_height = 2 * label_line + 5, button_height = 30,
                least_map_side = 64, most_map_side = 190;

ui::ChartCurve loss_curve(const TrainingRun& run, bool compared) {
    ui::ChartCurve curve{.name = compared ? "compared" : "loss",
                         .colour = ui::series_colour(compared ? 1 : 0),
                         .y{run.losses().begin(), run.losses().end()},
                         .dashed = compared};
    for (std::size_t step = 1; step <= curve.y.size(); ++step) curve.x.push_back(static_cast<double>(step));
    return curve;
}

// Returns one curve per head.
std::vector<ui::ChartCurve> head_curves(const TrainingRun& run, double HeadPoint::* score, bool compared) {
    std::vector<ui::ChartCurve> curves;
    const Index heads = run.plan().heads;
    for (Index head = 0; head < run.plan().layers * heads; ++head) {
        const std::string name = std::to_string(head / heads) + "." + std::to_string(head % heads);
        const auto place = static_cast<std::size_t>(head);
        ui::ChartCurve& curve = curves.emplace_back(ui::ChartCurve{
            .name = compared ? "" : name, .colour = ui::series_colour(place), .dashed = compared});
        for (const TrainingPoint& point : run.points()) {
            curve.add(static_cast<double>(point.step), point.heads[place].*score);
        }
    }
    return curves;
}

void draw_curves(const Model& model, const Drawing& drawing, const TrainingState& course,
                 const TrainingRun* compared, float width) {
    const TrainingRun& run = *model.run;
    // The run's own curves come first and explain their points.
    const auto drawn = [&](const char* name, const std::string& title, ui::ChartAxis y,
                           const std::vector<ui::ChartCurve>& curves, Index own, const auto& cell) {
        const ui::Chart chart{.name = name,
                              .title = title,
                              .x = {"step", 0, static_cast<double>(course.plan.steps), false, true},
                              .y = std::move(y),
                              .marked = static_cast<double>(model.step)};
        const ui::ChartReply reply =
            present::chart(drawing, chart, width, curve_height, curves,
                           [&](std::size_t curve, std::size_t point) -> std::optional<CellRef> {
                               const auto place = static_cast<Index>(curve);
                               if (place >= own) return std::nullopt;
                               return cell(place, static_cast<Index>(curves[curve].x[point]));
                           });
        if (reply.held)
            drawing.visit.perform(
                ShowTrainingStep{std::min<std::int64_t>(std::llround(*reply.held), run.steps_taken())});
    };
    std::vector<ui::ChartCurve> losses{loss_curve(run, false)};
    if (compared) losses.push_back(loss_curve(*compared, true));
    const auto up_to = [](std::string title, const std::vector<ui::ChartCurve>& curves, double steps_of_one) {
        double most = 0.1;
        for (const ui::ChartCurve& curve : curves)
            for (const double value : curve.y) most = std::max(most, value);
        return ui::ChartAxis{std::move(title), 0, std::ceil(most * steps_of_one) / steps_of_one};
    };
    drawn("loss", "Loss", up_to("nats, mean over each step’s targets", {losses.front()}, 1), losses, 1,
          [](Index, Index at) { return cells::loss(at); });

    const bool alike = compared && compared->plan().heads == run.plan().heads &&
                       compared->plan().layers == run.plan().layers;
    for (std::size_t i = 0; i < curve_scores.size(); ++i) {
        const auto& [name, axis, formula, value] = curve_scores[i];
        if (value == &HeadPoint::induction && run.data().repeated.empty()) continue;
        std::vector<ui::ChartCurve> curves = head_curves(run, value, false);
        const auto own = std::ssize(curves);
        if (alike) std::ranges::move(head_curves(*compared, value, true), std::back_inserter(curves));
        drawn(cells::scores[i].data(), std::string(name) + ", by head",
              value == &HeadPoint::entropy ? up_to(axis, curves, 2) : ui::ChartAxis{axis}, curves, own,
              [i](Index head, Index at) { return cells::score(i, head, at); });
    }
}

// Draws a button that forks the run; `plan` is the run's own, without its text.
void draw_fork(const Drawing& drawing, const std::string& name, const char* label, const TrainingPlan& plan,
               const ForkTraining& fork) {
    if (ui::button(name.c_str(), label, check_fork(plan, fork.step, fork.values)))
        drawing.visit.perform(fork);
}

// Offers steps that continue from the shown one.
void draw_branches(const Drawing& drawing, const TrainingState& course, const TrainingPlan& plan,
                   std::int64_t step) {
    const std::string from = "From step " + std::to_string(step) + ":";
    ImGui::AlignTextToFramePadding();
    ui::text_item(from);
    ui::semantic_text(ui::Role::heading, from);
    ImGui::SameLine(0, 10);
    const auto fork = [&](const char* name, const char* label, auto change) {
        TrainingValues values = plan.values_at(step);
        change(values);
        draw_fork(drawing, name, label, plan, {step, values});
    };
    fork("training/slower", "rate ÷ 3", [](TrainingValues& v) { v.rate /= 3; });
    ImGui::SameLine(0, 6);
    fork("training/faster", "rate × 3", [](TrainingValues& v) { v.rate *= 3; });
    ui::next_control(ui::menu_width);
    fork("training/other-data", "other sequences", [](TrainingValues& v) { ++v.seed; });
    ui::next_control(ui::menu_width);
    if (course.compared) {
        if (ui::button("training/alone", "End comparison"))
            drawing.visit.perform(CompareTraining{std::nullopt});
    } else if (ui::button("training/compare", "Keep for comparison")) {
        drawing.visit.perform(CompareTraining{course.plan});
    }
}

// Writes "C looks at B: 0.981" for the cell under the cursor, which a click pins.
void touch_map(const Model& model, const Drawing& drawing, HeadIndex head, const render::Heatmap& map) {
    if (!ImGui::IsItemHovered()) return;
    const auto at = [&](float distance) {
        return std::clamp<Index>(static_cast<Index>(distance / map.cell.x), 0, map.rows - 1);
    };
    const ImVec2 mouse = ImGui::GetMousePos();
    const Index query = at(mouse.y - map.min.y), key = at(mouse.x - map.min.x);
    const auto& pieces = model.run->data().probe_pieces;
    const auto named = [&](Index token) {
        return curly_quoted(pieces[static_cast<std::size_t>(token)]) + " (" + std::to_string(token) + ")";
    };
    const bool weights = model.maps.shown() == TrainingMaps::weights;
    const auto number = static_cast<double>(map.values[query * map.cols + key]);
    const std::string effect = number == 0  ? "change nothing"
                               : number < 0 ? "lower the loss"
                                            : "raise the loss",
                      told = std::isinf(number) ? "masked"
                             : weights          ? four(number)
                                                : "∂loss/∂weight " + four(number) +
                                             " nats a token: more weight here would " + effect;
    ui::tooltip((named(query) + " → " + named(key) + "   " + told).c_str());
    drawing.now.cell = RunCell{weights ? Stage::weight : Stage::gradient, query, key};
    drawing.now.head = head;
    if (!ui::clicked()) return;
    parts::choose_head(drawing, head);
    present::pin(drawing, *drawing.now.cell);
}

// Draws what the maps show, and the control that changes it.
void draw_choice(const StepMaps& maps, const Drawing& drawing) {
    static constexpr std::array names{"weights", "gradient"};
    if (const auto chosen = ui::choice("training/stage", names, static_cast<int>(maps.shown())))
        drawing.visit.perform(Set<State>{{static_cast<TrainingMaps>(*chosen)}});
    if (maps.shown() == TrainingMaps::weights)
        return ui::caption(
            "Rows are queries, columns keys, of one fixed sequence. Drag over a curve to go through the "
            "steps.");
    ui::caption(("Rows are queries, columns keys: how the mean loss of this sequence would change with each "
                 "weight, if the others stayed as they are. Orange: more weight here lowers the loss; blue: "
                 "more weight here raises it. Full colour at " +
                 four(static_cast<double>(maps.extent())) + " nats a token.")
                    .c_str());
}

// Draws one head's names, map and button, and returns the map, which is drawn with the others.
render::Heatmap draw_head(const Model& model, const Drawing& drawing, const TrainingPlan& plan,
                          HeadIndex head, const std::string& does, ImVec2 at, float side) {
    const std::size_t place = static_cast<std::size_t>(head.layer * plan.heads + head.head);
    TrainingValues toggled = plan.values_at(model.view->step);
    const bool out = std::erase(toggled.ablated, head) > 0;
    if (!out) toggled.ablated.push_back(head);
    const std::string name = std::to_string(head.layer) + "." + std::to_string(head.head);
    const ui::Theme& theme = ui::theme();
    ImDrawList* list = ImGui::GetWindowDrawList();
    list->AddRectFilled({at.x, at.y + 7}, {at.x + 8, at.y + 11}, ui::series_colour(place), 2);
    {
        ui::Type small(ui::Face::regular, ui::size_small);
        ui::draw_text_within(list, {at.x + 12, at.y}, side - 12, out ? theme.dim : theme.text,
                             "head " + name);
        ui::draw_text_within(list, {at.x, at.y + label_line}, side, theme.dim, out ? "left out" : does);
    }
    render::Heatmap map;
    map.key = {&model.maps, model.maps.serial() * 64 + place};
    map.values = model.maps.cells(head);
    map.rows = map.cols = model.view->probe->tokens();
    map.min = map.origin = {at.x, at.y + label_height};
    map.max = {map.min.x + side, map.min.y + side};
    map.cell.x = map.cell.y = side / static_cast<float>(map.rows);
    ui::use_scale(map, model.maps.shown() == TrainingMaps::weights
                           ? ui::sequential_scale(1)
                           : ui::diverging_scale(model.maps.extent()));
    ImGui::SetCursorScreenPos(map.min);
    ImGui::PushID(static_cast<int>(place));
    ImGui::InvisibleButton("map", {side, side});
    touch_map(model, drawing, head, map);
    ui::landmark_item("training/map/" + name);
    ui::semantic_item(ui::Role::img, "training/map/" + name, "Map of head " + name);
    ImGui::SetCursorScreenPos({at.x, map.max.y + 4});
    ui::Type small(ui::Face::regular, ui::size_small);
    draw_fork(drawing, "training/ablate/" + name, out ? "put back" : "leave out", plan,
              {model.view->step, toggled});
    ui::rename_node((out ? "Put back head " : "Leave out head ") + name);
    ImGui::PopID();
    return map;
}

void draw_maps(const Model& model, const Drawing& drawing, const TrainingPlan& plan, const NamedHeads* named,
               float width) {
    draw_choice(model.maps, drawing);
    const present::Card card(drawing,
                             {.key = "training/maps",
                              .title = "Attention at step " + std::to_string(model.view->step),
                              .table = [&] { return map_table(model); },
                              .is_listed = false},
                             width);
    width = card.width();
    const Index heads = plan.heads,
                columns = std::clamp<Index>(
                    static_cast<Index>((width + head_gap) / (least_map_side + head_gap)), 1, heads);
    const float side = std::min(
        std::floor((width - head_gap * static_cast<float>(columns - 1)) / static_cast<float>(columns)),
        most_map_side);
    const float pitch = side + label_height + button_height + head_gap;
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    std::vector<render::Heatmap> drawn;
    float y = corner.y;
    for (Index layer = 0; layer < plan.layers; ++layer)
        for (Index first = 0; first < heads; first += columns, y += pitch)
            for (Index head = first; head < std::min(first + columns, heads); ++head) {
                const auto role = named ? named->role({layer, head}) : std::nullopt;
                const float x = corner.x + static_cast<float>(head - first) * (side + head_gap);
                drawn.push_back(draw_head(model, drawing, plan, {layer, head}, role ? info(*role).name : "",
                                          {x, y}, side));
            }
    ui::draw_heatmaps(ImGui::GetWindowDrawList(), drawn);
    ImGui::SetCursorScreenPos(corner);
    ImGui::Dummy({width, y - corner.y});
}

}  // namespace

void draw_model(Model& model, const Drawing& drawing, Subject& subject) {
    if (!model.run) return;
    Learning& learning = *subject.learning();
    const TrainingState& course = learning.course();
    TrainingPlan plan = model.run->plan();
    plan.text.clear();  // irrelevant here, and possibly long
    const float width = ImGui::GetContentRegionAvail().x;
    const bool beside = width >= ui::two_unequal_columns;
    const float left = beside ? std::floor(width * left_share) : width;
    ImGui::BeginGroup();
    draw_curves(model, drawing, course, learning.runs().compared(), left);
    ImGui::EndGroup();
    if (beside) ImGui::SameLine(0, present::card_gap);
    ImGui::BeginGroup();
    model.update(drawing.visit, subject);
    if (model.view) {
        const float room = beside ? width - left - present::card_gap : width;
        draw_maps(model, drawing, plan, subject.named_heads(), room);
        subject.draw_beside(drawing, room);
    }
    ImGui::Dummy({0, 6});
    draw_branches(drawing, course, plan, model.step);
    ImGui::EndGroup();
}

}  // namespace attn::app::curves
