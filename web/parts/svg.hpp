// Draws a map's window or a flow as SVG, if it is small enough for shapes and text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "maps/flow.hpp"
#include "maps/flow_shape.hpp"
#include "tensor/tensor.hpp"

namespace attn::parts {

using Colour = std::uint32_t;  // 0xRRGGBB

struct SvgInk {
    Colour background, text, dim;
};

inline std::span<const std::string> part(std::span<const std::string> names, Range range) {
    return names.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.size()));
}

inline constexpr Index svg_cells = 64 * 64;  // at most this many cells of a map
inline constexpr Index svg_edges = 20'000;   // at most this many edges of a flow

struct SvgMap {
    std::span<const std::string> queries, keys;  // names of the window's rows and columns
    ConstMatrix cells;                           // −inf: masked, drawn without a number
    std::function<Colour(float)> colour;         // colour of a value
    int decimals = 3;
    std::string title;
    SvgInk ink;
};
std::string svg_of(const SvgMap& map);

struct SvgFlow {
    struct Series {
        std::vector<FlowEdge> edges;  // lightest first
        Colour colour;
        float most = 1, opacity = 1;  // the weight drawn strongest, and its opacity
        std::string name;
    };
    FlowForm form;
    std::span<const std::string> queries, keys;  // the same words in both arcs
    Range shown_queries, shown_keys;             // crops the picture to these words, the same in both arcs
    std::span<const Series> series;              // the first is drawn below the others
    std::string title;
    SvgInk ink;
};
std::string svg_of(const SvgFlow& flow);

}  // namespace attn::parts
