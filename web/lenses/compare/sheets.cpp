// Makes tables of the pictures of lens Compare.
#include <utility>

#include "app/format.hpp"
#include "lenses/compare/compare.hpp"

namespace attn::app::compare {

Sheet heads_sheet(const Alike& alike, Subject& subject) {
    const Index first_layer = alike.layers.begin;
    const Layers numbering = subject.attention()->numbering();
    const HeadIndex chosen = subject.chosen_head();
    Sheet sheet{
        .key = "compare/head",
        .title = "Same attention pattern?",
        .notation = "Cosine of the word’s two rows of attention, head by head. Click one to see its maps",
        .rows = {.name = "layer"},
        .columns = counted("head", alike.heads),
        .value = [&alike](Index row, Index head) { return alike.row(row, head).value(); },
        .cell = [first_layer](Index row, Index head) { return cells::row_cosine(first_layer + row, head); },
        .tip =
            [&alike, first_layer, numbering](Index row, Index head) {
                return head_text({first_layer + row, head}, numbering) + ": " +
                       arithmetic(alike.row(row, head));
            },
        .most = 1,
        .is_whole = true,
        .lit_row = chosen.layer - first_layer,
        .lit_column = chosen.head};
    for (Index row = 0; row < alike.layers.size(); ++row)
        sheet.rows.labels.push_back(numbering.name(first_layer + row));
    return sheet;
}

std::string arithmetic(const Cosine& c) {
    return "a · b / (‖a‖ ‖b‖) = " + fixed(c.dot, 3) + " / (" + fixed(c.first_norm, 3) + " × " +
           fixed(c.second_norm, 3) + ") = " + fixed(c.value(), 6);
}

std::vector<Table> map_tables(CompareLens& lens, Subject& subject) {
    const Attention &first = *subject.attention(), &second = *second_of(subject);
    const HeadIndex chosen = subject.chosen_head();
    const PairMaps& maps = lens.maps(subject);
    const auto weights = [&](const char* which, const MapPointer& map, const Attention& run) {
        return table_of(std::string("Weights of the ") + which + ", " +
                            head_text(beside(chosen, run), run.numbering(), ", "),
                        *map, run.query_names(), run.key_names(), Stage::weight);
    };
    std::vector<Table> tables{weights("first", maps.first, first), weights("second", maps.second, second)};
    if (maps.difference)
        tables.push_back(
            table_of("Weights of the first minus the second, " + head_text(chosen, first.numbering(), ", "),
                     *maps.difference, maps.query_names, maps.key_names, Stage::weight));
    return tables;
}

// The map in view is in focus; if they are side by side, the pinned cell's, otherwise the first.
std::vector<Table> CompareLens::tables(Subject& subject) {
    std::vector<Table> tables = map_tables(*this, subject);
    const View view = state().of<State>().view;
    const bool shows_second = view == View::blink ? blinks_second : state().pin && state().pin->second();
    if (view == View::difference)
        bring_forward(tables, tables.size() - 1);
    else if (shows_second)
        bring_forward(tables, 1);
    const Alike* alike = last_alike();
    if (alike && alike->versions == versions_of(subject))
        tables.push_back(table_of(heads_sheet(*alike, subject)));
    return tables;
}

}  // namespace attn::app::compare
