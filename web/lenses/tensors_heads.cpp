// All heads of a person's own tensors as thumbnails.
#include <algorithm>
#include <cmath>

#include "lenses/heads_view.hpp"
#include "lenses/tensors_view.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::lenses {

namespace {

constexpr float thumbnail_gap = 4, least_thumbnail = 24, most_thumbnail = 64, least_edge = 8;

// What of the thumbnails is in the textures: a row of the grid each, taken up again where a head of it has changed.
class ThumbnailRows {
  public:
    void update(const app::TensorSet& set) {
        const attn::Thumbnails& maps = *set.thumbnails();
        if (set_ != set.version()) {
            rows_.clear();
            set_ = set.version();
            extent_ = 0;
        }
        if (version_ == maps.version() && !rows_.empty()) return;
        version_ = maps.version();
        const auto columns = static_cast<std::size_t>(set.thumbnail_columns()),
                   count = static_cast<std::size_t>(set.layers() * set.heads());
        rows_.resize((count + columns - 1) / columns);
        for (std::size_t row = 0; row < rows_.size(); ++row) {
            int state = 0;
            for (std::size_t map = row * columns; map < std::min(count, (row + 1) * columns); ++map)
                state += static_cast<int>(maps.state(map));
            if (rows_[row].state != state) rows_[row] = {state, ++serials_};
        }
        const ConstMatrix field = maps.strongest();
        for (Index i = 0; i < field.rows * field.cols; ++i)
            if (const float value = std::abs(field.data[i]); std::isfinite(value))
                extent_ = std::max(extent_, value);
    }
    std::uint64_t serial(Index row) const { return rows_[static_cast<std::size_t>(row)].serial; }
    Index rows() const { return std::ssize(rows_); }
    float extent() const { return extent_; }

  private:
    struct Row {
        int state = -1;
        std::uint64_t serial = 0;
    };
    std::uint64_t set_ = 0, version_ = 0, serials_ = 0;
    float extent_ = 0;
    std::vector<Row> rows_;
};
ThumbnailRows thumbnail_rows;

struct TensorGrid {
    Index columns, count;
    ImVec2 size;  // of a thumbnail
    ImVec2 at;    // of the first

    ImVec2 min(Index map) const {
        return {at.x + static_cast<float>(map % columns) * (size.x + thumbnail_gap),
                at.y + static_cast<float>(map / columns) * (size.y + thumbnail_gap)};
    }
    ImVec2 max(Index map) const { return {min(map).x + size.x, min(map).y + size.y}; }
    std::optional<Index> under(ImVec2 mouse) const {
        const auto row =
            static_cast<Index>(std::floor((mouse.y - at.y + thumbnail_gap / 2) / (size.y + thumbnail_gap)));
        const auto column =
            static_cast<Index>(std::floor((mouse.x - at.x + thumbnail_gap / 2) / (size.x + thumbnail_gap)));
        const Index map = row * columns + column;
        if (row < 0 || column < 0 || column >= columns || map >= count) return std::nullopt;
        return map;
    }
};

void draw_thumbnails(const TensorsView& view, const TensorGrid& grid) {
    const attn::Thumbnails& thumbnails = *view.set.thumbnails();
    const ui::ColourScale scale = weight_scale(view.set, thumbnail_rows.extent());
    std::vector<render::Heatmap> maps;
    for (Index row = 0; row < thumbnail_rows.rows(); ++row) {
        const Index first = row * grid.columns, last = std::min(first + grid.columns, grid.count) - 1;
        render::Heatmap map;
        map.key = {&thumbnail_rows, static_cast<std::uint64_t>(row)};
        map.version = thumbnail_rows.serial(row);
        map.values = thumbnails.strongest().row(row * thumbnails.rows());
        map.rows = thumbnails.rows();
        map.cols = grid.columns * thumbnails.cols();
        map.min = map.origin = grid.min(first);
        map.max = grid.max(last);
        map.cell = {grid.size.x / static_cast<float>(thumbnails.cols()),
                    grid.size.y / static_cast<float>(thumbnails.rows())};
        map.tile_columns = thumbnails.cols();
        map.tile_pitch = grid.size.x + thumbnail_gap;
        ui::use_scale(map, scale);
        maps.push_back(map);
    }
    render::draw(ImGui::GetWindowDrawList(), maps);
}

// Numbers of layers on the left and of heads above; of one layer in several rows, those of each row's first head.
void draw_labels(const TensorsView& view, const TensorGrid& grid, std::optional<Index> lit) {
    ui::Type small(ui::Face::regular, ui::size_small);
    ImDrawList* list = ImGui::GetWindowDrawList();
    const app::Selection& chosen = view.selection();
    const Index heads = view.set.heads();
    const auto ink = [&](bool on, bool strong) {
        return strong ? ui::theme().accent : on ? ui::theme().text : ui::theme().dim;
    };
    for (Index row = 0; row < thumbnail_rows.rows(); ++row) {
        const Index first = row * grid.columns;
        const bool is_layer = view.set.layers() > 1;
        const std::string text = std::to_string(is_layer ? row : first);
        const ImVec2 size = ui::text_size(text);
        ui::draw_text(list, {grid.at.x - 9 - size.x, grid.min(first).y + (grid.size.y - size.y) / 2},
                      ink(lit && *lit / grid.columns == row, is_layer && chosen.layer == row), text);
    }
    for (Index column = 0; column < grid.columns; ++column) {
        const std::string text = (grid.columns < heads && column > 0 ? "+" : "") + std::to_string(column);
        const ImVec2 size = ui::text_size(text);
        if (size.x > grid.size.x + thumbnail_gap) continue;
        ui::draw_text(list, {grid.min(column).x + (grid.size.x - size.x) / 2, grid.at.y - 5 - size.y},
                      ink(lit && *lit % grid.columns == column, chosen.head % grid.columns == column), text);
    }
}

// Arrow keys go to the neighbours.
void walk(TensorsView& view, const TensorGrid& grid, Index chosen) {
    Index map = chosen;
    if (arrow_pressed(ImGuiKey_LeftArrow) && map % grid.columns > 0) --map;
    if (arrow_pressed(ImGuiKey_RightArrow) && map % grid.columns + 1 < grid.columns) ++map;
    if (arrow_pressed(ImGuiKey_UpArrow)) map -= grid.columns;
    if (arrow_pressed(ImGuiKey_DownArrow)) map += grid.columns;
    if (map != chosen && map >= 0 && map < grid.count)
        view.select_head(map / view.set.heads(), map % view.set.heads());
}

}  // namespace

void tensors_heads(TensorsView& view, float width, float most_height) {
    if (!view.set.thumbnails()) return;
    thumbnail_rows.update(view.set);
    const Index heads = view.set.heads(), columns = view.set.thumbnail_columns();
    const attn::Thumbnails& maps = *view.set.thumbnails();
    const float label_width = 28, label_height = 20;
    const float side =
        std::clamp(std::floor((width - label_width - 2) / static_cast<float>(columns) - thumbnail_gap),
                   least_thumbnail, most_thumbnail);
    const auto rows = static_cast<float>(maps.rows()), cols = static_cast<float>(maps.cols());
    const float longer = std::max(rows, cols);
    const ImVec2 size{std::max(side * cols / longer, least_edge), std::max(side * rows / longer, least_edge)};
    const ImVec2 content{label_width + static_cast<float>(columns) * (size.x + thumbnail_gap),
                         label_height + static_cast<float>(thumbnail_rows.rows()) * (size.y + thumbnail_gap)};
    const float bar = content.x > width + 1 ? ImGui::GetStyle().ScrollbarSize : 0;

    ImGui::BeginChild("heads", {width, std::min(content.y + bar, most_height)}, 0,
                      ImGuiWindowFlags_HorizontalScrollbar);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const TensorGrid grid{
        columns, view.set.layers() * heads, size, {corner.x + label_width, corner.y + label_height}};
    const Index chosen = view.selection().layer * heads + view.selection().head;
    ImGui::InvisibleButton("grid", content);
    const auto under = ImGui::IsItemHovered() ? grid.under(ImGui::GetMousePos()) : std::nullopt;
    walk(view, grid, chosen);
    if (ImGui::IsItemDeactivated() && under && !dragged()) view.select_head(*under / heads, *under % heads);
    if (ImGui::IsItemActive() && ImGui::IsMouseDragging(0)) {
        ImGui::SetScrollX(ImGui::GetScrollX() - ImGui::GetIO().MouseDelta.x);
        ImGui::SetScrollY(ImGui::GetScrollY() - ImGui::GetIO().MouseDelta.y);
    }

    draw_thumbnails(view, grid);
    draw_labels(view, grid, under);
    ImDrawList* list = ImGui::GetWindowDrawList();
    const auto frame = [&](Index map, ImU32 colour) {
        const ImVec2 a = grid.min(map), b = grid.max(map);
        list->AddRect({a.x - 2, a.y - 2}, {b.x + 2, b.y + 2}, colour, 4, 0, 2);
    };
    frame(chosen, ui::theme().accent);
    if (under) {
        if (*under != chosen) frame(*under, ui::theme().dim);
        ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
        const std::string head = "head " + std::to_string(*under % heads);
        ui::tooltip((view.set.layers() > 1 ? "layer " + std::to_string(*under / heads) + " · " + head : head)
                        .c_str());
    }
    const ImVec2 clip_min = list->GetClipRectMin(), clip_max = list->GetClipRectMax();
    for (Index map = 0; map < grid.count; ++map) {
        const ImVec2 a = grid.min(map), b = grid.max(map);
        if (a.x >= clip_min.x && a.y >= clip_min.y && b.x <= clip_max.x && b.y <= clip_max.y)
            ui::landmark("head/" + std::to_string(map / heads) + "/" + std::to_string(map % heads), a, b);
    }
    ImGui::EndChild();
}

}  // namespace attn::lenses
