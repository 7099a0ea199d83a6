#include "widgets/svg_writer.hpp"

#include <array>
#include <utility>

#include "app/format.hpp"
#include "text/utf8.hpp"

namespace attn::ui {

// XML requires escapes for these five characters and forbids most control characters.
std::string markup_escaped(std::string_view text) {
    std::string out;
    for (const char c : text) switch (c) {
            case '&': out += "&amp;"; break;
            case '<': out += "&lt;"; break;
            case '>': out += "&gt;"; break;
            case '"': out += "&quot;"; break;
            case '\'': out += "&apos;"; break;
            default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
        }
    return is_utf8(out) ? out : "?";
}

namespace {

std::string attribute(std::string_view name, float value) {
    return " " + std::string(name) + "=\"" + svg_number(value) + "\"";
}

std::string box(float x, float y, float width, float height) {
    return "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
           attribute("height", height);
}

}  // namespace

std::string svg_number(float value) {
    std::string text = app::rounded(static_cast<double>(value), 2);
    if (text.ends_with(".00")) text.resize(text.size() - 3);
    return text;
}

std::string svg_colour(std::uint32_t rgb) {
    static constexpr std::string_view digits = "0123456789abcdef";
    std::string text = "#";
    for (int shift = 20; shift >= 0; shift -= 4) text += digits[(rgb >> shift) & 15u];
    return text;
}

SvgWriter::SvgWriter(float width, float height, std::uint32_t background, const std::string& title) {
    text_ = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) +
            attribute("height", height) + " viewBox=\"0 0 " + svg_number(width) + " " + svg_number(height) +
            "\" font-family=\"Inter, Helvetica, Arial, sans-serif\"" + attribute("font-size", font) +
            ">\n<title>" + markup_escaped(title) + "</title>\n";
    rectangle(0, 0, width, height, background);
}

void SvgWriter::rectangle(float x, float y, float width, float height, std::uint32_t fill) {
    text_ += box(x, y, width, height) + " fill=\"" + svg_colour(fill) + "\"/>\n";
}

void SvgWriter::text(float x, float y, std::string_view words, std::uint32_t fill, Anchor anchor, float size,
                     float degrees, const std::string& attributes) {
    static constexpr std::array<std::string_view, 3> anchors{"start", "middle", "end"};
    text_ += "<text" + attribute("x", x) + attribute("y", y) + " fill=\"" + svg_colour(fill) +
             "\" text-anchor=\"" + std::string(anchors[static_cast<std::size_t>(anchor)]) + "\"";
    if (size != font) text_ += attribute("font-size", size);
    if (degrees != 0)
        text_ +=
            " transform=\"rotate(" + svg_number(degrees) + " " + svg_number(x) + " " + svg_number(y) + ")\"";
    text_ += (attributes.empty() ? "" : " " + attributes) + " xml:space=\"preserve\">" +
             markup_escaped(words) + "</text>\n";
}

void SvgWriter::clip(const std::string& id, float x, float y, float width, float height) {
    text_ += "<clipPath id=\"" + id + "\">" + box(x, y, width, height) + "/></clipPath>\n";
}

void SvgWriter::open_group(const std::string& attributes) { text_ += "<g " + attributes + ">\n"; }

void SvgWriter::close_group() { text_ += "</g>\n"; }

void SvgWriter::path(const std::string& d, const std::string& attributes, const std::string& title) {
    text_ += "<path d=\"" + d + "\" " + attributes +
             (title.empty() ? "/>\n" : "><title>" + markup_escaped(title) + "</title></path>\n");
}

std::string SvgWriter::finish() { return std::move(text_) + "</svg>\n"; }

}  // namespace attn::ui
