#include "widgets/svg_writer.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>
#include <vector>

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

namespace {

constexpr float caption_mm = 2.82f, caption_line = 1.4f;
constexpr std::uint32_t paper_white = 0xffffff, caption_ink = 0x1a1f27, link_ink = 0x1a66d6;

// Reads width="…" or height="…" of a picture that SvgWriter has begun.
float size_in(const std::string& svg, std::string_view name) {
    const auto at = svg.find(" " + std::string(name) + "=\"");
    return std::strtof(svg.c_str() + at + name.size() + 3, nullptr);
}

// Returns how many bytes the first `count` characters take.
std::size_t bytes_of(std::string_view text, std::ptrdiff_t count) {
    std::size_t at = 0;
    for (; at < text.size(); ++at)
        if ((static_cast<unsigned char>(text[at]) & 0xc0u) != 0x80u && count-- == 0) break;
    return at;
}

constexpr float mean_letter = 0.52f, mean_in_link = 0.62f;  // ems

// Breaks a text into lines of about this width; the reader's program chooses the font.
std::vector<std::string> lines_of(const std::string& text, float width, float size, float mean) {
    const auto most = static_cast<std::ptrdiff_t>(std::max(width / (mean * size), 8.0f));
    std::vector<std::string> lines;
    std::string line;
    const auto end = [&] {
        if (!line.empty()) lines.push_back(std::exchange(line, {}));
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t next = std::min(text.find_first_of(" \n", at), text.size());
        std::string word = text.substr(at, next - at);
        if (!line.empty() && count_code_points(line) + 1 + count_code_points(word) > most) end();
        // A link has no blanks.
        while (count_code_points(word) > most) {
            const std::size_t cut = bytes_of(word, most);
            lines.push_back(word.substr(0, cut));
            word.erase(0, cut);
        }
        line += (line.empty() ? "" : " ") + word;
        if (next < text.size() && text[next] == '\n') end();
        at = next + 1;
    }
    end();
    return lines;
}

}  // namespace

std::string as_figure(const std::string& svg, const app::Figure& figure) {
    const float width = size_in(svg, "width"), height = size_in(svg, "height"), margin = SvgWriter::font;
    const auto width_mm = static_cast<float>(figure.width_mm);
    const float size = caption_mm * width / width_mm;
    const auto caption = lines_of(figure.caption, width - 2 * margin, size, mean_letter),
               link = lines_of(figure.link, width - 2 * margin, size, mean_in_link);
    const auto count = static_cast<float>(caption.size() + link.size());
    const float whole = height + (count > 0 ? margin + count * caption_line * size + margin : 0);
    std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + svg_number(width_mm) +
                      "mm\" height=\"" + svg_number(whole * width_mm / width) + "mm\" viewBox=\"0 0 " +
                      svg_number(width) + " " + svg_number(whole) + "\">\n" + box(0, 0, width, whole) +
                      " fill=\"" + svg_colour(paper_white) + "\"/>\n" + svg;
    float y = height + margin;
    const auto write = [&](const std::vector<std::string>& lines, std::uint32_t ink) {
        for (const std::string& line : lines) {
            y += caption_line * size;
            out += "<text" + attribute("x", margin) + attribute("y", y - 0.4f * size) + " fill=\"" +
                   svg_colour(ink) + "\" font-family=\"Inter, Helvetica, Arial, sans-serif\"" +
                   attribute("font-size", size) + " xml:space=\"preserve\">" + markup_escaped(line) +
                   "</text>\n";
        }
    };
    write(caption, caption_ink);
    if (!link.empty()) {
        out += "<a href=\"" + markup_escaped(figure.link) + "\">\n";
        write(link, link_ink);
        out += "</a>\n";
    }
    return out + "</svg>\n";
}

std::string SvgWriter::finish() { return std::move(text_) + "</svg>\n"; }

}  // namespace attn::ui
