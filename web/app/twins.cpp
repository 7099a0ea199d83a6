#include "app/twins.hpp"

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

}  // namespace attn::app
