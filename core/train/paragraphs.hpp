// The parts that a SentenceWriter chooses from: the kinds of paragraph, and templates filled with words.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "tensor/random.hpp"
#include "tensor/tensor.hpp"

namespace attn::sentences {

struct ParagraphKind {
    std::string_view name;
    int percent;
    std::string (*write)(Random&);
};
std::span<const ParagraphKind> paragraph_kinds();  // the percentages sum to 100

std::string pronoun_paragraph(Random&);
std::string introduction_paragraph(Random&);
std::string sense_paragraph(Random&);

struct Slot {
    char name;
    std::string_view value;
    Range at{};  // where it first occurs in the filled text
};

// Replaces {x} by the value of slot x, turns "a" before a value that begins with a vowel into "an", and
// capitalises the first letter of sentences.
std::string fill(std::string_view pattern, std::span<Slot> slots);
std::string fill(std::string_view pattern, std::initializer_list<Slot> slots);

}  // namespace attn::sentences
