// Draws tokens as chips on one line, each with a line of small print.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

inline constexpr float chip_height = 42;

struct TokenLine {
    std::vector<float> left, width;  // positions of the chips, from the start of the line
    float total = 0;

    float centre(Index i) const {
        return left[static_cast<std::size_t>(i)] + width[static_cast<std::size_t>(i)] / 2;
    }
    std::optional<Index> under(float x) const;
    // Returns the chips between two positions.
    Range within(float from, float to) const;
};

// Makes each chip as wide as its piece, or as its `small_print` if that is wider.
TokenLine token_line(std::span<const std::string> pieces, std::span<const std::string> small_print);

// Scrolls a window of this width to a chip that is out of view.
void bring_into_view(const TokenLine& line, Index i, float width);

struct Chip {
    ImVec2 min, max;
};
// Returns where a chip is if its line begins at `corner`.
Chip chip_at(const TokenLine& line, Index i, ImVec2 corner);
void draw_chip_text(const Chip& chip, const std::string& piece, const std::string& small_print, bool lit);

}  // namespace attn::ui
