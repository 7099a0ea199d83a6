#include "app/twins.hpp"

#include <vector>

namespace attn::app {

namespace {

std::string with(std::string_view adjective) {
    return "The animal didn't cross the street because it was too " + std::string(adjective) + ". It";
}

// Who is tired is the animal, what is wide is the street.
constexpr std::string_view first = "tired", second = "wide";

}  // namespace

std::string first_twin() { return with(first); }

std::optional<Twin> twin_of(std::string_view text) {
    if (text == with(first)) return Twin{std::string(second), with(second)};
    if (text == with(second)) return Twin{std::string(first), with(first)};
    return std::nullopt;
}

std::span<const Pair> pairs() {
    static const std::vector<Pair> all{
        {"it", "“It”: tired or wide", "It", with(first), with(second)},
        {"bank", "“bank”: river or loan", "bank", "The old man sat on the bank of the river.",
         "The old man asked the bank for a loan."}};
    return all;
}

}  // namespace attn::app
