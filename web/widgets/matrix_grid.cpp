#include <algorithm>
#include <cmath>
#include <tuple>

#include "app/format.hpp"
#include "widgets/axis_labels.hpp"
#include "widgets/controls.hpp"
#include "widgets/landmarks.hpp"
#include "widgets/matrix_told.hpp"
#include "widgets/scroll.hpp"
#include "widgets/semantics.hpp"
#include "widgets/wording.hpp"

namespace attn::ui {

namespace {

constexpr float matrix_title_height = 22, notation_height = 18, matrix_axis_height = 17;
constexpr float name_slant = 1.0472f, longest_slanted = 96, least_slanted_cell = 12;  // 60°
constexpr float size_notation = 12, size_axis = 12, shape_gap = 10, shape_padding = 14;
constexpr float cell_gap = 2, drag_threshold = 3;
constexpr float least_text = 46;  // the least width of a text that is cut off

struct Scale {
    bool diverging = false;
    float most = 1;
};

// The scale goes from zero to the largest value, or is symmetric about zero; infinities do not count.
Scale scale_of(const MatrixGrid& grid) {
    Scale scale{grid.is_signed, grid.most};
    for (double v : grid.values->values) {
        if (!std::isfinite(v)) continue;
        scale.diverging |= v < 0;
        scale.most = std::max(scale.most, static_cast<float>(std::abs(v)));
    }
    if (scale.most == 0) scale.most = 1;
    return scale;
}

ImU32 fill_of(const Scale& scale, double value) {
    const float t = static_cast<float>(value) / scale.most;
    return scale.diverging ? diverging(t) : sequential(t);
}

bool has_colours(const MatrixGrid& grid) { return grid.texts.empty() || grid.coloured_texts; }

float top_of_cells(const GridMetrics& metrics) { return metrics.head + metrics.header * metrics.scale; }

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

std::string shape_of(const MatrixGrid& grid) {
    return std::to_string(grid.values->rows) + "×" + std::to_string(grid.values->cols);
}

struct Painter {
    const MatrixGrid& grid;
    const GridMetrics& metrics;
    ImVec2 at;
    app::Digits digits = digits_of(grid);
    ImDrawList* list = ImGui::GetWindowDrawList();
    const Theme& t = theme();

    std::string text_of(Index row, Index col) const {
        if (grid.texts.empty()) return app::with_digits(grid.values->at(row, col), digits);
        return grid.texts[static_cast<std::size_t>(row * grid.values->cols + col)];
    }
    std::string bar_end(double value) const {
        return grid.in_words ? grid.in_words(value) : app::with_digits(value, digits);
    }

    std::pair<ImVec2, ImVec2> rect(Index r, Index c) const { return cell_rect(grid, metrics, at, {r, c}); }

    void title() const {
        const float left = at.x + metrics.label_width;
        {
            Type semibold(Face::semibold, size_title);
            draw_text(list, {left, at.y}, t.text, grid.title);
        }
        {
            Type small(Face::regular, size_notation);
            draw_text(list, {left, at.y + matrix_title_height}, t.dim, for_pointer(grid.notation));
        }
        Type mono(Face::mono, size_small);
        const std::string shape = shape_of(grid);
        const ImVec2 size = text_size(shape), max{left + title_width(grid), at.y + size.y + 4};
        const ImVec2 box{max.x - size.x - shape_padding, at.y + 1};
        list->AddRectFilled(box, max, t.raised, 9);
        draw_text(list, {box.x + shape_padding / 2, box.y + 1}, t.dim, shape);
    }

    void labels(const GridReply& reply) const {
        Type small(Face::regular, size_small * metrics.scale);
        const float line = ImGui::GetTextLineHeight();
        const bool sparse = !metrics.slanted && metrics.cell_width < 18;
        for (Index c = 0; c < grid.values->cols; ++c) {
            if (sparse && c % 8 != 0) continue;
            const auto [min, max] = rect(0, c);
            const std::string text = label_of(grid.column_labels, c);
            const float room = sparse ? metrics.cell_width * 8 : metrics.cell_width - 2;
            const float width = std::min(text_size(text).x, room);
            const bool lit = grid.lit_column == c || (reply.hovered && reply.hovered->second == c);
            if (metrics.slanted)
                draw_slanted_text(list, {(min.x + max.x) / 2 + 3, min.y - 5}, -name_slant,
                                  longest_slanted * metrics.scale, lit ? t.text : t.dim, text);
            else
                draw_text_within(list, {(min.x + max.x - width) / 2, min.y - metrics.header * metrics.scale},
                                 room, lit ? t.text : t.dim, text);
        }
        const bool sparse_rows = metrics.cell_height < line - 2;
        for (Index r = 0; r < grid.values->rows; ++r) {
            if (sparse_rows && r % 8 != 0) continue;
            const auto [min, max] = rect(r, 0);
            const std::string text = label_of(grid.row_labels, r);
            const float room = metrics.label_width - 8, width = std::min(text_size(text).x, room);
            const bool lit = grid.lit_row == r || (reply.hovered && reply.hovered->first == r);
            draw_text_within(list, {min.x - 8 - width, (min.y + max.y - line) / 2}, room,
                             lit ? t.text : t.dim, text);
        }
    }

    void axes(const Scale& scale) const {
        Type small(Face::regular, size_axis * std::min(metrics.scale, 1.0f));
        const auto [first, first_max] = rect(0, 0);
        const auto [last_min, last] = rect(grid.values->rows - 1, grid.values->cols - 1);
        const float y = last.y + 3;
        const std::string row = grid.row_axis + " ↓", column = grid.column_axis + " →";
        const float row_width = text_size(row).x, column_width = text_size(column).x;
        draw_text(list, {first.x - 8 - row_width, y}, t.dim, row);
        draw_text(list, {std::max(last.x - column_width, first.x), y}, t.dim, column);
        if (!has_colours(grid)) return;
        // The colour bar is drawn if there is room between the titles.
        const float bar_left = first.x, bar_right = last.x - column_width - 10;
        Type mono(Face::mono, size_axis * std::min(metrics.scale, 1.0f));
        const std::string most = bar_end(static_cast<double>(scale.most));
        const std::string least = bar_end(scale.diverging ? -static_cast<double>(scale.most) : 0);
        const float from = bar_left + text_size(least).x + 4, to = bar_right - text_size(most).x - 4;
        if (to - from < 24) return;
        draw_text(list, {bar_left, y}, t.dim, least);
        constexpr int steps = 24;
        for (int i = 0; i < steps; ++i) {
            const float a = from + (to - from) * static_cast<float>(i) / steps;
            const float b = from + (to - from) * static_cast<float>(i + 1) / steps;
            const float u = static_cast<float>(i) / (steps - 1);
            list->AddRectFilled({a, y + 6}, {b, y + 11},
                                scale.diverging ? diverging(2 * u - 1) : sequential(u));
        }
        draw_text(list, {to + 4, y}, t.dim, most);
    }

    void cell(Index r, Index c, const Scale& scale, bool hovered) const {
        const auto [min, max] = rect(r, c);
        const double value = grid.values->at(r, c);
        const bool open = !grid.allowed || grid.allowed(r, c);
        const float rounding = metrics.numbers ? 3.0f : 1.0f;
        const ImU32 fill = !has_colours(grid)                          ? t.raised
                           : open && !(std::isinf(value) && value < 0) ? fill_of(scale, value)
                                                                       : t.masked;
        list->AddRectFilled(min, max, fill, rounding);
        const bool has_number = metrics.numbers && (open || value != 0);
        if (!open && metrics.cell_width >= 14 && !has_number)  // a hatch, because hidden is not zero
            list->AddLine({min.x + 4, max.y - 4}, {max.x - 4, min.y + 4}, with_alpha(t.dim, 0.45f), 1);
        if (has_number) {
            Type mono(Face::mono, size_small * metrics.scale);
            const std::string text = text_of(r, c);
            const ImVec2 size = text_size(text);
            const float room = max.x - min.x - 2;
            const ImVec2 where{min.x + std::max((max.x - min.x - size.x) / 2, 1.0f),
                               (min.y + max.y - size.y) / 2};
            draw_text_within(list, where, room, open ? ink_on(fill) : t.dim, text);
        }
        if (grid.misprinted && metrics.numbers && grid.misprinted(r, c)) draw_misprint(list, {max.x, min.y});
        const bool moved = grid.before && !same(value, grid.before->at(r, c));
        if (moved)
            list->AddRect({min.x - 1, min.y - 1}, {max.x + 1, max.y + 1}, t.changed, rounding + 1, 0, 2);
        if (grid.pinned == CellAt{r, c})
            list->AddRect({min.x - 2, min.y - 2}, {max.x + 2, max.y + 2}, t.accent, rounding + 2, 0, 2.5f);
        else if (hovered)
            list->AddRect({min.x - 1, min.y - 1}, {max.x + 1, max.y + 1}, t.text, rounding + 1, 0, 1.5f);
    }

    void lit() const {
        const Index rows = grid.values->rows, cols = grid.values->cols;
        const auto outline = [&](CellAt first, CellAt last) {
            const ImVec2 min = rect(first.first, first.second).first,
                         max = rect(last.first, last.second).second;
            list->AddRect({min.x - 3, min.y - 3}, {max.x + 3, max.y + 3}, with_alpha(t.accent, 0.35f), 4, 0,
                          1);
        };
        if (grid.lit_row && *grid.lit_row < rows) outline({*grid.lit_row, 0}, {*grid.lit_row, cols - 1});
        if (grid.lit_column && *grid.lit_column < cols)
            outline({0, *grid.lit_column}, {rows - 1, *grid.lit_column});
    }
};

std::optional<CellAt> cell_under(const MatrixGrid& grid, const GridMetrics& metrics, ImVec2 at,
                                 ImVec2 point) {
    const float x = point.x - at.x - metrics.label_width, y = point.y - at.y - top_of_cells(metrics);
    if (x < 0 || y < 0) return std::nullopt;
    const auto c = static_cast<Index>(x / metrics.cell_width),
               r = static_cast<Index>(y / metrics.cell_height);
    if (r >= grid.values->rows || c >= grid.values->cols) return std::nullopt;
    return CellAt{r, c};
}

// Returns the rows and columns whose cells, including their outlines, are not cut off.
std::pair<Range, Range> cells_in_view(const MatrixGrid& grid, const GridMetrics& metrics, ImVec2 at) {
    const ImDrawList& list = *ImGui::GetWindowDrawList();
    const ImVec2 min = list.GetClipRectMin(), max = list.GetClipRectMax();
    const auto range = [](float from, float to, float first, float step, Index count) {
        const auto place = [&](float point) {
            return static_cast<Index>(std::clamp((point - first) / step, -1.0f, static_cast<float>(count)));
        };
        return Range{std::max<Index>(place(from) - 1, 0), std::min(place(to) + 2, count)};
    };
    const ImVec2 first = cell_rect(grid, metrics, at, {0, 0}).first;
    return {range(min.y, max.y, first.y, metrics.cell_height, grid.values->rows),
            range(min.x, max.x, first.x, metrics.cell_width, grid.values->cols)};
}

// Returns the width of the widest number. All digits of the font are equally wide, so among numbers in the
// same notation the least and the greatest have the most digits, and only these need to be printed.
float widest_number(const MatrixGrid& grid) {
    constexpr double written_alike = 1e6;  // larger numbers have an exponent (app/format.hpp)
    const app::Digits digits = digits_of(grid);
    double least = 0, greatest = 0;
    float widest = 0;
    const auto measure = [&](double value) {
        widest = std::max(widest, text_size(app::with_digits(value, digits)).x);
    };
    for (const double value : grid.values->values) {
        if (!(std::abs(value) < written_alike)) {
            measure(value);
        } else {
            least = std::min(least, value);
            greatest = std::max(greatest, value);
        }
    }
    measure(least);
    measure(greatest);
    return widest;
}

// Notes the cell that has the focus, unless the mouse is over another.
void answer_asked(const MatrixGrid& grid, const GridMetrics& metrics, ImVec2 at, GridReply& reply) {
    const auto asked = asked_cell(grid.name);
    if (!asked) return;
    const CellAt cell{asked->row - grid.first.first, asked->col - grid.first.second};
    if (!grid.values->holds(cell.first, cell.second)) return;
    const auto [min, max] = cell_rect(grid, metrics, at, cell);
    if (asked->arrived) scroll_to(min, max);
    if (asked->pressed) reply.clicked = cell;
    reply.heard = cell;
    if (reply.hovered) return;
    reply.hovered = cell;
    reply.hovered_min = min;
    reply.hovered_max = max;
}

}  // namespace

app::Digits digits_of(const MatrixGrid& grid) {
    double largest = static_cast<double>(grid.most);
    for (const double value : grid.values->values)
        if (std::isfinite(value)) largest = std::max(largest, std::abs(value));
    const app::Digits digits = app::digits_for(largest, grid.decimals);
    return grid.is_tight ? app::fewest_digits(largest, digits) : digits;
}

GridMetrics grid_metrics(const MatrixGrid& grid, float width) {
    GridMetrics metrics;
    metrics.head = grid.headed ? matrix_title_height + notation_height : 0;
    float longest_row = 0;
    {
        Type small(Face::regular, size_small);
        longest_row = text_size(grid.row_axis + " ↓").x;
        for (const std::string& label : grid.row_labels)
            longest_row = std::max(longest_row, text_size(label).x);
        metrics.label_width = std::clamp(longest_row + 9, 24.0f, 96.0f);
    }
    float widest = 0, widest_label = 0;
    if (!grid.texts.empty()) {
        Type small(Face::regular, size_small);
        for (const std::string& label : grid.column_labels)
            widest_label = std::max(widest_label, text_size(label).x);
    }
    Type mono(Face::mono, size_small);
    for (const std::string& text : grid.texts) widest = std::max(widest, text_size(text).x);
    if (grid.texts.empty()) widest = widest_number(grid);
    const float room =
        (width - metrics.label_width) / static_cast<float>(std::max<Index>(grid.values->cols, 1));
    // Texts over colours may be cut off, and names slant if they do not fit.
    if (grid.coloured_texts) widest = std::min(widest, std::max(least_text, room - 5));
    metrics.cell_width = std::clamp(std::max(widest, widest_label) + 9, 40.0f, 84.0f);
    if (room < widest + 5) {
        metrics.numbers = false;
        metrics.cell_width = std::clamp(room, 4.0f, 22.0f);
        metrics.cell_height = metrics.cell_width;
    } else {
        metrics.cell_width = std::min(metrics.cell_width, room);
    }
    // In a table of texts, names take what room the cells leave.
    if (!grid.texts.empty() && !grid.coloured_texts) {
        const float left = width - metrics.cell_width * static_cast<float>(grid.values->cols);
        metrics.label_width =
            std::clamp(std::floor(left), metrics.label_width, std::max(longest_row + 9, metrics.label_width));
    }
    // A layout may make cells slightly narrower.
    constexpr float narrowest = 0.9f;
    const float name = longest_name(grid.column_labels, longest_slanted);
    metrics.slanted = metrics.cell_width >= least_slanted_cell && name > narrowest * metrics.cell_width - 2;
    if (metrics.slanted)
        metrics.header = std::ceil(std::min(name, longest_slanted) * std::sin(name_slant)) + 10;
    return metrics;
}

ImVec2 grid_size(const MatrixGrid& grid, const GridMetrics& metrics) {
    const float cells = metrics.cell_width * static_cast<float>(grid.values->cols);
    const auto text = [](Face face, float size, const std::string& line) {
        const Type type(face, size);
        return text_size(line).x + 4;
    };
    // The shape in the title, and the notation, may extend into the gap on their right.
    const float head = !grid.headed ? 0
                                    : std::max(text(Face::semibold, size_title, grid.title),
                                               text(Face::regular, size_notation, grid.notation) - 24);
    return {metrics.label_width + std::max(cells, head),
            top_of_cells(metrics) + metrics.cell_height * static_cast<float>(grid.values->rows) +
                matrix_axis_height};
}

float title_width(const MatrixGrid& grid) {
    float width = shape_gap + shape_padding;
    {
        Type semibold(Face::semibold, size_title);
        width += text_size(grid.title).x;
    }
    Type mono(Face::mono, size_small);
    return width + text_size(shape_of(grid)).x;
}

std::pair<ImVec2, ImVec2> cell_rect(const MatrixGrid&, const GridMetrics& metrics, ImVec2 at, CellAt cell) {
    const ImVec2 min{at.x + metrics.label_width + metrics.cell_width * static_cast<float>(cell.second),
                     at.y + top_of_cells(metrics) + metrics.cell_height * static_cast<float>(cell.first)};
    return {min, {min.x + metrics.cell_width - cell_gap, min.y + metrics.cell_height - cell_gap}};
}

void draw_misprint(ImDrawList* list, ImVec2 corner) {
    const auto triangle = [&](float side, ImU32 colour) {
        list->AddTriangleFilled({corner.x - side, corner.y}, corner, {corner.x, corner.y + side}, colour);
    };
    triangle(11, theme().background);  // stands out from any fill
    triangle(8, theme().misprint);
}

GridReply draw_matrix_grid(const MatrixGrid& grid, const GridMetrics& metrics, ImVec2 at) {
    GridReply reply;
    const Index rows = grid.values->rows, cols = grid.values->cols;
    const ImVec2 size = grid_size(grid, metrics);
    ImGui::SetCursorScreenPos({at.x, at.y + metrics.head});
    ImGui::PushID(grid.name.c_str());
    ImGui::InvisibleButton("cells", {size.x, size.y - metrics.head});
    ImGui::PopID();

    const ImVec2 mouse = ImGui::GetIO().MousePos,
                 down = ImGui::GetIO().MouseClickedPos[ImGuiMouseButton_Left],
                 moved = ImGui::GetMouseDragDelta(ImGuiMouseButton_Left, drag_threshold);
    // A drag refers to the cell where it began, wherever it leads.
    const bool dragging = ImGui::IsItemActive() && dragged();
    const auto under = cell_under(grid, metrics, at, dragging ? down : mouse);
    if (grid.editable && under) reply.wheel = wheel_over_item(grid.pinned == under);
    if (ImGui::IsItemHovered() && under) {
        reply.hovered = under;
        std::tie(reply.hovered_min, reply.hovered_max) = cell_rect(grid, metrics, at, *under);
        if (ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left)) reply.double_clicked = under;
        if (grid.editable) ImGui::SetMouseCursor(ImGuiMouseCursor_ResizeEW);
    }
    if (ImGui::IsItemActive()) {
        reply.dragged = cell_under(grid, metrics, at, down);
        // A sideways drag edits; fingers scroll by moving up and down.
        if (std::abs(moved.x) > std::abs(moved.y)) reply.drag = ImGui::GetIO().MouseDelta.x;
    }
    if (ImGui::IsItemDeactivated() && moved.x == 0 && moved.y == 0 && under)
        reply.clicked = cell_under(grid, metrics, at, down);
    if (ImGui::IsItemClicked() && !under) {
        const float x = mouse.x - at.x - metrics.label_width, y = mouse.y - at.y - top_of_cells(metrics);
        const auto c = static_cast<Index>(std::floor(x / metrics.cell_width));
        const auto r = static_cast<Index>(std::floor(y / metrics.cell_height));
        if (x < 0 && r >= 0 && r < rows) reply.row_label = r;
        if (y < 0 && c >= 0 && c < cols) reply.column_label = c;
    }

    answer_asked(grid, metrics, at, reply);
    semantic_place(Role::grid, grid.name, grid.title, at, {at.x + size.x, at.y + size.y}).grid =
        told_cells(grid, metrics, at, reply.heard);

    const Painter paint{grid, metrics, at};
    const Scale scale = scale_of(grid);
    if (grid.headed) paint.title();
    paint.labels(reply);
    const auto [rows_seen, columns_seen] = cells_in_view(grid, metrics, at);
    for (Index r = rows_seen.begin; r < rows_seen.end; ++r)
        for (Index c = columns_seen.begin; c < columns_seen.end; ++c)
            paint.cell(r, c, scale, reply.hovered == CellAt{r, c});
    const auto [first, first_end] = cell_rect(grid, metrics, at, {0, 0});
    landmark_cells({grid.name,
                    grid.first.first,
                    grid.first.second,
                    rows,
                    cols,
                    first,
                    {metrics.cell_width, metrics.cell_height},
                    {first_end.x - first.x, first_end.y - first.y}});
    paint.lit();
    if (rows > 0 && cols > 0) paint.axes(scale);
    return reply;
}

}  // namespace attn::ui
