#include "lenses/training_maps.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "lenses/lens.hpp"
#include "maps/map.hpp"
#include "widgets/controls.hpp"
#include "widgets/heatmap.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/plot.hpp"

namespace attn::lenses {

namespace {

using app::Session;
using app::TrainingMaps;

constexpr float head_gap = 10, label_height = 20, button_height = 30, least_map_side = 64,
                most_map_side = 190;

// Of one head of a layer whose gradients by its attention output are [heads, n, head_dim].
MapPointer by_weight(const std::shared_ptr<const Record>& record, Index head, const Tensor& gradients) {
    const auto size = static_cast<std::size_t>(record->queries() * record->d_v());
    const auto own = gradients.values().subspan(static_cast<std::size_t>(head) * size, size);
    return *gradient_map(record, head, Tensor({record->queries(), record->d_v()}, own), GradientBy::weight);
}

// Of all heads, as the heatmap pass takes them: [layers · heads, n, n], −inf where the mask forbids.
class RunMaps {
  public:
    void update(const app::TrainingRun& run, const app::TrainingView& view, TrainingMaps shown) {
        if (trace_ == view.probe && shown_ == shown) return;
        trace_ = view.probe;
        shown_ = shown;
        ++serial_;
        values_.clear();
        extent_ = 0;
        std::vector<Tensor> gradients;
        if (shown == TrainingMaps::gradient) gradients = run.attention_gradients(view);
        for (Index layer = 0; layer < std::ssize(trace_->layers()); ++layer) {
            const auto record = record_of(trace_, layer);
            for (Index head = 0; head < record->heads(); ++head)
                values_.push_back(
                    cells_of(shown == TrainingMaps::weights
                                 ? *stage_map(record, head, Stage::weight)
                                 : *by_weight(record, head, gradients[static_cast<std::size_t>(layer)])));
        }
        for (const std::vector<float>& head : values_)
            for (const float value : head)
                if (std::isfinite(value)) extent_ = std::max(extent_, std::abs(value));
    }
    std::uint64_t serial() const { return serial_; }
    const float* of(std::size_t head) const { return values_[head].data(); }
    float extent() const { return extent_; }  // the largest magnitude of any cell
    ui::ColourScale scale() const {
        return shown_ == TrainingMaps::weights ? ui::sequential_scale(1) : ui::diverging_scale(extent_);
    }

  private:
    std::shared_ptr<const Trace> trace_;
    TrainingMaps shown_ = TrainingMaps::weights;
    std::uint64_t serial_ = 0;
    std::vector<std::vector<float>> values_;
    float extent_ = 0;
};

RunMaps run_maps;

struct Cell {
    Index query, key;
};

std::optional<Cell> cell_under(ImVec2 at, float side, Index n) {
    const ImVec2 mouse = ImGui::GetMousePos();
    const auto place = [&](float distance) {
        return static_cast<Index>(std::floor(distance / side * static_cast<float>(n)));
    };
    const Cell cell{place(mouse.y - at.y), place(mouse.x - at.x)};
    if (cell.query < 0 || cell.query >= n || cell.key < 0 || cell.key >= n) return std::nullopt;
    return cell;
}

std::string gradient_words(double gradient) {
    return "∂loss/∂weight " + app::fixed(gradient, 4) + " nats a token: " +
           (gradient == 0
                ? "more weight here would change nothing"
                : std::string("more weight here would ") + (gradient < 0 ? "lower" : "raise") + " the loss");
}

// "C looks at B: 0.981", of the cell under the cursor.
void tell(const app::TrainingRun& run, TrainingMaps shown, const float* values, const Cell& cell, Index n) {
    const auto& pieces = run.data().probe_pieces;
    const float value = values[cell.query * n + cell.key];
    const auto named = [&](Index token) {
        return quoted(pieces[static_cast<std::size_t>(token)]) + " (" + std::to_string(token) + ")";
    };
    const auto number = static_cast<double>(value);
    const std::string text = named(cell.query) + " → " + named(cell.key) + "   " +
                             (std::isinf(value)                ? "masked"
                              : shown == TrainingMaps::weights ? app::fixed(number, 4)
                                                               : gradient_words(number));
    ui::tooltip(text.c_str());
}

// What is shown, and the choice of it.
void stage_choice(Session& session, const app::TrainingView& view, TrainingMaps shown) {
    {
        ui::Type semibold(ui::Face::semibold, ui::size_body);
        const std::string title = "Attention at step " + std::to_string(view.step);
        ImGui::AlignTextToFramePadding();
        ImGui::TextUnformatted(title.c_str());
    }
    ui::next_control(150);
    static constexpr std::array names{"weights", "gradient"};
    if (const auto chosen = ui::choice("training/stage", names, static_cast<int>(shown)))
        session.perform(app::SetTrainingMaps{static_cast<TrainingMaps>(*chosen)});
    const std::string gradient =
        "Rows are queries, columns keys: how the mean loss of this sequence would change with each weight, "
        "the others left as they are. In blue more weight would lower it, in orange raise it; full colour "
        "at " +
        app::fixed(static_cast<double>(run_maps.extent()), 4) + " nats a token.";
    ui::caption(shown == TrainingMaps::gradient ? gradient.c_str()
                                                : "Rows are queries, columns keys, of one fixed sequence. "
                                                  "Drag over a curve to go through the steps.");
}

}  // namespace

std::optional<HeadIndex> training_maps(Session& session, const app::TrainingRun& run,
                                       const app::TrainingView& view, float width) {
    const TrainingMaps shown = session.state().training.maps;
    run_maps.update(run, view, shown);
    const Index layers = std::ssize(view.probe->layers()), heads = view.probe->layers()[0].attention.heads(),
                n = view.probe->tokens();
    const auto& ablated = run.plan().values_at(std::max<std::int64_t>(view.step, 1) - 1).ablated;
    stage_choice(session, view, shown);

    const Index columns =
        std::clamp<Index>(static_cast<Index>((width + head_gap) / (least_map_side + head_gap)), 1, heads);
    const float side = std::min(
        std::floor((width - head_gap * static_cast<float>(columns - 1)) / static_cast<float>(columns)),
        most_map_side);
    const float pitch = side + label_height + button_height + head_gap;
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    std::vector<render::Heatmap> drawn;
    std::optional<HeadIndex> pressed;
    float y = corner.y;
    for (Index layer = 0; layer < layers; ++layer)
        for (Index first = 0; first < heads; first += columns, y += pitch)
            for (Index head = first; head < std::min(first + columns, heads); ++head) {
                const ImVec2 at{corner.x + static_cast<float>(head - first) * (side + head_gap),
                                y + label_height};
                const std::size_t place = static_cast<std::size_t>(layer * heads + head);
                const bool out = std::ranges::find(ablated, HeadIndex{layer, head}) != ablated.end();
                const std::string name = std::to_string(layer) + "." + std::to_string(head);
                ImDrawList* list = ImGui::GetWindowDrawList();
                list->AddRectFilled({at.x, y + 7}, {at.x + 8, y + 11}, ui::series_colour(place), 2);
                {
                    ui::Type small(ui::Face::regular, ui::size_small);
                    ui::draw_text_within(list, {at.x + 12, y}, side - 12,
                                         out ? ui::theme().dim : ui::theme().text,
                                         out ? name + " left out" : "head " + name);
                }
                render::Heatmap map;
                map.key = {&run_maps, run_maps.serial() * 64 + place};
                map.values = run_maps.of(place);
                map.rows = map.cols = n;
                map.min = map.origin = at;
                map.max = {at.x + side, at.y + side};
                map.cell.x = map.cell.y = side / static_cast<float>(n);
                ui::use_scale(map, run_maps.scale());
                drawn.push_back(map);

                ImGui::SetCursorScreenPos(at);
                ImGui::PushID(static_cast<int>(place));
                ImGui::InvisibleButton("map", {side, side});
                if (const auto cell = cell_under(at, side, n); cell && ImGui::IsItemHovered())
                    tell(run, shown, run_maps.of(place), *cell, n);
                ui::landmark_item("training/map/" + name);
                ImGui::SetCursorScreenPos({at.x, at.y + side + 4});
                ui::Type small(ui::Face::regular, ui::size_small);
                if (ui::button(("training/ablate/" + name).c_str(), out ? "take back" : "leave out"))
                    pressed = HeadIndex{layer, head};
                ImGui::PopID();
            }
    render::draw(ImGui::GetWindowDrawList(), drawn);
    ImGui::SetCursorScreenPos(corner);
    ImGui::Dummy({width, y - corner.y});
    return pressed;
}

}  // namespace attn::lenses
