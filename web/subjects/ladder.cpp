#include "subjects/ladder.hpp"

#include <algorithm>

#include "app/format.hpp"

namespace attn::app {

Result<Command> set_as_typed(const LadderEdits& edits, const RunCell& cell, const std::string& text) {
    if (const auto value = read_typed_number(text)) return edits.set(cell, *value);
    return Error{"'" + text + "' is not a number; the cell keeps its value."};
}

std::string notation_of(Stage stage, Stage scores) {
    const auto of_scores = [&](const char* indices) {
        const char* letter = scores == Stage::raw      ? "R"
                             : scores == Stage::scaled ? "S"
                             : scores == Stage::capped ? "C"
                                                       : "M";
        return std::string(letter) + indices;
    };
    switch (stage) {
        case Stage::q: return "Q[i, a]";
        case Stage::k: return "K[j, a]";
        case Stage::v: return "V[j, c]";
        case Stage::raw: return "R[i, j] = Q[i, a] K[j, a]";
        case Stage::capped: return "C[i, j] = c tanh(" + of_scores("[i, j]") + " / c)";
        case Stage::masked: return "M[i, j] = " + of_scores("[i, j]") + " or −∞";
        case Stage::weight: return "A[i, ·] = softmax " + of_scores("[i, ·]");
        case Stage::output: return "O[i, c] = A[i, j] V[j, c]";
        default: return "";
    }
}

}  // namespace attn::app
