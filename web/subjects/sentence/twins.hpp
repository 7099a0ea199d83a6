// Provides two sentences that differ in one adjective, which decides what "it" means, and other pairs that
// are worth comparing.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attn::app {

struct Twin {
    std::string adjective;  // the other adjective
    std::string text;       // the sentence with that adjective
};

std::string first_twin();
// Returns the other sentence if the text is one of the two.
std::optional<Twin> twin_of(std::string_view text);

// The same word in two sentences.
struct Pair {
    std::string_view key, name, word;
    std::string first, second;
};
std::span<const Pair> pairs();

}  // namespace attn::app
