// Declares what the files that draw lens Compare share.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "lenses/compare/compare.hpp"
#include "parts/part.hpp"
#include "widgets/map_view.hpp"
#include "widgets/token_line.hpp"

namespace attn::app::compare {

// A line of words, coloured by the weights of the chosen row.
struct Line {
    std::uint64_t version = 0;
    HeadIndex head{-1, -1};
    std::optional<Index> query;
    std::vector<float> weights;
    std::vector<std::string> numbers;
    ui::TokenLine whole, line;  // at its full size, and as it is drawn
    ui::Look look;              // what the query attends to most; no keys: nothing
    // What was last brought into view, and in which view.
    struct Followed {
        std::optional<Index> query;
        Range look{};
        float total = 0, room = 0;
        bool operator==(const Followed&) const = default;
    };
    Followed followed;
    float scrolled = 0;
};

// What is drawn, of the first and of the second run where there are two.
struct ViewMemory {
    std::array<Line, 2> lines, read;  // the queries' words, and the words that these attend to if others
    std::array<ui::MapView, 2> views;
    ui::MapView difference_view;
    parts::MapClicks clicks;
};
inline ViewMemory& seen_in(const Frame& frame) { return remembered(frame.lens.seen); }

void draw_words(const Frame& frame, float width);
void draw_maps(const Frame& frame, float width, float most_height);

}  // namespace attn::app::compare
