#include "lenses/training_maps.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "lenses/lens.hpp"
#include "maps/map.hpp"
#include "widgets/controls.hpp"
#include "widgets/heatmap.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/plot.hpp"

namespace attn::lenses {

namespace {

constexpr float head_gap = 10, label_height = 20, button_height = 30, least_map_side = 64,
                most_map_side = 190;

// The weights of all heads, as the heatmap pass takes them: [layers · heads, n, n], −inf where the mask forbids.
class RunMaps {
  public:
    void update(const app::TrainingView& view) {
        if (trace_ == view.probe) return;
        trace_ = view.probe;
        ++serial_;
        values_.clear();
        for (Index layer = 0; layer < std::ssize(trace_->layers()); ++layer) {
            const auto record = record_of(trace_, layer);
            for (Index head = 0; head < record->heads(); ++head)
                values_.push_back(cells_of(*stage_map(record, head, Stage::weight)));
        }
    }
    std::uint64_t serial() const { return serial_; }
    const float* of(std::size_t head) const { return values_[head].data(); }

  private:
    std::shared_ptr<const Trace> trace_;
    std::uint64_t serial_ = 0;
    std::vector<std::vector<float>> values_;
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

// "C looks at B: 0.981", of the cell under the cursor.
void tell(const app::TrainingRun& run, const float* values, const Cell& cell, Index n) {
    const auto& pieces = run.data().probe_pieces;
    const float weight = values[cell.query * n + cell.key];
    const auto named = [&](Index token) {
        return quoted(pieces[static_cast<std::size_t>(token)]) + " (" + std::to_string(token) + ")";
    };
    char number[32];
    std::snprintf(number, sizeof number, "%.4f", static_cast<double>(weight));
    const std::string text =
        named(cell.query) + " → " + named(cell.key) + "   " + (std::isinf(weight) ? "masked" : number);
    ui::tooltip(text.c_str());
}

}  // namespace

std::optional<HeadIndex> training_maps(const app::TrainingRun& run, const app::TrainingView& view,
                                       float width) {
    run_maps.update(view);
    const Index layers = std::ssize(view.probe->layers()), heads = view.probe->layers()[0].attention.heads(),
                n = view.probe->tokens();
    const auto& ablated = run.plan().values_at(std::max<std::int64_t>(view.step, 1) - 1).ablated;
    {
        ui::Type semibold(ui::Face::semibold, ui::size_body);
        const std::string title = "Attention at step " + std::to_string(view.step);
        ImGui::TextUnformatted(title.c_str());
    }
    ui::caption(
        "Rows are queries, columns keys, of one fixed sequence. Drag over a curve to go through the steps.");

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
                ui::use_scale(map, ui::sequential_scale(1));
                drawn.push_back(map);

                ImGui::SetCursorScreenPos(at);
                ImGui::PushID(static_cast<int>(place));
                ImGui::InvisibleButton("map", {side, side});
                if (const auto cell = cell_under(at, side, n); cell && ImGui::IsItemHovered())
                    tell(run, run_maps.of(place), *cell, n);
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
