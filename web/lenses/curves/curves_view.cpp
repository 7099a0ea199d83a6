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

namespace attn::app {

namespace {

constexpr float curve_height = 176, left_share = 0.52f;
constexpr float head_gap = 10, label_line = 15, label_height = 2 * label_line + 5, button_height = 30,
                least_map_side = 64, most_map_side = 190;

ui::ChartCurve loss_curve(const TrainingRun& run, bool compared) {
    ui::ChartCurve curve{.name = compared ? "compared" : "loss",
                         .colour = ui::series_colour(compared ? 1 : 0),
                         .dashed = compared};
    for (const float loss : run.losses()) {
        curve.x.push_back(static_cast<double>(curve.x.size() + 1));
        curve.y.push_back(static_cast<double>(loss));
    }
    return curve;
}

// Returns one curve per head.
std::vector<ui::ChartCurve> head_curves(const TrainingRun& run, double HeadPoint::* score, bool compared) {
    std::vector<ui::ChartCurve> curves(static_cast<std::size_t>(run.plan().layers * run.plan().heads));
    for (std::size_t head = 0; head < curves.size(); ++head) {
        ui::ChartCurve& curve = curves[head];
        const auto heads = static_cast<std::size_t>(run.plan().heads);
        curve.colour = ui::series_colour(head);
        curve.dashed = compared;
        if (!compared) curve.name = std::to_string(head / heads) + "." + std::to_string(head % heads);
        for (const TrainingPoint& point : run.points()) {
            curve.x.push_back(static_cast<double>(point.step));
            curve.y.push_back(point.heads[head].*score);
        }
    }
    return curves;
}

struct Cell {
    Index query, key;
};

std::optional<Cell> cell_under(ImVec2 at, float side, Index n) {
    const ImVec2 mouse = ImGui::GetMousePos();
    if (!ImGui::IsMousePosValid(&mouse)) return std::nullopt;
    const auto place = [&](float distance) {
        return static_cast<Index>(std::floor(distance / side * static_cast<float>(n)));
    };
    const Cell cell{place(mouse.y - at.y), place(mouse.x - at.x)};
    if (cell.query < 0 || cell.query >= n || cell.key < 0 || cell.key >= n) return std::nullopt;
    return cell;
}

std::string gradient_words(double gradient) {
    return "∂loss/∂weight " + fixed(gradient, 4) + " nats a token: " +
           (gradient == 0
                ? "more weight here would change nothing"
                : std::string("more weight here would ") + (gradient < 0 ? "lower" : "raise") + " the loss");
}

}  // namespace

void CurvesLens::draw_curves(const Drawing& drawing, const TrainingState& course, const TrainingRun& run,
                             const TrainingRun* compared, std::int64_t shown, float width) {
    // The run's own curves come first and explain their points.
    const auto drawn = [&](const char* name, const char* title, ui::ChartAxis y,
                           const std::vector<ui::ChartCurve>& curves, std::size_t own, const CellRef& first) {
        const ui::Chart chart{.name = name,
                              .title = title,
                              .x = {"step", 0, static_cast<double>(course.plan.steps), false, true},
                              .y = std::move(y),
                              .marked = static_cast<double>(shown)};
        const ui::ChartReply reply =
            present::chart(drawing, chart, width, curve_height, curves,
                           [&](std::size_t curve, std::size_t point) -> std::optional<CellRef> {
                               if (curve >= own) return std::nullopt;
                               return CellRef{.stage = first.stage,
                                              .row = static_cast<Index>(curves[curve].x[point]),
                                              .col = first.col + static_cast<Index>(curve)};
                           });
        if (reply.held)
            visit().perform(
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
          {.stage = Stage::loss});

    const auto both = [&](double HeadPoint::* score) {
        std::vector<ui::ChartCurve> curves = head_curves(run, score, false);
        if (compared && compared->plan().heads == run.plan().heads &&
            compared->plan().layers == run.plan().layers)
            std::ranges::move(head_curves(*compared, score, true), std::back_inserter(curves));
        return curves;
    };
    const Index heads = run.plan().layers * run.plan().heads;
    const auto of_heads = [&](const char* name, const char* title, ui::ChartAxis y,
                              const std::vector<ui::ChartCurve>& curves, CurveScore score) {
        drawn(name, title, std::move(y), curves, static_cast<std::size_t>(heads),
              {.stage = Stage::curve, .col = static_cast<Index>(score) * heads});
    };
    if (!run.data().repeated.empty())
        of_heads("induction", "Induction, by head", {"induction, on one random repeat"},
                 both(&HeadPoint::induction), CurveScore::induction);
    of_heads("previous", "Previous token, by head", {"weight, on the sequence shown"},
             both(&HeadPoint::previous_token), CurveScore::previous_token);
    const std::vector<ui::ChartCurve> entropies = both(&HeadPoint::entropy);
    of_heads("entropy", "Entropy, by head", up_to("nats, on the sequence shown", entropies, 2), entropies,
             CurveScore::entropy);
}

void CurvesLens::draw_fork(const std::string& name, const char* label, const TrainingPlan& plan,
                           const ForkTraining& fork) {
    if (ui::button(name.c_str(), label, check_fork(plan, fork.step, fork.values))) visit().perform(fork);
}

// Offers steps that continue from the shown one.
void CurvesLens::draw_branches(const TrainingState& course, const TrainingPlan& plan, std::int64_t shown) {
    const std::string from = "From step " + std::to_string(shown) + ":";
    ImGui::AlignTextToFramePadding();
    ui::text_item(from);
    ui::semantic_text(ui::Role::heading, from);
    ImGui::SameLine(0, 10);
    const auto fork = [&](const char* name, const char* label, auto change) {
        TrainingValues values = plan.values_at(shown);
        change(values);
        draw_fork(name, label, plan, {shown, values});
    };
    fork("training/slower", "rate ÷ 3", [](TrainingValues& v) { v.rate /= 3; });
    ImGui::SameLine(0, 6);
    fork("training/faster", "rate × 3", [](TrainingValues& v) { v.rate *= 3; });
    ui::next_control(ui::menu_width);
    fork("training/other-data", "other sequences", [](TrainingValues& v) { ++v.seed; });
    ui::next_control(ui::menu_width);
    if (course.compared) {
        if (ui::button("training/alone", "End comparison")) visit().perform(CompareTraining{std::nullopt});
    } else if (ui::button("training/compare", "Keep for comparison")) {
        visit().perform(CompareTraining{course.plan});
    }
}

// Writes "C looks at B: 0.981" for the cell under the cursor, which a click pins.
void CurvesLens::touch_map(const Drawing& drawing, const TrainingRun& run, HeadIndex head, ImVec2 at,
                           float side) const {
    const auto& pieces = run.data().probe_pieces;
    const Index n = std::ssize(pieces);
    const auto cell = cell_under(at, side, n);
    if (!cell || !ImGui::IsItemHovered()) return;
    const auto named = [&](Index token) {
        return curly_quoted(pieces[static_cast<std::size_t>(token)]) + " (" + std::to_string(token) + ")";
    };
    const bool weights = maps_.shown() == TrainingMaps::weights;
    const auto place = static_cast<std::size_t>(head.layer * run.plan().heads + head.head);
    const auto number = static_cast<double>(maps_.of(place)[cell->query * n + cell->key]);
    const std::string text = named(cell->query) + " → " + named(cell->key) + "   " +
                             (std::isinf(number) ? "masked"
                              : weights          ? fixed(number, 4)
                                                 : gradient_words(number));
    ui::tooltip(text.c_str());
    drawing.now.cell = CellRef{weights ? Stage::weight : Stage::gradient, cell->query, cell->key};
    drawing.now.head = head;
    if (!ui::clicked()) return;
    parts::choose_head(drawing, head);
    present::pin(drawing, *drawing.now.cell);
}

// Draws what the maps show, and the control that changes it.
void CurvesLens::draw_choice() {
    const TrainingMaps shown = maps_.shown();
    static constexpr std::array names{"weights", "gradient"};
    if (const auto chosen = ui::choice("training/stage", names, static_cast<int>(shown)))
        visit().perform(SetTrainingMaps{static_cast<TrainingMaps>(*chosen)});
    const std::string gradient =
        "Rows are queries, columns keys: how the mean loss of this sequence would change with each weight, "
        "if the others stayed as they are. Orange: more weight here lowers the loss; blue: more weight here "
        "raises it. Full colour at " +
        fixed(static_cast<double>(maps_.extent()), 4) + " nats a token.";
    ui::caption(shown == TrainingMaps::gradient ? gradient.c_str()
                                                : "Rows are queries, columns keys, of one fixed sequence. "
                                                  "Drag over a curve to go through the steps.");
}

void CurvesLens::draw_maps(const Drawing& drawing, const TrainingRun& run, const TrainingPlan& plan,
                           const TrainingView& view, const NamedHeads* named, float width) {
    maps_.update(run, view, state().of<CurvesState>().maps);
    const ui::ColourScale scale = maps_.shown() == TrainingMaps::weights
                                      ? ui::sequential_scale(1)
                                      : ui::diverging_scale(maps_.extent());
    const Index layers = std::ssize(view.probe->layers()), heads = view.probe->layers()[0].attention.heads(),
                n = view.probe->tokens();
    const TrainingValues& values = plan.values_at(view.step);
    draw_choice();
    const present::Card card(drawing,
                             {.key = "training/maps",
                              .title = "Attention at step " + std::to_string(view.step),
                              .table = [&] { return map_table(run, view); },
                              .is_listed = false},
                             width);
    width = card.width();

    const Index columns =
        std::clamp<Index>(static_cast<Index>((width + head_gap) / (least_map_side + head_gap)), 1, heads);
    const float side = std::min(
        std::floor((width - head_gap * static_cast<float>(columns - 1)) / static_cast<float>(columns)),
        most_map_side);
    const float pitch = side + label_height + button_height + head_gap;
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    std::vector<render::Heatmap> drawn;
    float y = corner.y;
    for (Index layer = 0; layer < layers; ++layer)
        for (Index first = 0; first < heads; first += columns, y += pitch)
            for (Index head = first; head < std::min(first + columns, heads); ++head) {
                const ImVec2 at{corner.x + static_cast<float>(head - first) * (side + head_gap),
                                y + label_height};
                const std::size_t place = static_cast<std::size_t>(layer * heads + head);
                TrainingValues toggled = values;
                const bool out = std::erase(toggled.ablated, HeadIndex{layer, head}) > 0;
                if (!out) toggled.ablated.push_back({layer, head});
                const std::string name = std::to_string(layer) + "." + std::to_string(head);
                const auto role = named ? named->role({layer, head}) : std::nullopt;
                const std::string does = role ? info(*role).name : "";
                ImDrawList* list = ImGui::GetWindowDrawList();
                list->AddRectFilled({at.x, y + 7}, {at.x + 8, y + 11}, ui::series_colour(place), 2);
                {
                    ui::Type small(ui::Face::regular, ui::size_small);
                    ui::draw_text_within(list, {at.x + 12, y}, side - 12,
                                         out ? ui::theme().dim : ui::theme().text, "head " + name);
                    ui::draw_text_within(list, {at.x, y + label_line}, side, ui::theme().dim,
                                         out ? "left out" : does);
                }
                render::Heatmap map;
                map.key = {&maps_, maps_.serial() * 64 + place};
                map.values = maps_.of(place);
                map.rows = map.cols = n;
                map.min = map.origin = at;
                map.max = {at.x + side, at.y + side};
                map.cell.x = map.cell.y = side / static_cast<float>(n);
                ui::use_scale(map, scale);
                drawn.push_back(map);

                ImGui::SetCursorScreenPos(at);
                ImGui::PushID(static_cast<int>(place));
                ImGui::InvisibleButton("map", {side, side});
                touch_map(drawing, run, {layer, head}, at, side);
                ui::landmark_item("training/map/" + name);
                ui::semantic_item(ui::Role::img, "training/map/" + name, "Map of head " + name);
                ImGui::SetCursorScreenPos({at.x, at.y + side + 4});
                ui::Type small(ui::Face::regular, ui::size_small);
                draw_fork("training/ablate/" + name, out ? "put back" : "leave out", plan,
                          {view.step, toggled});
                ui::rename_node((out ? "Put back head " : "Leave out head ") + name);
                ImGui::PopID();
            }
    ui::draw_heatmaps(ImGui::GetWindowDrawList(), drawn);
    ImGui::SetCursorScreenPos(corner);
    ImGui::Dummy({width, y - corner.y});
}

void CurvesLens::draw(const Drawing& drawing, Subject& subject) {
    const TrainingState& course = *subject.course();
    TrainingRuns& runs = *subject.runs();
    const TrainingRun* run = runs.shown();
    if (!run) return;
    const std::int64_t shown = run->shown_step(course.step.value_or(run->steps_taken()));
    TrainingPlan plan = run->plan();
    plan.text.clear();  // irrelevant here, and possibly long
    const float width = ImGui::GetContentRegionAvail().x;
    const bool beside = width >= ui::two_unequal_columns;
    const float left = beside ? std::floor(width * left_share) : width;
    ImGui::Dummy({0, 6});
    ImGui::BeginGroup();
    draw_curves(drawing, course, *run, runs.compared(), shown, left);
    ImGui::EndGroup();
    if (beside) ImGui::SameLine(0, present::card_gap);
    ImGui::BeginGroup();
    if (const TrainingView* view = runs.shown_view(course)) {
        const float room = beside ? width - left - present::card_gap : width;
        draw_maps(drawing, *run, plan, *view, subject.named_heads(), room);
        subject.draw_beside(drawing, room);
    }
    ImGui::Dummy({0, 6});
    draw_branches(course, plan, shown);
    ImGui::EndGroup();
}

}  // namespace attn::app
