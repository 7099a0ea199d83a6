#include "subjects/sentence/twins.hpp"

#include <vector>

namespace attn::app {

namespace {

std::string with(std::string_view adjective) {
    return "The animal didn't cross the street because it was too " + std::string(adjective) + ". It";
}

// The animal is tired; the street is wide.
constexpr std::string_view first_adjective = "tired", second_adjective = "wide";

}  // namespace

std::string first_twin() { return with(first_adjective); }

std::optional<Twin> twin_of(std::string_view text) {
    if (text == with(first_adjective)) return Twin{std::string(second_adjective), with(second_adjective)};
    if (text == with(second_adjective)) return Twin{std::string(first_adjective), with(first_adjective)};
    return std::nullopt;
}

std::span<const Pair> pairs() {
    static const std::vector<Pair> all{
        {"it", "“It”: tired or wide", "It", with(first_adjective), with(second_adjective)},
        {"bank", "“bank”: river or loan", "bank", "The old man sat on the bank of the river.",
         "The old man asked the bank for a loan."}};
    return all;
}

}  // namespace attn::app
