// The nouns of the generated sentences, and the frames in which two of them compete for one pronoun.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/random.hpp"

namespace attn::sentences {

// Alternatives, separated by '|'.
using Choices = std::string_view;
int count(Choices choices);
std::string_view nth(Choices choices, int i);  // 0 ≤ i < count
std::string_view pick(Choices choices, Random& random);
int pick(int count, Random& random);  // 0 … count − 1
template <class T>
const T& pick(std::span<const T> items, Random& random) {
    return items[static_cast<std::size_t>(pick(static_cast<int>(items.size()), random))];
}

// What a noun may be in a frame: bits, so that a box is both a load and a container.
using Kinds = std::uint32_t;
enum : Kinds {
    walker = 1 << 0,
    carrier = 1 << 1,
    hunter = 1 << 2,
    prey = 1 << 3,
    vehicle = 1 << 4,
    road = 1 << 5,
    land = 1 << 6,
    water = 1 << 7,
    barrier = 1 << 8,
    slope = 1 << 9,
    load = 1 << 10,
    thing = 1 << 11,
    container = 1 << 12,
    man = 1 << 13,
    woman = 1 << 14,
};

struct Noun {
    std::string_view word;
    Kinds kinds;
    Choices deeds;  // what this noun does and no other: after a pronoun, they say which noun was meant
    std::string_view pronoun() const { return kinds & man ? "he" : kinds & woman ? "she" : "it"; }
};

// "{template} because it was {degree} {adjective}", where {a} and {b} stand for two nouns with the same pronoun.
struct Frame {
    Kinds a, b;
    Choices templates;   // as many that name a first as name b first
    Choices degrees;     // "too" or its like
    Choices of_a, of_b;  // adjectives that are said of a, of b
};

std::span<const Noun> nouns();
std::span<const Frame> frames();

// Two nouns that are kept apart: no paragraph of a SentenceWriter has them compete for a pronoun, a verb or a "with",
// whatever the adjective. These are the pairs of the tutorials' sentences and, by their hash, about one in ten of
// all others. Either order is the same.
bool held_out(std::string_view one, std::string_view other);

}  // namespace attn::sentences
