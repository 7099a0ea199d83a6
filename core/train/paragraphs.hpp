// What a SentenceWriter chooses from: the kinds of paragraph, and templates filled with words.
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
    Range at{};  // of its first occurrence in the filled text
};

// {x} becomes the value of slot x, "a" before it becomes "an" where the value begins with a vowel, and sentences
// begin with a capital.
std::string fill(std::string_view pattern, std::span<Slot> slots);
std::string fill(std::string_view pattern, std::initializer_list<Slot> slots);

}  // namespace attn::sentences
