#include "app/stage_words.hpp"

#include <cctype>

namespace attn::app {

std::string label(Stage stage) {
    switch (stage) {
        case Stage::raw: return "raw";
        case Stage::scaled: return "scores";
        case Stage::masked: return "biased";
        case Stage::exponential: return "exponentials";
        case Stage::row_max: return "row maximum";
        case Stage::row_sum: return "row sum";
        case Stage::attention_input: return "normalised";
        case Stage::router_score: return "router score";
        default: break;
    }
    std::string text(symbol(stage));
    const auto is_word = [](char second) { return std::islower(static_cast<unsigned char>(second)) != 0; };
    if (text.size() > 1 && is_word(text[1]))
        text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return text;
}

const char* value_name(Stage stage) {
    switch (stage) {
        case Stage::scaled: return "scaled score";
        case Stage::capped: return "capped score";
        case Stage::masked: return "masked score";
        case Stage::weight: return "weight";
        case Stage::contribution: return "weight × ‖V‖";
        case Stage::projected: return "weight × ‖V W_O‖";
        default: return "score";
    }
}

}  // namespace attn::app
