#include "parts/svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "text/utf8.hpp"
#include "widgets/contrast.hpp"
#include "widgets/svg_writer.hpp"

namespace attn::parts {

namespace {

constexpr float font = ui::SvgWriter::font, small_font = 11, pad = 12, cell_side = 44, row_pitch = 22,
                columns_apart = 480;
constexpr float arcs_rise = 132;

// Estimates the width of a text, since the reader's program chooses the font.
float width_of(std::string_view text, float size) {
    return 0.6f * size * static_cast<float>(count_code_points(text));
}

float widest(std::span<const std::string> names, float size) {
    float width = 0;
    for (const std::string& name : names) width = std::max(width, width_of(name, size));
    return width;
}

// Returns the curve as cubic Béziers, which are exact; a loop consists of arcs.
std::string path_of(const FlowShape& shape, float query, float key, FlowPoint origin) {
    const auto point = [&](float x, float y) {
        return ui::svg_number(origin.x + x) + " " + ui::svg_number(origin.y + y);
    };
    const auto curve = [&](FlowPoint a, FlowPoint b, FlowPoint c, FlowPoint d) {
        return "M" + point(a.x, a.y) + "C" + point(b.x, b.y) + " " + point(c.x, c.y) + " " + point(d.x, d.y);
    };
    if (shape.form == FlowForm::columns)
        return curve({0, query}, {shape.width / 3, query}, {shape.width * 2 / 3, key}, {shape.width, key});
    if (shape.is_loop(query, key)) {
        const FlowPoint low = shape.at(query, key, 0), high = shape.at(query, key, 0.5f);
        const std::string radii =
            "A" + ui::svg_number(shape.loop) + " " + ui::svg_number((low.y - high.y) / 2) + " 0 1 1 ";
        return "M" + point(low.x, low.y) + radii + point(high.x, high.y) + radii + point(low.x, low.y);
    }
    const float handle = -shape.height(std::abs(key - query)) * 4 / 3;
    return curve({query, 0}, {query, handle}, {key, handle}, {key, 0});
}

bool is_shown(Range shown, std::size_t i) { return shown.holds(static_cast<Index>(i)); }

}  // namespace

std::string svg_of(const SvgMap& map) {
    const float left = pad + std::max(widest(map.queries, font), width_of("query ↓", small_font)) + 8;
    const bool turned = widest(map.keys, font) > cell_side - 4;
    const float top = pad + 2 * font + (turned ? 0.87f * widest(map.keys, font) + font : font) + 8;
    const float right = left + cell_side * static_cast<float>(map.cells.cols),
                bottom = top + cell_side * static_cast<float>(map.cells.rows);
    const float lean = turned ? 0.5f * widest(map.keys, font) : 0;
    ui::SvgWriter svg(right + std::max(pad, lean), bottom + small_font + 2 * pad, map.ink.background,
                      map.title);
    svg.text(pad, pad + font, map.title, map.ink.text);
    for (Index c = 0; c < map.cells.cols; ++c) {
        const float x = left + cell_side * (static_cast<float>(c) + 0.5f);
        const std::string& name = map.keys[static_cast<std::size_t>(c)];
        if (turned)
            svg.text(x + 4, top - 6, name, map.ink.text, ui::SvgWriter::Anchor::start, font, -60);
        else
            svg.text(x, top - 6, name, map.ink.text, ui::SvgWriter::Anchor::middle);
    }
    for (Index r = 0; r < map.cells.rows; ++r) {
        const float y = top + cell_side * static_cast<float>(r);
        svg.text(left - 8, y + cell_side / 2 + font / 3, map.queries[static_cast<std::size_t>(r)],
                 map.ink.text, ui::SvgWriter::Anchor::end);
        for (Index c = 0; c < map.cells.cols; ++c) {
            const float x = left + cell_side * static_cast<float>(c), value = map.cells(r, c);
            const Colour fill = map.colour(value);
            svg.rectangle(x, y, cell_side - 1, cell_side - 1, fill);
            if (value == masked_cell) continue;
            svg.text(x + cell_side / 2, y + cell_side / 2 + small_font / 3,
                     app::fixed(static_cast<double>(value), map.decimals), ui::ink_on_colour(fill),
                     ui::SvgWriter::Anchor::middle, small_font);
        }
    }
    svg.text(pad, bottom + small_font + 6, "query ↓", map.ink.dim, ui::SvgWriter::Anchor::start, small_font);
    svg.text(right, bottom + small_font + 6, "key →", map.ink.dim, ui::SvgWriter::Anchor::end, small_font);
    return svg.finish();
}

namespace {

// Where the words of a flow are.
struct Placed {
    std::vector<float> queries, keys;  // positions along their line or column
    FlowPoint origin;
    float width = 0, height = 0;  // size of the picture
    float length = 0;             // length of the line or column
};

Placed placed(const SvgFlow& flow, float top) {
    Placed at;
    if (flow.form == FlowForm::columns) {
        const auto places = [](std::size_t count, Range shown) {
            std::vector<float> all;
            for (std::size_t i = 0; i < count; ++i)
                all.push_back((static_cast<float>(i) - static_cast<float>(shown.begin) + 0.5f) * row_pitch);
            return all;
        };
        const auto queries = part(flow.queries, flow.shown_queries), keys = part(flow.keys, flow.shown_keys);
        at.queries = places(flow.queries.size(), flow.shown_queries);
        at.keys = places(flow.keys.size(), flow.shown_keys);
        at.origin = {pad + widest(queries, font) + 8, top + row_pitch};
        at.width = at.origin.x + columns_apart + 8 + widest(keys, font) + pad;
        at.length = row_pitch * static_cast<float>(std::max(queries.size(), keys.size()));
        at.height = at.origin.y + at.length + pad;
        return at;
    }
    float left = 0, x = 0;  // `left` is the x of the first word shown
    for (std::size_t i = 0; i < flow.queries.size(); ++i) {
        const float wide = std::max(width_of(flow.queries[i], font), 14.0f) + 10;
        if (static_cast<Index>(i) == flow.shown_queries.begin) left = x;
        at.queries.push_back(x + wide / 2);
        x += wide;
        if (is_shown(flow.shown_queries, i)) at.length += wide;
    }
    for (float& place : at.queries) place -= left;
    at.keys = at.queries;
    at.origin = {pad, top + arcs_rise + 8};
    at.width = at.length + 2 * pad;
    at.height = at.origin.y + font + 8 + pad;
    return at;
}

void write_words(ui::SvgWriter& svg, const SvgFlow& flow, const Placed& at) {
    using Anchor = ui::SvgWriter::Anchor;
    const auto write = [&](std::span<const std::string> names, Range shown, auto write_one) {
        for (std::size_t i = 0; i < names.size(); ++i)
            if (is_shown(shown, i)) write_one(i, names[i]);
    };
    if (flow.form == FlowForm::arcs)
        return write(flow.queries, flow.shown_queries, [&](std::size_t i, const std::string& name) {
            svg.text(at.origin.x + at.queries[i], at.origin.y + font + 4, name, flow.ink.text,
                     Anchor::middle);
        });
    const float left = at.origin.x - 8, right = at.origin.x + columns_apart + 8, y = at.origin.y;
    svg.text(left, y - 6, "query", flow.ink.dim, Anchor::end, small_font);
    svg.text(right, y - 6, "key", flow.ink.dim, Anchor::start, small_font);
    write(flow.queries, flow.shown_queries, [&](std::size_t i, const std::string& name) {
        svg.text(left, y + at.queries[i] + font / 3, name, flow.ink.text, Anchor::end);
    });
    write(flow.keys, flow.shown_keys, [&](std::size_t i, const std::string& name) {
        svg.text(right, y + at.keys[i] + font / 3, name, flow.ink.text);
    });
}

}  // namespace

std::string svg_of(const SvgFlow& flow) {
    const FlowShape shape{.form = flow.form, .rise = arcs_rise, .width = columns_apart};
    const float names =
        flow.series.size() > 1 ? pad + font * 1.6f * static_cast<float>(flow.series.size()) : 0;
    const Placed at = placed(flow, pad + 2 * font + names);
    const auto in_view = [&](float query, float key) {
        return std::max(query, key) >= 0 && std::min(query, key) <= at.length;
    };
    ui::SvgWriter svg(std::max(at.width, 2 * pad + width_of(flow.title, font)), at.height,
                      flow.ink.background, flow.title);
    svg.text(pad, pad + font, flow.title, flow.ink.text);
    float line = pad + 2.4f * font;
    if (flow.series.size() > 1)
        for (const SvgFlow::Series& series : flow.series) {
            svg.rectangle(pad, line, 14, 6, series.colour);
            svg.text(pad + 22, line + 8, series.name, flow.ink.dim);
            line += 1.6f * font;
        }
    if (flow.form == FlowForm::arcs)
        svg.clip("view", at.origin.x, at.origin.y - arcs_rise - 8, at.length, arcs_rise + 8);
    else
        svg.clip("view", at.origin.x, at.origin.y, columns_apart, at.length);
    for (const SvgFlow::Series& series : flow.series) {
        svg.open_group("fill=\"none\" stroke=\"" + ui::svg_colour(series.colour) +
                       "\" clip-path=\"url(#view)\"");
        for (const FlowEdge& edge : series.edges) {
            const float query = at.queries[edge.query], key = at.keys[edge.key];
            if (!in_view(query, key)) continue;
            const float thick = edge_width(edge.weight, shape.is_loop(query, key)),
                        opacity = std::min(series.opacity * edge_strength(edge.weight, series.most), 1.0f);
            svg.path(path_of(shape, query, key, at.origin),
                     "stroke-width=\"" + ui::svg_number(thick) + "\" stroke-opacity=\"" +
                         app::rounded(static_cast<double>(opacity), 3) + "\"",
                     flow.queries[edge.query] + " → " + flow.keys[edge.key] + " " +
                         app::fixed(static_cast<double>(edge.weight), 4));
        }
        svg.close_group();
    }
    write_words(svg, flow, at);
    return svg.finish();
}

}  // namespace attn::parts
