// Draws tokens as chips on one line, each with a line of small print.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor.hpp"
#include "widgets/semantics.hpp"
#include "widgets/theme.hpp"

namespace attn::ui {

inline constexpr float chip_height = 42;

// Positions along a line.
struct Stretch {
    float from, to;
    float length() const { return to - from; }
    Stretch and_also(Stretch other) const { return {std::min(from, other.from), std::max(to, other.to)}; }
    Stretch operator*(float by) const { return {from * by, to * by}; }
    Stretch operator+(float by) const { return {from + by, to + by}; }
};

struct TokenLine {
    std::vector<float> left, width;  // positions of the chips, from the start of the line
    float total = 0;
    float scale = 1;  // relative to the usual size of chips and their text

    float centre(Index i) const {
        return left[static_cast<std::size_t>(i)] + width[static_cast<std::size_t>(i)] / 2;
    }
    std::optional<Index> under(float x) const;
    // Returns the chips between two positions.
    Range within(float from, float to) const;
    Stretch stretch(Range chips) const;
    TokenLine scaled(float by) const;
};

// Makes each chip as wide as its piece, or as its `small_print` if that is wider.
TokenLine token_line(std::span<const std::string> pieces, std::span<const std::string> small_print);

inline constexpr float readable_scale = 0.7f;  // smallest scale of words
inline constexpr float outline_room = 2;       // left free beside words that just fit
// Returns the largest scale, at most 1, at which so long a stretch fits; 1 if it would not be readable.
float fitting_scale(float length, float room);
// Returns where to scroll a line of this length so that both stretches are in a view as long as `room`. If
// they do not fit together, the first is in view, at the end that is farther from the second.
float scroll_to_both(Stretch first, std::optional<Stretch> second, float scrolled, float room, float total);

struct Chip {
    ImVec2 min, max;
};

// The keys that a query attends to most: a word's tokens, or one key.
struct Look {
    Range keys{};
    std::string name, share;
};
// A look that is out of view, named at the end of the view where it would be.
struct Beyond {
    Chip chip;
    std::string name, share;
};
// Returns it if the middle of `at` is out of the view between two positions on the screen.
std::optional<Beyond> beyond_view(const Look& look, Stretch at, Stretch view, float top);
void draw_beyond(const Beyond& beyond, ImU32 colour);

// Returns the words of a line that a screen reader is told, in their order: all of a short text; in a long
// one those that are drawn, those around `near` and the ends, so that the arrow keys get anywhere.
std::vector<Index> told_words(Index count, std::vector<Index> drawn, std::optional<Index> near);

// Returns where a chip is if its line begins at `corner`.
Chip chip_at(const TokenLine& line, Index i, ImVec2 corner);
void draw_chip_text(const Chip& chip, const std::string& piece, const std::string& small_print, bool lit,
                    float scale = 1);
// Scrolls until a chip is in view, and a little of what is beside it.
void scroll_to_chip(const Chip& chip);
// Tells a screen reader about a word that may be out of view: its place is then at the end of the view.
Node& tell_word(std::string key, std::string name, Chip chip, ImVec2 view_min, ImVec2 view_max);

}  // namespace attn::ui
