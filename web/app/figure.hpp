// Describes a figure: a part of the page as SVG for a paper or slides, light, at a width on paper, with a
// caption.
#pragma once

#include <string>

namespace attn::app {

struct Figure {
    std::string landmark;  // the part's
    std::string file;      // without extension
    double width_mm = 0;   // 0: the user is being asked
    std::string caption = {};
    std::string link = {};  // leads to what it shows
};
inline constexpr double least_figure_mm = 20, most_figure_mm = 1000;

}  // namespace attn::app
