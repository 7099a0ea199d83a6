#include "lenses/overview/overview.hpp"

namespace attn::app {

bool Overview::shows(Subject& subject, const CellRef& cell) const {
    const Attention* attention = subject.attention();
    if (!attention || cell.second) return false;
    const bool vectors = attention->record(0) != nullptr;
    return is_of_pairs(cell.stage) || is_of_map(cell.stage) ||
           ((cell.stage == Stage::q || cell.stage == Stage::k) && vectors) ||
           cell.stage == Stage::head_score || cell.stage == Stage::probability;
}

std::vector<Command> Overview::reveal(Subject& subject, const CellRef& cell) const {
    const Stage stage = is_of_map(cell.stage) ? stage_of_pairs(cell.col).value_or(Stage::weight) : cell.stage;
    if (!is_of_pairs(stage)) return {};
    MapChoice map = looks_of(state()).map;
    if (map.stage == stage || subject.attention()->stage_for(stage) != stage) return {};
    map.stage = stage;
    return {SetMap{map}};
}

// Pictures of a closed subject would keep its numbers in memory.
void Overview::follow(const State&, Change) {
    std::erase_if(seen_, [&](const auto& each) {
        return !static_cast<Subject&>(visit().subject(each.first)).attention();
    });
}

namespace {

std::string sentence_of(const std::optional<Reading>& reading) {
    return reading ? reading->asks + ", this head " + looks_at(*reading) + "." : "";
}

}  // namespace

std::string Overview::spoken(Subject& subject) {
    const Selection s = subject.chosen();
    return sentence_of(reader_.read(*subject.attention(), s.layer, s.head, s.query));
}

Guide Overview::guide(Subject&) const {
    return {"Who attends to whom",
            "Choose a word: arcs lead to the words it attends to, thicker for more weight. The map shows the "
            "same head for all words at once. A row is a word that asks, the query; a column is a word that "
            "is read, the key; each row sums to 1.\n\n"
            "The small maps are all heads of the model. Choose one to see it large. Below, one score is "
            "computed in full.\n\n"
            "Hover over a cell to see where its value comes from. Click to keep it here while you change "
            "other numbers."};
}

std::string Overview::preview(Subject& subject, Index query) {
    const Selection s = subject.chosen();
    return sentence_of(previewed_.read(*subject.attention(), s.layer, s.head, query));
}

}  // namespace attn::app
