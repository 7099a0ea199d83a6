// Draws all heads as thumbnails: one row per layer, or one after another in the order of a score.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "parts/heads_part.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/layout.hpp"
#include "widgets/semantics.hpp"

namespace attn::parts {

namespace {

constexpr float wide_gap = 6, narrow_gap = 4, most_side = 64, least_edge = 8;
constexpr float least_side = 14, wrapped_side = 24;  // in layers; in a wrapped single layer
constexpr float caption_width = 70, mean_width = 54, scored_mean_width = 92, caption_height = 18;

// Lays out the heads in this order, a fixed number per row.
struct Grid {
    std::vector<HeadIndex> order;
    Index columns;
    ImVec2 size;  // size of a thumbnail; size and pitch are whole pixels
    ImVec2 pitch;
    ImVec2 at;  // upper left corner of the first thumbnail
    float caption = caption_width;

    Index count() const { return std::ssize(order); }
    HeadIndex head(Index slot) const { return order[static_cast<std::size_t>(slot)]; }
    Index slot(HeadIndex head) const { return std::ranges::find(order, head) - order.begin(); }
    ImVec2 min(Index slot) const {
        return {at.x + static_cast<float>(slot % columns) * pitch.x,
                at.y + static_cast<float>(slot / columns) * pitch.y};
    }
    ImVec2 max(Index slot) const {
        const ImVec2 corner = min(slot);
        return {corner.x + size.x, corner.y + size.y};
    }
    std::optional<Index> under(ImVec2 mouse) const {
        if (!ImGui::IsMousePosValid(&mouse)) return std::nullopt;
        const auto cell = [](float way, float pitch_of, float rest) {
            return static_cast<Index>(std::floor((way + rest / 2) / pitch_of));
        };
        const Index row = cell(mouse.y - at.y, pitch.y, pitch.y - size.y),
                    column = cell(mouse.x - at.x, pitch.x, pitch.x - size.x), found = row * columns + column;
        if (row < 0 || column < 0 || column >= columns || found >= count()) return std::nullopt;
        return found;
    }
    // Returns the slots of the rows that the clip rectangle touches.
    Range visible(const ImDrawList* list) const {
        const auto row = [&](float y) { return static_cast<Index>(std::floor((y - at.y) / pitch.y)); };
        const auto within = [&](Index slot) { return std::clamp(slot, Index{0}, count()); };
        return {within(row(list->GetClipRectMin().y) * columns),
                within((row(list->GetClipRectMax().y) + 1) * columns)};
    }
};

// Thumbnails that are neighbours both in the grid and in a texture are drawn as one picture.
void draw_thumbnails(const HeadsView& view, const Grid& grid, Range slots) {
    ImDrawList* list = ImGui::GetWindowDrawList();
    const HeadOverview& heads = view.heads;
    const Thumbnails& maps = heads.maps();
    const auto number = [&](Index slot) { return heads.number(grid.head(slot)); };
    const auto is_there = [&](Index slot) {
        return maps.state(static_cast<std::size_t>(number(slot))) != Thumbnails::State::nothing;
    };
    std::vector<render::Heatmap> pictures;
    for (Index slot = slots.begin; slot < slots.end;) {
        if (!is_there(slot)) {
            list->AddRectFilled(grid.min(slot), grid.max(slot), ui::theme().surface);
            ++slot;
            continue;
        }
        Index end = slot + 1;
        while (end < slots.end && end % grid.columns != 0 && number(end) == number(end - 1) + 1 &&
               number(end) % heads.columns() != 0 && is_there(end))
            ++end;
        const Index row = number(slot) / heads.columns(), column = number(slot) % heads.columns();
        render::Heatmap picture;
        picture.key = {&heads, static_cast<std::uint64_t>(row)};
        // A row's version stays below 2^8: 64 thumbnails with two versions each.
        picture.version = (heads.serial() << 8) + heads.version(row);
        picture.values = heads.texels(row);
        picture.rows = maps.rows();
        picture.cols = heads.columns() * maps.cols();
        picture.min = grid.min(slot);
        picture.max = grid.max(end - 1);
        picture.origin = {picture.min.x - static_cast<float>(column) * grid.pitch.x, picture.min.y};
        picture.cell = {grid.size.x / static_cast<float>(maps.cols()),
                        grid.size.y / static_cast<float>(maps.rows())};
        picture.tile_columns = maps.cols();
        picture.tile_pitch = grid.pitch.x;
        ui::use_scale(picture, view.scale);
        pictures.push_back(picture);
        slot = end;
    }
    ui::draw_heatmaps(list, pictures);
}

ImU32 ink(bool chosen, bool lit) {
    return chosen ? ui::theme().accent : lit ? ui::theme().text : ui::theme().dim;
}

// Returns a layer's number, with its stack in an encoder–decoder.
std::string row_name(const app::Layers& layers, Index layer) {
    return layers.decoder > 0 ? layers.name(layer) : std::to_string(layer);
}

// Draws the numbers of layers and heads along the edges; a single layer in several rows shows each row's
// first head.
void draw_edges(const HeadsView& view, const Grid& grid, std::optional<HeadIndex> lit) {
    ui::Type small(ui::Face::regular, ui::size_small);
    ImDrawList* list = ImGui::GetWindowDrawList();
    const bool in_layers = grid.columns == view.heads.heads();
    const auto place = [&](HeadIndex head) { return std::div(grid.slot(head), grid.columns); };
    const auto chosen = place(*view.chosen());
    const auto pointed = lit ? std::optional(place(*lit)) : std::nullopt;
    if (!in_layers || view.heads.layers() > 1)
        for (Index row = 0; row * grid.columns < grid.count(); ++row) {
            const std::string text =
                in_layers ? row_name(view.layers, row) : std::to_string(row * grid.columns);
            const ImVec2 size = ui::text_size(text);
            ui::draw_text(
                list, {grid.at.x - 9 - size.x, grid.min(row * grid.columns).y + (grid.size.y - size.y) / 2},
                ink(chosen.quot == row, pointed && pointed->quot == row), text);
        }
    for (Index column = 0; column < std::min(grid.columns, grid.count()); ++column) {
        const std::string text = (in_layers || column == 0 ? "" : "+") + std::to_string(column);
        const ImVec2 size = ui::text_size(text);
        if (size.x > grid.pitch.x) continue;
        ui::draw_text(list, {grid.min(column).x + (grid.size.x - size.x) / 2, grid.at.y - 5 - size.y},
                      ink(chosen.rem == column, pointed && pointed->rem == column), text);
    }
}

// Draws each head's name and score below its thumbnail.
void draw_captions(const HeadsView& view, const Grid& grid, Range slots, std::optional<HeadScore> by,
                   std::optional<HeadIndex> lit) {
    ui::Type mono(ui::Face::mono, 12);
    ImDrawList* list = ImGui::GetWindowDrawList();
    for (Index slot = slots.begin; slot < slots.end; ++slot) {
        const HeadIndex head = grid.head(slot);
        const ImVec2 at{grid.min(slot).x, grid.max(slot).y + 3};
        const std::string score = by ? view.written(head, *by) : "";
        ui::draw_text(list, at, ink(head == view.chosen(), head == lit), view.short_name(head));
        ui::draw_text(list, {at.x + grid.caption - ui::text_size(score).x, at.y},
                      ink(false, head == lit || head == view.chosen()), score);
    }
}

// Arrow keys go to the neighbours; in the order of a score, they also go from the end of one row to the next.
std::optional<Index> walked(const Grid& grid, bool in_order, Index from) {
    Index to = from;
    if (arrow_pressed(ImGuiKey_LeftArrow) && (in_order || from % grid.columns > 0)) --to;
    if (arrow_pressed(ImGuiKey_RightArrow) && (in_order || (from + 1) % grid.columns > 0)) ++to;
    if (arrow_pressed(ImGuiKey_UpArrow)) to -= grid.columns;
    if (arrow_pressed(ImGuiKey_DownArrow)) to += grid.columns;
    if (to == from || to < 0 || to >= grid.count()) return std::nullopt;
    return to;
}

void act(const HeadsView& view, const Grid& grid, bool in_order, std::optional<Index> under) {
    const Index chosen = view.chosen() ? grid.slot(*view.chosen()) : 0;
    if (const auto to = walked(grid, in_order, chosen)) {
        view.choose(grid.head(*to));
        const float window = ImGui::GetWindowPos().y;
        if (grid.min(*to).y < window || grid.min(*to).y + grid.pitch.y > window + ImGui::GetWindowHeight())
            ImGui::SetScrollFromPosY(grid.min(*to).y + grid.pitch.y / 2 - window);
    }
    if (ImGui::IsItemDeactivated() && under && !ui::dragged()) view.choose(grid.head(*under));
    if (ImGui::IsItemActive() && ImGui::IsMouseDragging(0)) {
        ImGui::SetScrollX(ImGui::GetScrollX() - ImGui::GetIO().MouseDelta.x);
        ImGui::SetScrollY(ImGui::GetScrollY() - ImGui::GetIO().MouseDelta.y);
    }
}

void tell(const HeadsView& view, const Grid& grid, HeadIndex head, std::optional<HeadScore> by) {
    view.point(head);
    std::string text = view.introduced(head);
    if (by && view.number(head, *by)) view.explain(head, *by);
    if (by && view.number(head, *by)) text.append("\n").append(view.told(head, *by));
    const Thumbnails& maps = view.heads.maps();
    if (maps.state(static_cast<std::size_t>(view.heads.number(head))) == Thumbnails::State::sampled)
        text.append("\nso far one query in ").append(std::to_string(Index{1} << maps.level()));
    const Index slot = grid.slot(head);
    ui::tooltip_at(grid.min(slot), grid.max(slot), text.c_str());
}

void set_landmarks(const HeadsView& view, const Grid& grid, Range slots) {
    const ImDrawList* list = ImGui::GetWindowDrawList();
    const ImVec2 low = list->GetClipRectMin(), high = list->GetClipRectMax();
    for (Index slot = slots.begin; slot < slots.end; ++slot) {
        const ImVec2 a = grid.min(slot), b = grid.max(slot);
        const HeadIndex head = grid.head(slot);
        if (a.x >= low.x && a.y >= low.y && b.x <= high.x && b.y <= high.y)
            ui::landmark(view.means ? "mean/" + std::to_string(head.layer)
                                    : "head/" + std::to_string(head.layer) + "/" + std::to_string(head.head),
                         a, b);
    }
}

// Describes the heads to screen readers and lets them be chosen there; returns the head that has the focus.
std::optional<Index> semantics_of(const HeadsView& view, const Grid& grid, Range slots,
                                  std::optional<HeadScore> by) {
    const char* key = view.means ? "heads/means" : "heads/grid";
    std::optional<Index> focused;
    if (const auto asked = ui::asked_cell(key)) {
        const Index slot = asked->row * grid.columns + asked->col;
        if (asked->row >= 0 && asked->col >= 0 && asked->col < grid.columns && slot < grid.count()) {
            focused = slot;
            if (asked->arrived) ui::scroll_to(grid.min(slot), grid.max(slot));
            if (asked->pressed) view.choose(grid.head(slot));
            slots = {std::min(slots.begin, slot / grid.columns * grid.columns),
                     std::max(slots.end, slot + 1)};
        }
    }
    auto cells = std::make_shared<ui::CellGrid>();
    const bool in_layers = !by && !view.means && grid.columns == view.heads.heads();
    cells->rows = (grid.count() + grid.columns - 1) / grid.columns;
    cells->cols = grid.columns;
    cells->first_row = slots.begin / grid.columns;
    if (const auto head = view.chosen()) {
        const Index chosen = grid.slot(*head);
        cells->chosen = std::pair(chosen / grid.columns, chosen % grid.columns);
    }
    for (Index col = 0; col < grid.columns; ++col)
        cells->column_names.push_back((in_layers ? "head " : "column ") + std::to_string(col));
    for (Index slot = slots.begin; slot < slots.end; ++slot) {
        if (slot % grid.columns == 0)
            cells->row_names.push_back(in_layers ? view.layers.name(slot / grid.columns)
                                                 : "row " + std::to_string(slot / grid.columns));
        cells->words.push_back(
            view.spoken(grid.head(slot), by ? std::span(&*by, 1) : std::span<const HeadScore>{}));
    }
    cells->at = grid.min(slots.begin);
    cells->cell = grid.pitch;
    ui::semantic_place(ui::Role::grid, key, view.means ? "Means over heads" : "Heads", cells->at,
                       grid.max(slots.end - 1))
        .grid = std::move(cells);
    return focused;
}

std::vector<HeadIndex> in_layers(const HeadOverview& heads) {
    std::vector<HeadIndex> order;
    for (Index layer = 0; layer < heads.layers(); ++layer)
        for (Index head = 0; head < heads.heads(); ++head) order.push_back({layer, head});
    return order;
}

// Lays out the grid at (0, 0) for this width.
Grid laid_out(const HeadsView& view, std::optional<HeadScore> by, float width) {
    const HeadOverview& heads = view.heads;
    const float density = ImGui::GetIO().DisplayFramebufferScale.x;
    const auto whole = [&](float points) { return std::floor(points * density) / density; };
    const auto rows = static_cast<float>(heads.maps().rows()), cols = static_cast<float>(heads.maps().cols());
    const auto sized = [&](float side) {  // keeps the shape of the maps, but never shrinks to a line
        const float longer = std::max(rows, cols);
        return ImVec2{whole(std::max(side * cols / longer, least_edge)),
                      whole(std::max(side * rows / longer, least_edge))};
    };
    Grid grid;
    if (by || view.means) {
        grid.order = by ? strongest_first(heads, *by) : in_layers(heads);
        if (view.means) grid.caption = by ? scored_mean_width : mean_width;
        grid.size = sized(std::min(most_side, grid.caption));
        grid.pitch = {whole(grid.caption + wide_gap), whole(grid.size.y + caption_height + wide_gap)};
        grid.columns = std::max(static_cast<Index>((width + wide_gap) / grid.pitch.x), Index{1});
        grid.pitch.x = whole((width - 2 + wide_gap) / static_cast<float>(grid.columns));
        grid.at = {2, 2};
        return grid;
    }
    grid.order = in_layers(heads);
    ui::Type small(ui::Face::regular, ui::size_small);
    float names = ui::text_size(std::to_string(grid.count())).x;
    for (Index layer = 0; view.layers.decoder > 0 && layer < heads.layers(); ++layer)
        names = std::max(names, ui::text_size(view.layers.name(layer)).x);
    grid.at = {std::max(20.0f, names + 9), 20};
    const float gap = whole(heads.heads() > 8 ? narrow_gap : wide_gap), free = width - grid.at.x - 2;
    // A single layer continues in further rows.
    const auto fitting = std::max(static_cast<Index>(free / (wrapped_side + gap)), Index{1});
    grid.columns = heads.layers() == 1 ? std::min(heads.heads(), fitting) : heads.heads();
    grid.size = sized(std::clamp(free / static_cast<float>(grid.columns) - gap, least_side, most_side));
    grid.pitch = {grid.size.x + gap, grid.size.y + gap};
    return grid;
}

// Draws a grid that is laid out at (0, 0), at the cursor.
void draw_grid(const HeadsView& view, Grid grid, std::optional<HeadScore> by, ImVec2 content) {
    const ImVec2 corner = ImGui::GetCursorScreenPos();
    const float density = ImGui::GetIO().DisplayFramebufferScale.x;
    grid.at = {std::floor((corner.x + grid.at.x) * density) / density,
               std::floor((corner.y + grid.at.y) * density) / density};
    ImGui::InvisibleButton("grid", content);
    const auto under = ImGui::IsItemHovered() ? grid.under(ImGui::GetMousePos()) : std::nullopt;
    Range visible = grid.visible(ImGui::GetWindowDrawList());
    if (visible.size() <= 0) visible = {0, std::min(grid.columns, grid.count())};
    const auto focused = semantics_of(view, grid, visible, by);
    const auto lit = under     ? std::optional(grid.head(*under))
                     : focused ? std::optional(grid.head(*focused))
                               : std::nullopt;
    act(view, grid, by || view.means, under);
    if (lit) tell(view, grid, *lit, by);

    ImDrawList* list = ImGui::GetWindowDrawList();
    draw_thumbnails(view, grid, visible);
    by || view.means ? draw_captions(view, grid, visible, by, lit) : draw_edges(view, grid, lit);
    const auto frame = [&](HeadIndex head, ImU32 colour) {
        const Index slot = grid.slot(head);
        const ImVec2 a = grid.min(slot), b = grid.max(slot);
        list->AddRect({a.x - 2, a.y - 2}, {b.x + 2, b.y + 2}, colour, 4, 0, 2);
    };
    if (lit) frame(*lit, ui::theme().dim);
    const bool shown = view.means || view.attention.mean_of(view.map) == app::HeadMean::one;
    if (const auto chosen = view.chosen(); chosen && shown) frame(*chosen, ui::theme().accent);
    set_landmarks(view, grid, visible);
}

}  // namespace

void head_grid(const HeadsView& view, std::optional<HeadScore> by, float width, float most_height) {
    Grid grid = laid_out(view, by, width);
    const auto extent = [&] {
        const Index rows = (grid.count() + grid.columns - 1) / grid.columns;
        return ImVec2{grid.at.x + static_cast<float>(grid.columns) * grid.pitch.x,
                      grid.at.y + static_cast<float>(rows) * grid.pitch.y};
    };
    // If the grid does not fit, a scroll bar takes some of the width.
    if (extent().y > most_height) grid = laid_out(view, by, width - ImGui::GetStyle().ScrollbarSize);
    const ImVec2 content = extent();
    const bool wide = content.x > width + 1 + wide_gap;
    const float height = std::min(content.y + (wide ? ImGui::GetStyle().ScrollbarSize : 0), most_height);

    ImGui::BeginChild(by ? "in order" : "in layers", {width, height}, 0,
                      wide ? ImGuiWindowFlags_HorizontalScrollbar : ImGuiWindowFlags_None);
    draw_grid(view, std::move(grid), by, content);
    ImGui::EndChild();
}

void means_grid(const HeadsView& view, std::optional<HeadScore> by, float width) {
    const Grid grid = laid_out(view, by, width);
    const Index rows = (grid.count() + grid.columns - 1) / grid.columns;
    ImGui::PushID("means");
    draw_grid(view, grid, by, {width, grid.at.y + static_cast<float>(rows) * grid.pitch.y});
    ImGui::PopID();
}

}  // namespace attn::parts
