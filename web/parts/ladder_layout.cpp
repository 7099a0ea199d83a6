#include "parts/ladder_layout.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "parts/row_bars.hpp"
#include "widgets/layout.hpp"

namespace attn::parts {

namespace {

constexpr float first_sign_width = 20;  // room for the first sign of a line
constexpr float gap = 8, bars_gap = 20, least_bars_width = 200, most_bars_width = 420;

struct Arrangement {
    float scale;
    bool joined;  // continues the previous row on the same line
    float cell_height, row_gap;
    float cell_width = 1;  // relative to the usual cell width
};
constexpr Arrangement usual_arrangement{1, false, 27, 18};
constexpr std::array arrangements{Arrangement{1.6f, false, 27, 18},
                                  Arrangement{1.3f, false, 27, 18},
                                  usual_arrangement,
                                  Arrangement{1, true, 27, 18},
                                  Arrangement{0.85f, true, 27, 10},
                                  Arrangement{0.85f, true, 20, 6, 0.92f},
                                  Arrangement{0.85f, true, 17.5f, 1, 0.92f}};

struct Line {
    float top, height, right;
};

ui::GridMetrics arranged(ui::GridMetrics metrics, const Arrangement& how) {
    if (!metrics.numbers) return metrics;
    metrics.scale = how.scale;
    metrics.cell_width *= how.scale * how.cell_width;
    metrics.cell_height = how.cell_height * how.scale;
    metrics.label_width *= how.scale;
    return metrics;
}

void place_bars(LadderLayout& layout, const std::vector<Line>& lines, Index keys, float width,
                float row_gap) {
    const float high = bars_height(keys);
    const Line* best = nullptr;
    for (const Line& line : lines)
        if (line.height >= high && (!best || line.right < best->right)) best = &line;
    if (best && width - best->right - bars_gap >= least_bars_width) {
        layout.bars = {best->right + bars_gap, best->top};
    } else {
        layout.bars = {0, layout.matrices_height + row_gap};
        layout.height += row_gap + high;
    }
    layout.bars_width = std::min(width - layout.bars.x, most_bars_width);
}

LadderLayout laid_out(const std::vector<std::vector<RungGrid>>& rows, Index keys, float width,
                      const Arrangement& how) {
    LadderLayout layout;
    std::vector<Line> lines;
    ImVec2 at{};
    float tallest = 0, right = 0;
    const auto end_line = [&] {
        if (tallest == 0) return;
        lines.push_back({at.y, tallest, right});
        at = {0, at.y + tallest + how.row_gap};
        tallest = 0;
    };
    for (const auto& row : rows) {
        if (!how.joined) end_line();
        for (const RungGrid& each : row) {
            const ui::GridMetrics metrics = arranged(each.metrics, how);
            const ImVec2 size = ui::grid_size(each.grid, metrics);
            const float sign = sign_width(*each.rung);
            const bool wraps = at.x > 0 && at.x + sign + size.x > width;
            layout.wraps |= wraps || size.x > width;
            if (wraps) end_line();
            // A sign moves to the next line with its matrix.
            const float sign_at = at.x > 0 ? at.x + 4 : 0;
            at.x += at.x > 0 ? sign : *each.rung->sign ? first_sign_width : 0;
            layout.rungs.push_back({&each, metrics, at, sign_at});
            tallest = std::max(tallest, size.y);
            right = at.x + std::max(size.x, metrics.label_width + ui::title_width(each.grid));
            at.x += size.x + gap;
        }
    }
    end_line();
    layout.matrices_height = layout.height = at.y - how.row_gap;
    place_bars(layout, lines, keys, width, how.row_gap);
    return layout;
}

}  // namespace

float sign_width(const app::Rung& rung) { return *rung.sign ? 26 : 8; }

LadderLayout ladder_layout(const std::vector<std::vector<RungGrid>>& rows, Index keys, ImVec2 room) {
    if (room.x < ui::settings_open) return laid_out(rows, keys, room.x, usual_arrangement);
    std::optional<LadderLayout> without_bars;
    for (const Arrangement& how : arrangements) {
        LadderLayout layout = laid_out(rows, keys, room.x, how);
        if (how.scale > 1 && layout.wraps) continue;
        if (layout.height <= room.y) return layout;
        if (!without_bars && layout.matrices_height <= room.y) without_bars = std::move(layout);
    }
    if (without_bars) return *std::move(without_bars);
    // A ladder that nearly fits is better than larger cells whose last matrix is far away.
    constexpr float nearly = 1.25f;
    LadderLayout tightest = laid_out(rows, keys, room.x, arrangements.back());
    return tightest.matrices_height <= nearly * room.y ? tightest
                                                       : laid_out(rows, keys, room.x, usual_arrangement);
}

}  // namespace attn::parts
