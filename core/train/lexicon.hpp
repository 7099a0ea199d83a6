// The nouns of the generated sentences, and the frames in which two of them compete for one pronoun.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensor/random.hpp"

namespace attn::sentences {

// Choices are separated by '|'.
using Choices = std::string_view;
int count(Choices choices);
std::string_view nth(Choices choices, int i);  // 0 ≤ i < count
std::string_view pick(Choices choices, Random& random);
int pick(int count, Random& random);  // 0 … count − 1
template <class T>
const T& pick(std::span<const T> items, Random& random) {
    return items[static_cast<std::size_t>(pick(static_cast<int>(items.size()), random))];
}

// What a noun can be in a frame. These are bits, so that a box is both a load and a container.
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
    Choices deeds;  // done by this noun only: after a pronoun, they show which noun was meant
    std::string_view pronoun() const { return kinds & man ? "he" : kinds & woman ? "she" : "it"; }
};

// "{template} because it was {degree} {adjective}", where {a} and {b} stand for two nouns with the same
// pronoun.
struct Frame {
    Kinds a, b;
    Choices templates;   // half of them name a first, the others b
    Choices degrees;     // "too" or the like
    Choices of_a, of_b;  // adjectives that apply to a, to b
};

std::span<const Noun> nouns();
std::span<const Frame> frames();

// Tells whether two nouns are held out: in no paragraph of a SentenceWriter do they compete for a pronoun, a
// verb or a "with", whatever the adjective. These are the pairs from the tutorials' sentences and, by their
// hash, about one in ten of all others. The order of the two does not matter.
bool held_out(std::string_view one, std::string_view other);

}  // namespace attn::sentences
