#include "lenses/overview/overview.hpp"

namespace attn::app {

bool Overview::shows(Subject& subject, const CellRef& cell) const {
    const Attention* attention = subject.attention();
    if (!attention || cell.second()) return false;
    if (cell.sum()) return true;
    if (!cell.run()) return false;
    const Stage stage = cell.run()->stage;
    const bool vectors = attention->record(0) != nullptr;
    return is_of_pairs(stage) || ((stage == Stage::q || stage == Stage::k) && vectors) ||
           stage == Stage::head_score || stage == Stage::probability;
}

std::vector<Command> Overview::reveal(Subject& subject, const CellRef& cell) const {
    if (cell.own()) return {};
    const Stage stage = cell.sum() ? cell.sum()->of : cell.run()->stage;
    if (!is_of_pairs(stage)) return {};
    MapChoice map = looks_of(state()).map;
    if (map.stage == stage || subject.attention()->stage_for(stage) != stage) return {};
    map.stage = stage;
    return {SetMap{map}};
}

// Pictures of a closed subject would keep its numbers in memory.
void Overview::follow(const State&, Change) {
    std::erase_if(seen_, [&](const auto& each) { return !subject_in(visit(), each.first).attention(); });
}

namespace {

std::string sentence_of(const Attention& attention, const Selection& s, const MapChoice& map,
                        const std::optional<Reading>& reading) {
    if (!reading) return "";
    const HeadMean mean = attention.mean_of(map);
    const std::string head =
        mean == HeadMean::one ? "this head" : "the " + mean_text(attention, mean, {s.layer, s.head});
    return reading->asks + ", " + head + " " + looks_at(*reading) + ".";
}

// The choice of the map as far as it shows weights; other stages are of tokens and one head.
MapChoice shown_weights(const Attention& attention, const MapChoice& map) {
    return {.unit = attention.unit_of(map), .mean = attention.mean_of(map), .spans = map.spans};
}

}  // namespace

std::string Overview::spoken(Subject& subject) {
    const Selection s = subject.chosen();
    const Attention& attention = *subject.attention();
    const MapChoice map = shown_weights(attention, looks_of(state()).map);
    return sentence_of(attention, s, map, reader_.read(attention, s.layer, s.head, s.query, map));
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
    const Attention& attention = *subject.attention();
    const MapChoice map = shown_weights(attention, looks_of(state()).map);
    return sentence_of(attention, s, map, previewed_.read(attention, s.layer, s.head, query, map));
}

}  // namespace attn::app
