#include "learn/naming.hpp"

#include <algorithm>

#include "learn/arguments.hpp"
#include "lesson/tokens.hpp"

namespace attn::app::learn {

namespace {

// A token by its word, if that is enough to find it.
std::string token_name(const Attention& attention, Index token, Side side) {
    const std::string word =
        side == Side::query ? query_in_words_alone(attention, token) : key_in_words_alone(attention, token);
    const auto found = token_at(attention, lesson::Value(word), side);
    return found && *found == token ? lesson::literal(word) : std::to_string(token);
}

std::string stage_name(Stage stage) {
    switch (stage) {
        case Stage::q: return "q";
        case Stage::k: return "k";
        case Stage::v: return "v";
        case Stage::x: return "x";
        case Stage::raw: return "score";
        case Stage::output: return "out";
        default: return std::string(info(stage).key);
    }
}

std::string run_name(const Attention& attention, const RunCell& cell) {
    if (cell.second || cell.is_merged() || is_measured(cell.stage)) return "";
    const bool of_keys = cell.stage == Stage::k || cell.stage == Stage::v;
    const bool of_pairs = is_of_pairs(cell.stage) || cell.stage == Stage::exponential;
    const Side side = of_keys ? Side::key : Side::query;
    const std::string row =
        rows_are_tokens(cell.stage) ? token_name(attention, cell.row, side) : std::to_string(cell.row);
    const std::string col = of_pairs ? token_name(attention, cell.col, Side::key) : std::to_string(cell.col);
    return stage_name(cell.stage) + "(" + row + ", " + col + ")";
}

std::string lens_name(const LensCell& cell) {
    std::string text = pin_kind(CellRef(cell)) + "(";
    for (std::size_t i = 0; i < cell.kind->rank(); ++i) {
        const auto& words = cell.kind->axes[i].words;
        if (i > 0) text += ", ";
        text += words.empty() ? std::to_string(cell.at[i])
                              : lesson::literal(words[static_cast<std::size_t>(cell.at[i])]);
    }
    return text + ")";
}

}  // namespace

std::string name_of(const Attention& attention, const CellRef& cell) {
    if (const RunCell* run = cell.run()) return run_name(attention, *run);
    if (const LensCell* own = cell.own()) return lens_name(*own);
    const MapSum* sum = cell.sum();
    if (sum->total != MapTotal::row_entropy || sum->second || sum->unit != Unit::tokens ||
        sum->mean != HeadMean::one)
        return "";
    return "entropy(" + token_name(attention, sum->at, Side::query) + ")";
}

}  // namespace attn::app::learn
