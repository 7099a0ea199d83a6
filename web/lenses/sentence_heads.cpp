// All heads of all layers as thumbnails.
#include <algorithm>
#include <cmath>
#include <limits>

#include "lenses/sentence_view.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"

namespace attn::lenses {

namespace {

constexpr float wide_gap = 6, narrow_gap = 4, least_side = 24, most_side = 64;
constexpr Index most_texels = 2048;

// Some heads of one layer side by side, as the heatmap pass takes them.
struct Strip {
    std::uint64_t serial = 0;  // another as soon as it holds more
    Index first_head = 0, heads = 0;
    Index filled = 0;           // heads that are in it
    std::vector<float> texels;  // [side, heads · side]; −inf: masked, or not yet computed
};

// The texels of one thumbnail under which the mask forbids every cell become −inf.
void copy_thumbnail(const app::SentenceRun& run, Index layer, Index head, Strip& strip) {
    const Index side = run.thumbnails.side(), n = run.trace->tokens();
    const Mask& mask = run.trace->layers()[static_cast<std::size_t>(layer)].attention.spec().mask;
    const auto source = run.thumbnails.head(layer, head);
    const auto cells = [&](Index texel) {
        return Range{(texel * n + side - 1) / side, ((texel + 1) * n + side - 1) / side};
    };
    const Index width = strip.heads * side, left = (head - strip.first_head) * side;
    for (Index r = 0; r < side; ++r)
        for (Index c = 0; c < side; ++c)
            if (mask.tile(head, cells(r), cells(c)) != Coverage::none)
                strip.texels[static_cast<std::size_t>(r * width + left + c)] =
                    source[static_cast<std::size_t>(r * side + c)];
}

class Atlas {
  public:
    const std::vector<Strip>& strips(Index layer) const { return layers_[static_cast<std::size_t>(layer)]; }

    void update(const app::SentenceRun& run) {
        const app::Thumbnails& maps = run.thumbnails;
        if (version_ != run.version) {
            version_ = run.version;
            start(maps);
        }
        for (Index layer = 0; layer < maps.layers(); ++layer) {
            for (Strip& strip : layers_[static_cast<std::size_t>(layer)]) {
                const Index done =
                    std::clamp(maps.done() - layer * maps.heads() - strip.first_head, Index{0}, strip.heads);
                if (done == strip.filled) continue;
                strip.serial = ++serials_;
                for (; strip.filled < done; ++strip.filled)
                    copy_thumbnail(run, layer, strip.first_head + strip.filled, strip);
            }
        }
    }

  private:
    void start(const app::Thumbnails& maps) {
        const Index side = std::max(maps.side(), Index{1}), most_heads = most_texels / side;
        layers_.assign(static_cast<std::size_t>(maps.layers()), {});
        for (auto& strips : layers_)
            for (Index first = 0; first < maps.heads(); first += most_heads) {
                Strip strip{++serials_, first, std::min(most_heads, maps.heads() - first), 0, {}};
                strip.texels.assign(static_cast<std::size_t>(side * side * strip.heads),
                                    -std::numeric_limits<float>::infinity());
                strips.push_back(std::move(strip));
            }
    }

    std::uint64_t version_ = 0, serials_ = 0;
    std::vector<std::vector<Strip>> layers_;
};

Atlas atlas;

struct Grid {
    Index layers, heads;
    float side;  // of a thumbnail
    float gap;
    ImVec2 at;  // of thumbnail (0, 0)

    float pitch() const { return side + gap; }
    ImVec2 min(Index layer, Index head) const {
        return {at.x + static_cast<float>(head) * pitch(), at.y + static_cast<float>(layer) * pitch()};
    }
    ImVec2 max(Index layer, Index head) const {
        const ImVec2 corner = min(layer, head);
        return {corner.x + side, corner.y + side};
    }
    std::optional<std::pair<Index, Index>> under(ImVec2 mouse) const {
        const auto layer = static_cast<Index>(std::floor((mouse.y - at.y + gap / 2) / pitch()));
        const auto head = static_cast<Index>(std::floor((mouse.x - at.x + gap / 2) / pitch()));
        if (layer < 0 || layer >= layers || head < 0 || head >= heads) return std::nullopt;
        return std::pair{layer, head};
    }
};

void draw_thumbnails(SentenceView& view, const Grid& grid) {
    const Index side = view.run.thumbnails.side();
    std::vector<render::Heatmap> maps;
    for (Index layer = 0; layer < grid.layers; ++layer)
        for (const Strip& strip : atlas.strips(layer)) {
            render::Heatmap map;
            map.key = {&atlas, strip.serial};
            map.values = strip.texels.data();
            map.rows = side;
            map.cols = strip.heads * side;
            map.min = map.origin = grid.min(layer, strip.first_head);
            map.max = grid.max(layer, strip.first_head + strip.heads - 1);
            map.cell.x = map.cell.y = grid.side / static_cast<float>(side);
            map.tile_columns = side;
            map.tile_pitch = grid.pitch();
            ui::use_scale(map, ui::sequential_scale(1));
            maps.push_back(map);
        }
    render::draw(ImGui::GetWindowDrawList(), maps);
}

void draw_labels(const Grid& grid, std::optional<std::pair<Index, Index>> lit, const app::Selection& chosen) {
    ui::Type small(ui::Face::regular, ui::size_small);
    ImDrawList* list = ImGui::GetWindowDrawList();
    const auto ink = [&](bool on, bool strong) {
        return strong ? ui::theme().accent : on ? ui::theme().text : ui::theme().dim;
    };
    for (Index layer = 0; layer < grid.layers; ++layer) {
        const std::string text = std::to_string(layer);
        const ImVec2 size = ui::text_size(text);
        ui::draw_text(list, {grid.at.x - 9 - size.x, grid.min(layer, 0).y + (grid.side - size.y) / 2},
                      ink(lit && lit->first == layer, chosen.layer == layer), text);
    }
    for (Index head = 0; head < grid.heads; ++head) {
        const std::string text = std::to_string(head);
        const ImVec2 size = ui::text_size(text);
        ui::draw_text(list, {grid.min(0, head).x + (grid.side - size.x) / 2, grid.at.y - 5 - size.y},
                      ink(lit && lit->second == head, chosen.head == head), text);
    }
}

// Arrow keys, while the grid has the focus or is under the cursor.
void walk(SentenceView& view, const Grid& grid) {
    Index layer = view.selection().layer, head = view.selection().head;
    const auto pressed = [](ImGuiKey key) {
        return ImGui::Shortcut(
            key, ImGuiInputFlags_Repeat | ImGuiInputFlags_RouteGlobal | ImGuiInputFlags_RouteOverFocused);
    };
    if (pressed(ImGuiKey_LeftArrow)) --head;
    if (pressed(ImGuiKey_RightArrow)) ++head;
    if (pressed(ImGuiKey_UpArrow)) --layer;
    if (pressed(ImGuiKey_DownArrow)) ++layer;
    if (layer < 0 || layer >= grid.layers || head < 0 || head >= grid.heads) return;
    if (layer != view.selection().layer || head != view.selection().head) view.select_head(layer, head);
}

}  // namespace

void sentence_heads(SentenceView& view, float width, float most_height) {
    const app::Thumbnails& maps = view.run.thumbnails;
    atlas.update(view.run);

    const float label_width = maps.layers() > 10 ? 28.0f : 20.0f, label_height = 20;
    const float gap = maps.heads() > 8 ? narrow_gap : wide_gap;
    const float room = (width - label_width - 2) / static_cast<float>(maps.heads()) - gap;
    const float side = std::clamp(std::floor(room), least_side, most_side);
    const ImVec2 content{label_width + static_cast<float>(maps.heads()) * (side + gap),
                         label_height + static_cast<float>(maps.layers()) * (side + gap)};
    const float bar = ImGui::GetStyle().ScrollbarSize;
    const bool wide = content.x > width + 1;
    const float height = std::min(content.y + (wide ? bar : 0), most_height);

    ImGui::BeginChild("heads", {width, height}, 0, ImGuiWindowFlags_HorizontalScrollbar);
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const Grid grid{
        maps.layers(), maps.heads(), side, gap, {corner.x + label_width, corner.y + label_height}};
    ImGui::InvisibleButton("grid", content);
    const bool hovered = ImGui::IsItemHovered();
    const auto under = hovered ? grid.under(ImGui::GetMousePos()) : std::nullopt;
    if (ImGui::IsItemFocused() || hovered) walk(view, grid);
    if (ImGui::IsItemDeactivated() && under && ImGui::GetIO().MouseDragMaxDistanceSqr[0] < 36)
        view.select_head(under->first, under->second);

    if (ImGui::IsItemActive() && ImGui::IsMouseDragging(0)) {
        ImGui::SetScrollX(ImGui::GetScrollX() - ImGui::GetIO().MouseDelta.x);
        ImGui::SetScrollY(ImGui::GetScrollY() - ImGui::GetIO().MouseDelta.y);
    }

    draw_thumbnails(view, grid);
    draw_labels(grid, under, view.selection());
    ImDrawList* list = ImGui::GetWindowDrawList();
    const auto frame = [&](Index layer, Index head, ImU32 colour) {
        const ImVec2 a = grid.min(layer, head), b = grid.max(layer, head);
        list->AddRect({a.x - 2, a.y - 2}, {b.x + 2, b.y + 2}, colour, 4, 0, 2);
    };
    frame(view.selection().layer, view.selection().head, ui::theme().accent);
    if (under) {
        if (*under != std::pair{view.selection().layer, view.selection().head}) {
            frame(under->first, under->second, ui::theme().dim);
            view.hover.layer = under->first;
            view.hover.head = under->second;
        }
        ImGui::SetMouseCursor(ImGuiMouseCursor_Hand);
        const std::string name =
            "layer " + std::to_string(under->first) + " · head " + std::to_string(under->second);
        ui::tooltip(name.c_str());
    }
    const ImVec2 clip_min = list->GetClipRectMin(), clip_max = list->GetClipRectMax();
    for (Index layer = 0; layer < grid.layers; ++layer)
        for (Index head = 0; head < grid.heads; ++head) {
            const ImVec2 a = grid.min(layer, head), b = grid.max(layer, head);
            if (a.x >= clip_min.x && a.y >= clip_min.y && b.x <= clip_max.x && b.y <= clip_max.y)
                ui::landmark("head/" + std::to_string(layer) + "/" + std::to_string(head), a, b);
        }
    ImGui::EndChild();
}

}  // namespace attn::lenses
