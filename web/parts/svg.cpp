#include "parts/svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "text/utf8.hpp"
#include "widgets/contrast.hpp"

namespace attn::parts {

namespace {

constexpr float font = 13, small_font = 11, pad = 12, cell_side = 44, row_pitch = 22, columns_apart = 480;
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

// These five characters must be escaped in XML, and most control characters are not allowed at all.
std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&apos;"; break;
            default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
    return app::is_utf8(out) ? out : "?";
}

std::string number(float value) { return app::rounded(static_cast<double>(value), 2); }

std::string hex(Colour colour) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string text = "#";
    for (int shift = 20; shift >= 0; shift -= 4) text += digits[(colour >> shift) & 15u];
    return text;
}

class Svg {
  public:
    Svg(float width, float height, const SvgInk& ink, const std::string& title) {
        text_ = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" +
                number(height) + "\" viewBox=\"0 0 " + number(width) + " " + number(height) +
                "\" font-family=\"Inter, Helvetica, Arial, sans-serif\" font-size=\"" + number(font) +
                "\">\n<title>" + escaped(title) + "</title>\n";
        rectangle(0, 0, width, height, ink.background);
    }
    void rectangle(float x, float y, float width, float height, Colour fill) {
        text_ += "<rect x=\"" + number(x) + "\" y=\"" + number(y) + "\" width=\"" + number(width) +
                 "\" height=\"" + number(height) + "\" fill=\"" + hex(fill) + "\"/>\n";
    }
    enum class Anchor { start, middle, end };
    void text(float x, float y, std::string_view words, Colour fill, Anchor anchor = Anchor::start,
              float size = font, float turned = 0) {
        static constexpr std::array<std::string_view, 3> anchors{"start", "middle", "end"};
        text_ += "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\" fill=\"" + hex(fill) +
                 "\" text-anchor=\"" + std::string(anchors[static_cast<std::size_t>(anchor)]) + "\"";
        if (size != font) text_ += " font-size=\"" + number(size) + "\"";
        if (turned != 0)
            text_ += " transform=\"rotate(" + number(turned) + " " + number(x) + " " + number(y) + ")\"";
        text_ += " xml:space=\"preserve\">" + escaped(words) + "</text>\n";
    }
    // What refers to it is cropped to the rectangle.
    void clip(const std::string& id, float x, float y, float width, float height) {
        text_ += "<clipPath id=\"" + id + "\"><rect x=\"" + number(x) + "\" y=\"" + number(y) +
                 "\" width=\"" + number(width) + "\" height=\"" + number(height) + "\"/></clipPath>\n";
    }
    void open_group(const std::string& attributes) { text_ += "<g " + attributes + ">\n"; }
    void close_group() { text_ += "</g>\n"; }
    void path(const std::string& d, float width, float opacity, const std::string& title) {
        text_ += "<path d=\"" + d + "\" stroke-width=\"" + number(width) + "\" stroke-opacity=\"" +
                 app::rounded(static_cast<double>(opacity), 3) + "\"><title>" + escaped(title) +
                 "</title></path>\n";
    }
    std::string finish() { return text_ + "</svg>\n"; }

  private:
    std::string text_;
};

// Returns the curve as cubic Béziers, which are exact; a loop consists of arcs.
std::string path_of(const FlowShape& shape, float query, float key, FlowPoint origin) {
    const auto point = [&](float x, float y) { return number(origin.x + x) + " " + number(origin.y + y); };
    const auto curve = [&](FlowPoint a, FlowPoint b, FlowPoint c, FlowPoint d) {
        return "M" + point(a.x, a.y) + "C" + point(b.x, b.y) + " " + point(c.x, c.y) + " " + point(d.x, d.y);
    };
    if (shape.form == FlowForm::columns)
        return curve({0, query}, {shape.width / 3, query}, {shape.width * 2 / 3, key}, {shape.width, key});
    if (shape.is_loop(query, key)) {
        const FlowPoint low = shape.at(query, key, 0), high = shape.at(query, key, 0.5f);
        const std::string radii = "A" + number(shape.loop) + " " + number((low.y - high.y) / 2) + " 0 1 1 ";
        return "M" + point(low.x, low.y) + radii + point(high.x, high.y) + radii + point(low.x, low.y);
    }
    const float handle = -shape.height(std::abs(key - query)) * 4 / 3;
    return curve({query, 0}, {query, handle}, {key, handle}, {key, 0});
}

bool is_shown(Range shown, std::size_t i) {
    return static_cast<Index>(i) >= shown.begin && static_cast<Index>(i) < shown.end;
}

}  // namespace

std::string svg_of(const SvgMap& map) {
    const float left = pad + std::max(widest(map.queries, font), width_of("query ↓", small_font)) + 8;
    const bool turned = widest(map.keys, font) > cell_side - 4;
    const float top = pad + 2 * font + (turned ? 0.87f * widest(map.keys, font) + font : font) + 8;
    const float right = left + cell_side * static_cast<float>(map.cells.cols),
                bottom = top + cell_side * static_cast<float>(map.cells.rows);
    const float lean = turned ? 0.5f * widest(map.keys, font) : 0;
    Svg svg(right + std::max(pad, lean), bottom + small_font + 2 * pad, map.ink, map.title);
    svg.text(pad, pad + font, map.title, map.ink.text);
    for (Index c = 0; c < map.cells.cols; ++c) {
        const float x = left + cell_side * (static_cast<float>(c) + 0.5f);
        const std::string& name = map.keys[static_cast<std::size_t>(c)];
        if (turned)
            svg.text(x + 4, top - 6, name, map.ink.text, Svg::Anchor::start, font, -60);
        else
            svg.text(x, top - 6, name, map.ink.text, Svg::Anchor::middle);
    }
    for (Index r = 0; r < map.cells.rows; ++r) {
        const float y = top + cell_side * static_cast<float>(r);
        svg.text(left - 8, y + cell_side / 2 + font / 3, map.queries[static_cast<std::size_t>(r)],
                 map.ink.text, Svg::Anchor::end);
        for (Index c = 0; c < map.cells.cols; ++c) {
            const float x = left + cell_side * static_cast<float>(c), value = map.cells(r, c);
            const Colour fill = map.colour(value);
            svg.rectangle(x, y, cell_side - 1, cell_side - 1, fill);
            if (value == masked_cell) continue;
            svg.text(x + cell_side / 2, y + cell_side / 2 + small_font / 3,
                     app::fixed(static_cast<double>(value), map.decimals), ui::ink_on_colour(fill),
                     Svg::Anchor::middle, small_font);
        }
    }
    svg.text(pad, bottom + small_font + 6, "query ↓", map.ink.dim, Svg::Anchor::start, small_font);
    svg.text(right, bottom + small_font + 6, "key →", map.ink.dim, Svg::Anchor::end, small_font);
    return svg.finish();
}

std::string svg_of(const SvgFlow& flow) {
    FlowShape shape{.form = flow.form, .rise = arcs_rise, .width = columns_apart};
    std::vector<float> queries, keys;
    FlowPoint origin;
    float width = 0, height = 0, length = 0;
    const auto shown_queries = part(flow.queries, flow.shown_queries),
               shown_keys = part(flow.keys, flow.shown_keys);
    const float names_left =
        flow.series.size() > 1 ? pad + font * 1.6f * static_cast<float>(flow.series.size()) : 0;
    const float top = pad + 2 * font + names_left;
    if (flow.form == FlowForm::columns) {
        const auto places = [](std::size_t count, Range shown) {
            std::vector<float> all;
            for (std::size_t i = 0; i < count; ++i)
                all.push_back((static_cast<float>(i) - static_cast<float>(shown.begin) + 0.5f) * row_pitch);
            return all;
        };
        queries = places(flow.queries.size(), flow.shown_queries);
        keys = places(flow.keys.size(), flow.shown_keys);
        origin = {pad + widest(shown_queries, font) + 8, top + row_pitch};
        width = origin.x + columns_apart + 8 + widest(shown_keys, font) + pad;
        length = row_pitch * static_cast<float>(std::max(shown_queries.size(), shown_keys.size()));
        height = origin.y + length + pad;
    } else {
        float left = 0;  // of the first word shown
        for (std::size_t i = 0; i < flow.queries.size(); ++i) {
            const float wide = std::max(width_of(flow.queries[i], font), 14.0f) + 10;
            if (static_cast<Index>(i) == flow.shown_queries.begin) left = width;
            queries.push_back(width + wide / 2);
            width += wide;
            if (is_shown(flow.shown_queries, i)) length += wide;
        }
        for (float& place : queries) place -= left;
        keys = queries;
        origin = {pad, top + arcs_rise + 8};
        width = length + 2 * pad;
        height = origin.y + font + 8 + pad;
    }
    const auto in_view = [&](float query, float key) {
        return std::max(query, key) >= 0 && std::min(query, key) <= length;
    };
    Svg svg(std::max(width, 2 * pad + width_of(flow.title, font)), height, flow.ink, flow.title);
    svg.text(pad, pad + font, flow.title, flow.ink.text);
    float line = pad + 2.4f * font;
    if (flow.series.size() > 1)
        for (const SvgFlow::Series& series : flow.series) {
            svg.rectangle(pad, line, 14, 6, series.colour);
            svg.text(pad + 22, line + 8, series.name, flow.ink.dim);
            line += 1.6f * font;
        }
    if (flow.form == FlowForm::arcs)
        svg.clip("view", origin.x, origin.y - arcs_rise - 8, length, arcs_rise + 8);
    else
        svg.clip("view", origin.x, origin.y, columns_apart, length);
    for (const SvgFlow::Series& series : flow.series) {
        svg.open_group("fill=\"none\" stroke=\"" + hex(series.colour) + "\" clip-path=\"url(#view)\"");
        for (const FlowEdge& edge : series.edges) {
            const float query = queries[edge.query], key = keys[edge.key];
            if (!in_view(query, key)) continue;
            svg.path(path_of(shape, query, key, origin), edge_width(edge.weight, shape.is_loop(query, key)),
                     std::min(series.opacity * edge_strength(edge.weight, series.most), 1.0f),
                     flow.queries[edge.query] + " → " + flow.keys[edge.key] + " " +
                         app::fixed(static_cast<double>(edge.weight), 4));
        }
        svg.close_group();
    }
    if (flow.form == FlowForm::arcs) {
        for (std::size_t i = 0; i < queries.size(); ++i)
            if (is_shown(flow.shown_queries, i))
                svg.text(origin.x + queries[i], origin.y + font + 4, flow.queries[i], flow.ink.text,
                         Svg::Anchor::middle);
        return svg.finish();
    }
    svg.text(origin.x - 8, origin.y - 6, "query", flow.ink.dim, Svg::Anchor::end, small_font);
    svg.text(origin.x + columns_apart + 8, origin.y - 6, "key", flow.ink.dim, Svg::Anchor::start, small_font);
    for (std::size_t i = 0; i < queries.size(); ++i)
        if (is_shown(flow.shown_queries, i))
            svg.text(origin.x - 8, origin.y + queries[i] + font / 3, flow.queries[i], flow.ink.text,
                     Svg::Anchor::end);
    for (std::size_t i = 0; i < keys.size(); ++i)
        if (is_shown(flow.shown_keys, i))
            svg.text(origin.x + columns_apart + 8, origin.y + keys[i] + font / 3, flow.keys[i],
                     flow.ink.text);
    return svg.finish();
}

}  // namespace attn::parts
