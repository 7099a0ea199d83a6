#include "widgets/heatmap.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "app/format.hpp"
#include "widgets/layout.hpp"
#include "widgets/vector_picture.hpp"

namespace attn::ui {

namespace {

constexpr ImU32 not_a_number = IM_COL32(255, 0, 200, 255);  // same colour as in the colour maps

const render::Palette& palette(bool diverging_map) {
    struct Built {
        render::Palette palette;
        const Theme* theme = nullptr;
    };
    static Built both[2];
    Built& built = both[diverging_map];
    if (built.theme != &theme()) {
        built.theme = &theme();
        for (std::size_t i = 0; i < built.palette.colours.size(); ++i) {
            const float t = static_cast<float>(i) / static_cast<float>(built.palette.colours.size() - 1);
            built.palette.colours[i] = diverging_map ? diverging(2 * t - 1) : sequential(t);
        }
    }
    return built.palette;
}

// Neighbours in a row that have the same colour become one rectangle.
void draw_rectangles(ImDrawList* list, const render::Heatmap& map) {
    const auto colour = [&](Index row, Index col) -> ImU32 {
        const float value = map.values[row * map.cols + col];
        if (std::isnan(value)) return map.nan;
        if (std::isinf(value)) return value < 0 ? map.masked : 0;
        const float last = static_cast<float>(map.palette->colours.size() - 1);
        return map.palette->colours[static_cast<std::size_t>(std::lround(last * map.scale.coloured(value)))];
    };
    const Index together = map.tile_columns > 0 ? map.tile_columns : map.cols;
    const float gap = map.gaps ? 1.0f : 0.0f;
    list->PushClipRect(map.min, map.max, true);
    const auto cell_at = [](float from, float origin, float side, Index count) {
        return std::clamp(static_cast<Index>(std::floor((from - origin) / side)), Index{0}, count);
    };
    const Index rows = cell_at(map.max.y, map.origin.y, map.cell.y, map.rows - 1) + 1;
    for (Index row = cell_at(map.min.y, map.origin.y, map.cell.y, map.rows - 1); row < rows; ++row)
        for (Index col = 0; col < map.cols;) {
            const Index first = col++, tile = first / together;
            const ImU32 fill = colour(row, first);
            while (gap == 0 && col < map.cols && col / together == tile && colour(row, col) == fill) ++col;
            const ImVec2 min{map.origin.x + static_cast<float>(tile) * map.tile_pitch +
                                 static_cast<float>(first - tile * together) * map.cell.x,
                             map.origin.y + static_cast<float>(row) * map.cell.y};
            list->AddRectFilled(
                min, {min.x + static_cast<float>(col - first) * map.cell.x - gap, min.y + map.cell.y - gap},
                fill);
        }
    list->PopClipRect();
}

}  // namespace

void draw_heatmaps(ImDrawList* list, std::span<const render::Heatmap> heatmaps) {
    if (!VectorPicture::of(list)) return render::draw(list, heatmaps);
    for (const render::Heatmap& map : heatmaps) draw_rectangles(list, map);
}

ImU32 ColourScale::colour(float value) const {
    if (std::isnan(value)) return not_a_number;
    if (std::isinf(value) && value < 0) return theme().masked;
    return diverging ? ui::diverging(2 * coloured(value) - 1) : sequential(coloured(value));
}

ColourScale sequential_scale(float high) { return {{.high = high > 0 ? high : 1}}; }

ColourScale diverging_scale(float extent) { return {{.high = extent > 0 ? extent : 1, .diverging = true}}; }

void use_scale(render::Heatmap& heatmap, const ColourScale& scale) {
    heatmap.palette = &palette(scale.diverging);
    heatmap.scale = scale;
    heatmap.quantiles = scale.quantiles ? scale.quantiles->serial : 0;
    heatmap.masked = theme().masked;
    heatmap.nan = not_a_number;
}

app::Digits digits_of(const ColourScale& scale, int usual_decimals) {
    const auto size = [&](float share) { return std::abs(static_cast<double>(scale.value_at(share))); };
    return app::digits_for(std::max(size(0), size(1)), usual_decimals);
}

void colour_bar(ImVec2 at, float width, const ColourScale& scale, std::string_view title, int decimals,
                std::optional<float> marked) {
    const app::Digits digits = digits_of(scale, decimals);
    const auto written = [&](float value) { return app::with_digits(static_cast<double>(value), digits); };
    ImDrawList* list = ImGui::GetWindowDrawList();
    constexpr int steps = 64;
    constexpr float thick = 10, top = 5;
    const auto x = [&](float t) { return at.x + t * width; };
    for (int i = 0; i < steps; ++i) {
        const float a = static_cast<float>(i) / steps, b = static_cast<float>(i + 1) / steps;
        const auto ink = [&](float t) {
            const float hidden = std::abs(scale.diverging ? 2 * t - 1 : t);
            if (hidden < scale.least) t = scale.diverging ? 0.5f : 0;
            return scale.diverging ? diverging(2 * t - 1) : sequential(t);
        };
        list->AddRectFilledMultiColor({x(a), at.y + top}, {x(b), at.y + top + thick}, ink(a), ink(b), ink(b),
                                      ink(a));
    }
    list->AddRect({at.x, at.y + top}, {at.x + width, at.y + top + thick}, theme().border);
    Type type(Face::mono, 12);
    const float text_y = at.y + top + thick + 4;
    const auto centred = [&](float where, ImU32 ink, std::string_view text) {
        const float w = text_size(text).x;
        draw_text(list, {bounded(where - w / 2, at.x, at.x + width - w), text_y}, ink, text);
    };
    if (marked && !std::isinf(*marked)) {
        const float where = x(scale.position(*marked));
        list->AddTriangleFilled({where - 5, at.y - 2}, {where + 5, at.y - 2}, {where, at.y + top - 1},
                                theme().accent);
        list->AddLine({where, at.y + top}, {where, at.y + top + thick}, theme().accent, 2);
    }
    draw_text(list, {at.x, text_y}, theme().dim, written(scale.value_at(0)));
    const std::string high = written(scale.value_at(1));
    draw_text(list, {at.x + width - text_size(high).x, text_y}, theme().dim, high);
    const std::string value = marked ? written(*marked) : std::string();
    const bool masked = marked && std::isinf(*marked) && *marked < 0;
    centred(at.x + width / 2, marked ? theme().text : theme().dim,
            masked   ? std::string(title) + " masked"
            : marked ? std::string(title) + " " + value
                     : std::string(title));
}

}  // namespace attn::ui
