// Makes tables of the pictures of lens Compare.
#include <cmath>
#include <utility>

#include "app/format.hpp"
#include "lenses/compare/view.hpp"

namespace attn::app {

Sheet CompareLens::heads_sheet(Subject& subject) const {
    const Index first_layer = alike_.layers.begin;
    const Layers numbering = subject.attention()->numbering();
    const Selection chosen = subject.chosen();
    Sheet sheet{
        .key = "compare/head",
        .title = "Same attention pattern?",
        .notation = "Cosine of the word’s two rows of attention, head by head. Click one to see its maps",
        .rows = {.name = "layer"},
        .columns = counted("head", alike_.heads),
        .value =
            [this](Index row, Index head) {
                return alike_.rows[static_cast<std::size_t>(row * alike_.heads + head)].value();
            },
        .cell =
            [first_layer](Index row, Index head) {
                return CellRef{.stage = Stage::row_cosine, .row = first_layer + row, .col = head};
            },
        .tip =
            [this, first_layer, numbering](Index row, Index head) {
                return head_text({first_layer + row, head}, numbering) + ": " +
                       arithmetic(alike_.rows[static_cast<std::size_t>(row * alike_.heads + head)]);
            },
        .most = 1,
        .is_whole = true,
        .lit_row = chosen.layer - first_layer,
        .lit_column = chosen.head};
    for (Index row = 0; row < alike_.layers.size(); ++row)
        sheet.rows.labels.push_back(numbering.name(first_layer + row));
    return sheet;
}

std::string CompareLens::arithmetic(const Cosine& c) {
    return "a · b / (‖a‖ ‖b‖) = " + fixed(c.dot, 3) + " / (" + fixed(c.first_norm, 3) + " × " +
           fixed(c.second_norm, 3) + ") = " + fixed(c.value(), 6);
}

// The words of both runs, one after the other.
Table CompareLens::words_table(const Frame& frame) const {
    const bool one_line = frame.first.one_line();
    Table table{"What " + curly_quoted(frame.first_name(frame.query())) + " looks at, word by word",
                {"weight"},
                {},
                {}};
    const auto add = [&](const char* which, const Line& line, const Attention& run) {
        for (std::size_t i = 0; i < line.weights.size(); ++i) {
            table.row_labels.push_back(std::string(which) + ", " + run.key_names()[i]);
            table.values.values.push_back(static_cast<double>(line.weights[i]));
        }
    };
    add("first", one_line ? first_line_ : first_read_, frame.first);
    if (frame.second_query()) add("second", one_line ? second_line_ : second_read_, frame.second);
    table.values.rows = std::ssize(table.row_labels);
    table.values.cols = 1;
    return table;
}

// The first map, the second, and the difference if there is one.
std::vector<Table> CompareLens::map_tables(Subject& subject) {
    const Attention &first = *subject.attention(), &second = *subject.second();
    const HeadIndex chosen = subject.chosen_head();
    update_maps(first, second, chosen);
    const auto weights = [&](const char* which, const MapPointer& map, const Attention& run) {
        return table_of(std::string("Weights of the ") + which + ", " +
                            head_text(beside(chosen, run), run.numbering(), ", "),
                        *map, run.query_names(), run.key_names(), Stage::weight);
    };
    std::vector<Table> tables{weights("first", maps_.first, first), weights("second", maps_.second, second)};
    if (maps_.difference)
        tables.push_back(
            table_of("Weights of the first minus the second, " + head_text(chosen, first.numbering(), ", "),
                     *maps_.difference, maps_.pair_names, maps_.key_pair_names, Stage::weight));
    return tables;
}

// The map in view is in focus; if they are side by side, the pinned cell's, otherwise the first.
std::vector<Table> CompareLens::tables(Subject& subject) {
    std::vector<Table> tables = map_tables(subject);
    const ComparisonView view = state().of<CompareState>().view;
    const bool shows_second =
        view == ComparisonView::blink ? blink_.second : state().pin && state().pin->second;
    if (view == ComparisonView::difference)
        bring_forward(tables, tables.size() - 1);
    else if (shows_second)
        bring_forward(tables, 1);
    const bool is_compared = alike_.first_version == subject.attention()->version() &&
                             alike_.second_version == subject.second()->version();
    if (is_compared) tables.push_back(table_of(heads_sheet(subject)));
    return tables;
}

}  // namespace attn::app
