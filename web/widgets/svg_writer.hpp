// Writes an SVG file (W3C SVG 1.1): rectangles, paths, texts, and clip paths. Lengths are in points.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/figure.hpp"

namespace attn::ui {

// Text for XML and HTML, without control characters.
std::string markup_escaped(std::string_view text);
std::string svg_number(float value);
std::string svg_colour(std::uint32_t rgb);  // takes 0xRRGGBB

// Returns an SVG of this program as a figure: at its width on paper, with the caption and the link below it,
// in letters of 8 typographic points.
std::string as_figure(const std::string& svg, const app::Figure& figure);

class SvgWriter {
  public:
    static constexpr float font = 13;
    // Begins a picture on this background, 0xRRGGBB.
    SvgWriter(float width, float height, std::uint32_t background, const std::string& title);

    void rectangle(float x, float y, float width, float height, std::uint32_t fill);
    enum class Anchor { start, middle, end };
    void text(float x, float y, std::string_view words, std::uint32_t fill, Anchor anchor = Anchor::start,
              float size = font, float degrees = 0, const std::string& attributes = {});
    // Elements that refer to `id` are cropped to the rectangle.
    void clip(const std::string& id, float x, float y, float width, float height);
    void open_group(const std::string& attributes);
    void close_group();
    void path(const std::string& d, const std::string& attributes, const std::string& title = {});
    std::string finish();

  private:
    std::string text_;
};

}  // namespace attn::ui
